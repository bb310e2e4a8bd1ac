// Request bodies, read strictly: an unknown member, a wrong type and null are errors wherever they
// are, because a filter that is misspelt or malformed must not be taken for "everything". The error
// names the member with its path: reports[3].token.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/fields.h"
#include "base/json_slice.h"

namespace holdfast {

// Types of members that may be left out, but must say something when they are given.

// A text that is not empty.
struct GivenText : std::string {
  using std::string::string;
  using std::string::operator=;
};
bool read_value(std::string_view slice, GivenText& value);

// At least one name, none of them empty.
struct GivenNames : std::vector<std::string> {
  GivenNames() = default;
  explicit GivenNames(std::vector<std::string> names) : vector(std::move(names)) {}
};
bool read_value(std::string_view slice, GivenNames& value);

// A JSON object. Payload takes any JSON value, and null for "not given".
struct GivenObject : Payload {
  GivenObject& operator=(const Payload& value) {
    Payload::operator=(value);
    return *this;
  }
};
bool read_value(std::string_view slice, GivenObject& value);

// What is known of the members of a struct: their names, and how those are looked at that are
// structs themselves.
class KnownMembers {
 public:
  enum class Look : std::uint8_t { names, values };
  using Check = Result<void> (*)(std::string_view object, const std::string& path, Look look);

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
                                   Look look) const;

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

// What is missing or of another type in the object at that place, as an error of whoever asks.
Error as_argument(const Error& error, const std::string& path);

template <HasFields T>
Result<void> check_members(std::string_view object, const std::string& path,
                           KnownMembers::Look look) {
  const T value{};
  KnownMembers known;
  T::visit(value, known);
  HOLDFAST_CHECK(known.check(object, path, look));
  if (look == KnownMembers::Look::values) {
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

// invalid_argument names the place.
template <HasFields T>
Result<T> read_object(std::string_view object) {
  HOLDFAST_CHECK(check_members<T>(object, "", KnownMembers::Look::names));
  auto read = from_json<T>(object);
  if (read.ok()) {
    return read;
  }
  // Somewhere inside there is a better word for it.
  HOLDFAST_CHECK(check_members<T>(object, "", KnownMembers::Look::values));
  return as_argument(read.error(), "");
}

}  // namespace holdfast
