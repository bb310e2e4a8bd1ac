// One list of fields per struct defines how its JSON form is read and written, and which fields are
// required. A struct takes part with
//
//   HOLDFAST_FIELDS(required(run_id), optional(trace));
//
// or, where a field has another name than its member or a condition, with the function behind it:
//
//   template <typename Self, typename Visitor>
//   static void visit(Self& self, Visitor& v) {
//     v.required("run_id", self.run_id);
//     v.optional("trace", self.trace);
//   }
//
// A required field that is missing, null or empty is missing_fields; a field of another type is
// invalid_argument; both errors name all such fields. Members that are not in the list are ignored,
// so that a newer version can add some. An optional field without a value is not written.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/clock.h"
#include "base/hash.h"
#include "base/json_slice.h"
#include "base/json_writer.h"
#include "base/shared_text.h"
#include "base/uuid.h"
#include "holdfast/result.h"

namespace holdfast {

// An enum whose enumerators are spelled as on the wire, each written once:
//   HOLDFAST_ENUM(Colour, red, green);
#define HOLDFAST_ENUM(Name, ...)                                                         \
  enum class Name : std::uint8_t { __VA_ARGS__ };                                        \
  constexpr auto enum_names_of(Name /*any*/) {                                           \
    return ::holdfast::split_names<::holdfast::count_names(#__VA_ARGS__)>(#__VA_ARGS__); \
  }                                                                                      \
  static_assert(std::is_enum_v<Name>)

// The names of a list with commas; there may be one behind the last name.
constexpr std::size_t count_names(std::string_view list) {
  const auto commas = static_cast<std::size_t>(std::count(list.begin(), list.end(), ','));
  return commas + (list.ends_with(',') ? 0 : 1);
}
template <std::size_t N>
constexpr std::array<std::string_view, N> split_names(std::string_view list) {
  std::array<std::string_view, N> names{};
  for (std::string_view& name : names) {
    name = list.substr(0, list.find(','));
    list.remove_prefix(std::min(list.find_first_not_of(", ", name.size()), list.size()));
  }
  return names;
}

// The spelling of each enumerator, in the order of their values. An enum that HOLDFAST_ENUM cannot
// declare has a specialisation:
//   template <> inline constexpr std::string_view kEnumNames<A::Colour>[] = {"red", "green"};
template <typename E>
inline constexpr auto kEnumNames = enum_names_of(E{});

template <typename E>
requires std::is_enum_v<E> std::string_view to_text(E value) {
  return kEnumNames<E>[static_cast<std::size_t>(value)];
}

template <typename E>
requires std::is_enum_v<E> std::optional<E> enum_from(std::string_view text) {
  for (std::size_t i = 0; i < std::size(kEnumNames<E>); ++i) {
    if (kEnumNames<E>[i] == text) {
      return static_cast<E>(i);
    }
  }
  return std::nullopt;
}

// Each argument is required(member) or optional(member); at most 100 of them.
#define HOLDFAST_FIELDS(...)                              \
  template <typename Self, typename Visitor>              \
  static void visit(Self& self, Visitor& v) {             \
    HOLDFAST_EXPAND_100(HOLDFAST_EACH_FIELD(__VA_ARGS__)) \
  }                                                       \
  static_assert(true) /* takes the semicolon */
#define HOLDFAST_EACH_FIELD(field, ...) \
  HOLDFAST_FIELD_##field __VA_OPT__(HOLDFAST_NEXT_FIELD HOLDFAST_NO_ARGUMENTS(__VA_ARGS__))
#define HOLDFAST_FIELD_required(member) v.required(#member, self.member);
#define HOLDFAST_FIELD_optional(member) v.optional(#member, self.member);
// A macro is not expanded inside itself, so the next field needs another pass over the text.
#define HOLDFAST_NEXT_FIELD() HOLDFAST_EACH_FIELD
#define HOLDFAST_NO_ARGUMENTS ()
#define HOLDFAST_EXPAND_100(...) \
  HOLDFAST_EXPAND_25(HOLDFAST_EXPAND_25(HOLDFAST_EXPAND_25(HOLDFAST_EXPAND_25(__VA_ARGS__))))
#define HOLDFAST_EXPAND_25(...) \
  HOLDFAST_EXPAND_5(HOLDFAST_EXPAND_5(HOLDFAST_EXPAND_5(HOLDFAST_EXPAND_5(__VA_ARGS__))))
#define HOLDFAST_EXPAND_5(...) \
  HOLDFAST_EXPAND(HOLDFAST_EXPAND(HOLDFAST_EXPAND(HOLDFAST_EXPAND(HOLDFAST_EXPAND(__VA_ARGS__)))))
#define HOLDFAST_EXPAND(...) __VA_ARGS__

class FieldWriter;
class FieldReader;

template <typename T>
concept HasFields = requires(T& value, FieldReader& reader) {
  T::visit(value, reader);
};

template <typename T>
concept IsList = !std::same_as<T, std::string> && requires(T & list) {
  list.emplace_back();
};

// How one value is written, read, and tested for absence.
void write_value(std::string& out, const SharedText& value);
void write_value(std::string& out, const std::string& value);
void write_value(std::string& out, const Payload& value);
void write_value(std::string& out, const Uuid& value);
void write_value(std::string& out, const Digest& value);
void write_value(std::string& out, TimeMs value);
void write_value(std::string& out, bool value);
void write_value(std::string& out, std::uint32_t value);
void write_value(std::string& out, std::uint64_t value);
void write_value(std::string& out, std::int64_t value);

bool read_value(std::string_view slice, SharedText& value);
bool read_value(std::string_view slice, std::string& value);
bool read_value(std::string_view slice, Payload& value);
bool read_value(std::string_view slice, Uuid& value);
bool read_value(std::string_view slice, Digest& value);
bool read_value(std::string_view slice, TimeMs& value);
bool read_value(std::string_view slice, bool& value);
bool read_value(std::string_view slice, std::uint32_t& value);
bool read_value(std::string_view slice, std::uint64_t& value);
bool read_value(std::string_view slice, std::int64_t& value);

template <typename T>
bool is_absent(const T& value) {
  if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T> || std::same_as<T, TimeMs> ||
                HasFields<T>) {
    return false;
  } else if constexpr (std::same_as<T, Uuid> || std::same_as<T, Digest>) {
    return value == T{};
  } else if constexpr (requires { value.has_value(); }) {
    return !value.has_value();
  } else {
    return value.empty();
  }
}

class FieldWriter {
 public:
  explicit FieldWriter(std::string& out) : out_(out) { out_ += '{'; }

