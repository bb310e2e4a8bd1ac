// Reads the JSON object of a request strictly: an unknown member, a member of the wrong type and
// null are errors at every depth, because a misspelt or malformed filter must not be taken for "all
// runs". Errors name the member with its path, for example reports[3].token.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "access/http_operation.h"
#include "base/fields.h"
#include "base/json_slice.h"

namespace holdfast {

// Types of optional members that must not be empty when they are present.

struct NonEmptyText : std::string {
  using std::string::string;
  using std::string::operator=;
  NonEmptyText(std::string text) : std::string(std::move(text)) {}
};
bool read_value(std::string_view slice, NonEmptyText& value);

// At least one name, none of them empty.
struct NonEmptyNames : std::vector<std::string> {
  NonEmptyNames() = default;
  explicit NonEmptyNames(std::vector<std::string> names) : vector(std::move(names)) {}
};
bool read_value(std::string_view slice, NonEmptyNames& value);

// A JSON object. Payload accepts any JSON value, and null for "not given".
struct ObjectPayload : Payload {
  ObjectPayload() = default;
  ObjectPayload(const Payload& value) : Payload(value) {}
};
bool read_value(std::string_view slice, ObjectPayload& value);

// The members of a struct, and how nested structs are checked.
class KnownMembers {
 public:
  enum class Depth : std::uint8_t { names, values };
  using Check = Result<void> (*)(std::string_view object, const std::string& path, Depth depth);

  template <typename T>
  void required(std::string_view name, const T& value) {
    add(name, value);
  }
  template <typename T>
  void optional(std::string_view name, const T& value) {
    add(name, value);
  }
  // invalid_argument.
  [[nodiscard]] Result<void> check(std::string_view object, const std::string& path,
                                   Depth depth) const;

 private:
  struct Member {
    std::string_view name;
    Check inside = nullptr;
    bool any_json = false;  // also null
  };

  template <typename T>
  void add(std::string_view name, const T& value);

  std::vector<Member> members_;
};

// invalid_json when an object among the members has a key twice.
class UniqueKeys {
 public:
  template <typename T>
  void required(std::string_view name, const T& value) {
    if constexpr (std::same_as<T, ObjectPayload>) {
      check(name, value);
    }
  }
  template <typename T>
  void optional(std::string_view name, const T& value) {
    required(name, value);
  }
  Result<void> finish() && { return std::move(checked_); }

 private:
  void check(std::string_view name, const ObjectPayload& value);

  Result<void> checked_;
};

// The errors of base/fields.h as invalid_argument. path: of the object that was read.
Error as_argument(const Error& error, const std::string& path);

template <HasFields T>
Result<void> check_members(std::string_view object, const std::string& path,
                           KnownMembers::Depth depth) {
  const T value{};
  KnownMembers known;
  T::visit(value, known);
  HOLDFAST_CHECK(known.check(object, path, depth));
  if (depth == KnownMembers::Depth::values) {
    const auto read = from_json<T>(object);
    if (!read.ok()) {
      return as_argument(read.error(), path);
    }
  }
  return {};
}

template <typename T>
void KnownMembers::add(std::string_view name, const T& /*value*/) {
  if constexpr (HasFields<T>) {
    members_.push_back({name, check_members<T>});
  } else if constexpr (requires { typename T::value_type; }) {
    if constexpr (HasFields<typename T::value_type>) {
      members_.push_back({name, check_members<typename T::value_type>});
    } else {
      members_.push_back({name});
    }
  } else {
    members_.push_back({name, nullptr, std::same_as<T, Payload>});
  }
}

// invalid_argument, with the path of the member in "field"; invalid_json for a key that a payload
// has twice.
template <HasFields T>
Result<T> read_object(std::string_view object) {
  HOLDFAST_CHECK(check_members<T>(object, "", KnownMembers::Depth::names));
  auto read = from_json<T>(object);
  if (read.ok()) {
    UniqueKeys keys;
    T::visit(std::as_const(read.value()), keys);
    HOLDFAST_CHECK(std::move(keys).finish());
    return read;
  }
  // A nested member may have caused it: its error is more precise.
  HOLDFAST_CHECK(check_members<T>(object, "", KnownMembers::Depth::values));
  return as_argument(read.error(), "");
}

}  // namespace holdfast
