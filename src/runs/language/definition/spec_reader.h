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

namespace holdfast {

class SpecObject {
 public:
  // `text` is a slice of valid JSON and outlives this. A value that is not an object is a fault.
  SpecObject(SpecLocation location, std::string_view text);

  [[nodiscard]] const SpecLocation& location() const { return location_; }
  [[nodiscard]] SpecLocation at(std::string_view member) const { return location_.at(member); }
  // Changes the rule that is broken by default and the name of the object in messages.
  void set_location(SpecLocation location) { location_ = std::move(location); }
  [[nodiscard]] bool is_object() const { return is_object_; }

  // The slice of a member. finish() accepts the member from now on.
  std::optional<std::string_view> take(std::string_view name);
  bool has(std::string_view name) { return take(name).has_value(); }
  // The same; a missing member is a fault.
  std::optional<std::string_view> need(std::string_view name, FaultCode code);
  // Rejects the members that were never taken.
  void finish() const;

 private:
  struct Member {
    std::string name;
    std::string_view value;
  };

  SpecLocation location_;
  bool is_object_ = false;
  std::vector<Member> members_;
  std::vector<std::string> known_;
};

// Each function below reads one value. False: the value is not usable, a fault was added, and the
// result is the default or the part that could be read.

struct TextLimits {
  std::size_t least = 1;
  std::size_t most = 1024;  // bytes
};
bool read_text(const SpecLocation& location, std::string_view slice, SharedText& value,
               TextLimits limits);
// A name by check_name; `what` it is of: "queue".
bool read_name(const SpecLocation& location, std::string_view slice, std::string_view what,
               SharedText& value);
bool read_flag(const SpecLocation& location, std::string_view slice, bool& value);

struct CountLimits {
  std::uint32_t least = 0;
  std::uint32_t most = UINT32_MAX;
};
bool read_count(const SpecLocation& location, std::string_view slice, CountLimits limits,
                std::uint32_t& value);

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

// The items of a list. A fault and no items when the value is not a list.
std::vector<std::string_view> read_items(const SpecLocation& location, std::string_view slice);
// The members of an object whose names the author chose, by name.
std::map<std::string, std::string_view> read_members(const SpecLocation& location,
                                                     std::string_view slice);
// A JSON value in canonical form. A duplicate member anywhere inside is a fault.
Payload read_json(const SpecLocation& location, std::string_view slice);

// Optional fields of an object.
bool optional_name(SpecObject& object, std::string_view name, SharedText& value);
void optional_text(SpecObject& object, std::string_view name, SharedText& value,
                   TextLimits limits = {0});
void optional_flag(SpecObject& object, std::string_view name, bool& value);
void optional_count(SpecObject& object, std::string_view name, CountLimits limits,
                    std::uint32_t& value);
template <typename E>
void optional_choice(SpecObject& object, std::string_view name, E& value) {
  if (const auto slice = object.take(name)) {
    read_choice(object.at(name), *slice, value);
  }
}

// A duration, given as <name>_ms: 200 or <name>: "200ms". True when it was given at all.
enum class Zero : std::uint8_t { allowed, refused };
bool optional_duration(SpecObject& object, std::string_view name, Zero zero, std::uint64_t& ms);
// The number or the text of a duration.
void read_duration_ms(const SpecLocation& location, std::string_view slice, Zero zero,
                      std::uint64_t& ms);
void read_duration_text(const SpecLocation& location, std::string_view slice, Zero zero,
                        std::uint64_t& ms);

}  // namespace holdfast