  template <typename T>
  void required(std::string_view name, const T& value) {
    // An empty list is a value; any other empty value counts as absent.
    if constexpr (!IsList<T>) {
      if (is_absent(value)) {
        missing_ += missing_.empty() ? "" : ", ";
        missing_ += name;
        return;
      }
    }
    write(name, value);
  }
  template <typename T>
  void optional(std::string_view name, const T& value) {
    // A flag that is not set and a number that is 0 are defaults, so they count as absent.
    if constexpr (std::is_arithmetic_v<T>) {
      if (value == T{}) {
        return;
      }
    }
    if (!is_absent(value)) {
      write(name, value);
    }
  }

  // The names of the required fields that had no value.
  [[nodiscard]] std::string finish() && {
    out_ += '}';
    return std::move(missing_);
  }

 private:
  template <typename T>
  void write(std::string_view name, const T& value) {
    if (!first_) {
      out_ += ',';
    }
    first_ = false;
    out_ += '"';
    out_ += name;
    out_ += "\":";
    write_any(value);
  }
  template <typename T>
  void write_any(const T& value) {
    if constexpr (std::is_enum_v<T>) {
      out_ += '"';
      out_ += to_text(value);
      out_ += '"';
    } else if constexpr (requires { value.has_value(); }) {
      write_any(*value);
    } else if constexpr (HasFields<T>) {
      FieldWriter inner(out_);
      T::visit(value, inner);
      const std::string missing = std::move(inner).finish();
      if (!missing.empty()) {
        missing_ += (missing_.empty() ? "" : ", ") + missing;
      }
    } else if constexpr (requires { write_value(out_, value); }) {
      write_value(out_, value);
    } else if constexpr (requires { typename T::mapped_type; }) {
      write_map(value);
    } else {
      write_list(value);
    }
  }
  template <typename T>
  void write_list(const T& list) {
    out_ += '[';
    for (std::size_t i = 0; i < list.size(); ++i) {
      out_ += i == 0 ? "" : ",";
      write_any(list[i]);
    }
    out_ += ']';
  }
  template <typename T>
  void write_map(const T& map) {
    out_ += '{';
    bool first = true;
    for (const auto& [name, value] : map) {
      out_ += first ? "" : ",";
      first = false;
      write_value(out_, name);
      out_ += ':';
      write_any(value);
    }
    out_ += '}';
  }

