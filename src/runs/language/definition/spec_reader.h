// Reads the JSON of a spec. Each error becomes a fault at its location, and reading continues with
// the default, so that one check finds all errors. Unknown members are rejected, because a misspelt
// "after" must not be ignored; so are duplicate members. null is the same as a missing member.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fields.h"
#include "runs/language/definition/faults.h"
#include "runs/language/definition/language_fields.h"

namespace holdfast {

// One of a few words.
std::optional<std::size_t> read_word(const SpecLocation& location, std::string_view slice,
                                     const std::vector<std::string_view>& words);
template <typename E>
bool read_choice(const SpecLocation& location, std::string_view slice, E& value) {
  const auto found =
      read_word(location, slice, {std::begin(kEnumNames<E>), std::end(kEnumNames<E>)});
  if (found.has_value()) {
    value = static_cast<E>(*found);
  }
  return found.has_value();
}

// An object of the language. Only fields that are declared for it can be read.
class SpecObject {
 public:
  // `text` is a slice of valid JSON and outlives this. A value that is not an object is a fault.
  SpecObject(SpecLocation location, std::string_view text, const LanguageObject& declared);

  [[nodiscard]] const SpecLocation& location() const { return location_; }
  // With the code that is declared for the field.
  [[nodiscard]] SpecLocation at(std::string_view field) const;
  // Changes the rule that is broken by default and the name of the object in messages.
  void set_location(SpecLocation location) { location_ = std::move(location); }
  [[nodiscard]] bool is_object() const { return is_object_; }

  // The slice of a field; empty when it is not there.
  [[nodiscard]] std::optional<std::string_view> find(std::string_view field) const;
  [[nodiscard]] bool has(std::string_view field) const { return find(field).has_value(); }
  // The same; a missing field is a fault.
  [[nodiscard]] std::optional<std::string_view> need(std::string_view field) const;

  // Read the value of a field in the form and with the limits that are declared; a required field
  // that is missing is a fault. True when the field is there. A number of 64 bits is a duration.
  bool read(std::string_view field, SharedText& value) const;
  bool read(std::string_view field, bool& value) const;
  bool read(std::string_view field, std::uint32_t& value) const;
  bool read(std::string_view field, std::uint64_t& ms) const;
  template <typename E>
  requires std::is_enum_v<E>
  bool read(std::string_view field, E& value) const {
    const auto slice = find_declared(field);
    if (slice.has_value()) {
      read_choice(at(field), *slice, value);
    }
    return slice.has_value();
  }

  // Calls `read` with the location and the value of a field, if it is there.
  template <typename Read, typename T>
  void read_part(std::string_view field, const Read& read_value, T& part) const {
    if (const auto slice = find(field)) {
      read_value(at(field), *slice, part);
    }
  }
  template <typename Read, typename T>
  void read_part(std::string_view field, const Read& read_value, std::optional<T>& part) const {
    if (const auto slice = find(field)) {
      read_value(at(field), *slice, part.emplace());
    }
  }

  // The same for every field of a part that is declared with such a form.
  template <HasFields T>
  void read_all(T& part) const {
    PartReader reader{*this};
    T::visit(part, reader);
  }

  // Rejects the members that are not declared.
  void finish() const;

 private:
  struct Member {
    std::string name;
    std::string_view value;
  };

  // Visits the list of fields of a part; a duration stands there in milliseconds.
  struct PartReader {
    const SpecObject& object;

    template <typename T>
    void required(std::string_view field, T& value) {
      optional(field, value);
    }
    template <typename T>
    void optional(std::string_view field, T& value) {
      if constexpr (requires { object.read(field, value); }) {
        const LanguageField& found = object.declared(field);
        if (found.form != LanguageField::Form::other && found.form != LanguageField::Form::part) {
          object.read(found.name, value);
        }
      }
    }
  };

  [[nodiscard]] const LanguageField& declared(std::string_view field) const;
  // find or need, as is declared.
  [[nodiscard]] std::optional<std::string_view> find_declared(std::string_view field) const;

  SpecLocation location_;
  const LanguageObject* declared_;
  bool is_object_ = false;
  std::vector<Member> members_;
};

// Each function below reads one value. False: the value is not usable, a fault was added, and the
// result is the default or the part that could be read.

bool read_text(const SpecLocation& location, std::string_view slice, SharedText& value,
               TextLimits limits);
// A name by check_name; `what` it is of: "queue".
bool read_name(const SpecLocation& location, std::string_view slice, std::string_view what,
               SharedText& value);
bool read_flag(const SpecLocation& location, std::string_view slice, bool& value);
bool read_count(const SpecLocation& location, std::string_view slice, CountLimits limits,
                std::uint32_t& value);

// The items of a list. A fault and no items when the value is not a list.
std::vector<std::string_view> read_items(const SpecLocation& location, std::string_view slice);
// The members of an object whose names the author chose, by name.
std::map<std::string, std::string_view> read_members(const SpecLocation& location,
                                                     std::string_view slice);
// A JSON value in canonical form. A duplicate member anywhere inside is a fault.
Payload read_json(const SpecLocation& location, std::string_view slice);

// The number or the text of a duration.
void read_duration_ms(const SpecLocation& location, std::string_view slice, Zero zero,
                      std::uint64_t& ms);
void read_duration_text(const SpecLocation& location, std::string_view slice, Zero zero,
                        std::uint64_t& ms);

}  // namespace holdfast