  std::string& out_;
  std::string missing_;
  bool first_ = true;
};

class FieldReader {
 public:
  // `text` must outlive the reader.
  explicit FieldReader(std::string_view text);

  template <typename T>
  void required(std::string_view name, T& value) {
    const auto slice = find(name);
    if (!slice.has_value()) {
      add(missing_, name);
      return;
    }
    const bool read = read_any(*slice, value);
    if (!read) {
      add(ill_typed_, name);
      return;
    }
    if constexpr (!IsList<T>) {
      if (is_absent(value)) {
        add(missing_, name);
      }
    }
  }
  template <typename T>
  void optional(std::string_view name, T& value) {
    const auto slice = find(name);
    if (slice.has_value() && !read_any(*slice, value)) {
      add(ill_typed_, name);
    }
  }

  // missing_fields or invalid_argument; invalid_json when the text is not an object.
  Result<void> finish() &&;

 private:
  static void add(std::string& list, std::string_view name) {
    list += list.empty() ? "" : ", ";
    list += name;
  }
  // The slice of a member; empty when there is none or it is null.
  std::optional<std::string_view> find(std::string_view name);

  template <typename T>
  static bool read_any(std::string_view slice, T& value) {
    if constexpr (std::is_enum_v<T>) {
      std::string text;
      if (!read_value(slice, text)) {
        return false;
      }
      const auto known = enum_from<T>(text);
      value = known.value_or(value);
      return known.has_value();
    } else if constexpr (requires { value.has_value(); }) {
      return read_any(slice, value.emplace());
    } else if constexpr (HasFields<T>) {
      FieldReader inner(slice);
      T::visit(value, inner);
      return std::move(inner).finish().ok();
    } else if constexpr (requires { read_value(slice, value); }) {
      return read_value(slice, value);
    } else if constexpr (requires { typename T::mapped_type; }) {
      return read_map(slice, value);
    } else {
      return read_list(slice, value);
    }
  }
  template <typename T>
  static bool read_list(std::string_view slice, T& list) {
    if (!slice.starts_with('[')) {
      return false;
    }
    JsonSlicer slicer(slice);
    while (const auto item = slicer.next()) {
      if (!read_any(item->value, list.emplace_back())) {
        return false;
      }
    }
    return slicer.valid();
  }
  template <typename T>
  static bool read_map(std::string_view slice, T& map) {
    if (!slice.starts_with('{')) {
      return false;
    }
    JsonSlicer slicer(slice);
    while (const auto member = slicer.next()) {
      const std::string quoted = '"' + std::string(member->name) + '"';
      typename T::key_type name;
      if (!read_value(quoted, name) || !read_any(member->value, map[name])) {
        return false;
      }
    }
    return slicer.valid();
  }

  std::vector<JsonMember> members_;
  std::size_t cursor_ = 0;
  bool valid_ = false;
  std::string missing_;
  std::string ill_typed_;
};

inline constexpr std::size_t kUsualBytes = 448;  // more than most facts need

// Appends the JSON object of a struct. missing_fields when something required has no value.
template <HasFields T>
Result<void> append_json(std::string& out, const T& value) {
  FieldWriter writer(out);
  T::visit(value, writer);
  std::string missing = std::move(writer).finish();
  if (!missing.empty()) {
    return Error{ErrorCode::missing_fields, "required fields have no value: " + missing}.with(
        "fields", missing);
  }
  return {};
}

template <HasFields T>
Result<JsonText> to_json(const T& value) {
  std::string out;
  out.reserve(kUsualBytes);
  HOLDFAST_CHECK(append_json(out, value));
  return JsonText::trusted(std::move(out));
}

template <HasFields T>
Result<T> from_json(std::string_view text) {
  T value;
  FieldReader reader(text);
  T::visit(value, reader);
  HOLDFAST_CHECK(std::move(reader).finish());
  return value;
}

}  // namespace holdfast
