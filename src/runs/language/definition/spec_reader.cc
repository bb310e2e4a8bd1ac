#include "runs/language/definition/spec_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/names.h"
#include "holdfast/assert.h"
#include "runs/language/data/canonical_json.h"
#include "runs/language/definition/duration.h"
#include "runs/language/definition/spec.h"

namespace holdfast {

namespace {

std::string unescaped(std::string_view name) {
  return json_string_value(fmt::format("\"{}\"", name)).value_or(std::string(name));
}

std::string_view kind_name(std::string_view slice) {
  switch (slice.front()) {
    case '{':
      return "an object";
    case '[':
      return "a list";
    case '"':
      return "a string";
    case 't':
    case 'f':
      return "a boolean";
    case 'n':
      return "null";
    default:
      return "a number";
  }
}

// Calls `each` with name and value of every member; a member that is there twice is a fault.
template <typename Each>
bool walk_object(const SpecLocation& location, std::string_view slice, const Each& each) {
  if (!slice.starts_with('{')) {
    location.fault(fmt::format("is {}, not an object", kind_name(slice)));
    return false;
  }
  JsonSlicer slicer(slice);
  std::set<std::string> seen;
  while (const auto member = slicer.next()) {
    std::string name = unescaped(member->name);
    if (!seen.insert(name).second) {
      location.member_fault(name, fmt::format("{} appears twice", quote(name)));
      continue;
    }
    each(std::move(name), member->value);
  }
  return slicer.valid();
}

// NOLINTNEXTLINE(misc-no-recursion): JSON is at most kMaxJsonDepth deep.
void refuse_repeats(const SpecLocation& location, std::string_view slice) {
  if (slice.starts_with('{')) {
    walk_object(location, slice, [&](const std::string& name, std::string_view value) {
      refuse_repeats(location.at(name), value);
    });
  } else if (slice.starts_with('[')) {
    JsonSlicer slicer(slice);
    for (std::size_t i = 0; const auto item = slicer.next(); ++i) {
      refuse_repeats(location.at(i), item->value);
    }
  }
}

void check_duration(const SpecLocation& location, Zero zero, std::uint64_t ms) {
  if (ms > kMaxDurationMs) {
    location.fault("is longer than 100 years");
  } else if (ms == 0 && zero == Zero::refused) {
    location.fault("must be greater than 0, or left out");
  }
}

}  // namespace

SpecObject::SpecObject(SpecLocation location, std::string_view text, const LanguageObject& declared)
    : location_(std::move(location)), declared_(&declared) {
  is_object_ = walk_object(location_, text, [&](std::string name, std::string_view value) {
    members_.push_back({std::move(name), value});
  });
}

const LanguageField& SpecObject::declared(std::string_view field) const {
  const LanguageField* found = declared_->find(field);
  HOLDFAST_ASSERT(found != nullptr);
  return *found;
}

SpecLocation SpecObject::at(std::string_view field) const {
  return location_.at(field).with(declared(field).fault_code.value_or(location_.code()));
}

std::optional<std::string_view> SpecObject::find(std::string_view field) const {
  HOLDFAST_ASSERT(declared_->find(field) != nullptr);
  const auto found = std::find_if(members_.begin(), members_.end(),
                                  [&](const Member& member) { return member.name == field; });
  return found == members_.end() || found->value == "null" ? std::nullopt
                                                           : std::optional(found->value);
}

std::optional<std::string_view> SpecObject::need(std::string_view field) const {
  const auto slice = find(field);
  if (is_object_ && !slice.has_value()) {
    at(field).fault("is missing");
  }
  return slice;
}

std::optional<std::string_view> SpecObject::find_declared(std::string_view field) const {
  return declared(field).is_required ? need(field) : find(field);
}

bool SpecObject::read(std::string_view field, SharedText& value) const {
  const auto slice = find_declared(field);
  if (slice.has_value() && declared(field).form == LanguageField::Form::name) {
    read_name(at(field), *slice, field, value);
  } else if (slice.has_value()) {
    read_text(at(field), *slice, value, declared(field).text);
  }
  return slice.has_value();
}

bool SpecObject::read(std::string_view field, bool& value) const {
  const auto slice = find_declared(field);
  if (slice.has_value()) {
    read_flag(at(field), *slice, value);
  }
  return slice.has_value();
}

bool SpecObject::read(std::string_view field, std::uint32_t& value) const {
  const auto slice = find_declared(field);
  if (slice.has_value()) {
    read_count(at(field), *slice, declared(field).count, value);
  }
  return slice.has_value();
}

bool SpecObject::read(std::string_view field, std::uint64_t& ms) const {
  const std::string in_ms = fmt::format("{}_ms", field);
  const auto text = find(field);
  const auto number = find(in_ms);
  if (text.has_value() && number.has_value()) {
    at(field).fault(fmt::format("and {} are both given; remove one", in_ms));
  } else if (number.has_value()) {
    read_duration_ms(at(in_ms), *number, declared(field).zero, ms);
  } else if (text.has_value() && !text->starts_with('"')) {
    at(field).fault(fmt::format(
        "is not a duration; write {0}: \"200ms\", {0}: \"1h30m\" or {1}: 200", field, in_ms));
  } else if (text.has_value()) {
    read_duration_text(at(field), *text, declared(field).zero, ms);
  }
  return text.has_value() || number.has_value();
}

void SpecObject::finish() const {
  for (const Member& member : members_) {
    if (declared_->find(member.name) == nullptr) {
      std::vector<std::string> names;
      declared_->for_each([&](const LanguageField& field) {
        for_each_name(field, [&](std::string name) { names.push_back(std::move(name)); });
      });
      const std::vector<std::string_view> known(names.begin(), names.end());
      location_.member_fault(member.name, fmt::format("unknown field {}{}", quote(member.name),
                                                      location_.faults().hint(member.name, known)));
    }
  }
}

bool read_text(const SpecLocation& location, std::string_view slice, SharedText& value,
               TextLimits limits) {
  const auto text = json_string_value(slice);
  if (!text.has_value()) {
    location.fault(fmt::format("is {}, not a string", kind_name(slice)));
    return false;
  }
  if (text->size() < limits.least) {
    location.fault("must not be empty");
    return false;
  }
  if (text->size() > limits.most) {
    location.fault(fmt::format("is {} bytes long; the limit is {}", text->size(), limits.most));
    return false;
  }
  value = *text;
  return true;
}

bool read_name(const SpecLocation& location, std::string_view slice, std::string_view what,
               SharedText& value) {
  if (!read_text(location, slice, value, {1, SIZE_MAX})) {
    return false;
  }
  if (!check_name(what, value.view()).ok()) {
    location.fault(fmt::format(
        "is {}, which is not a valid name: use letters, digits, '_', '.' and '-', begin "
        "with a letter or digit, and use at most 128 bytes",
        quote(value.view())));
    return false;
  }
  return true;
}

bool read_flag(const SpecLocation& location, std::string_view slice, bool& value) {
  if (!read_value(slice, value)) {
    location.fault(fmt::format("is {}, not true or false", kind_name(slice)));
    return false;
  }
  return true;
}

bool read_count(const SpecLocation& location, std::string_view slice, CountLimits limits,
                std::uint32_t& value) {
  std::uint32_t read = 0;
  if (!read_value(slice, read) || read < limits.least || read > limits.most) {
    location.fault(
        limits.most == UINT32_MAX
            ? fmt::format("must be a whole number of at least {}", limits.least)
            : fmt::format("must be a whole number from {} to {}", limits.least, limits.most));
    return false;
  }
  value = read;
  return true;
}

std::optional<std::size_t> read_word(const SpecLocation& location, std::string_view slice,
                                     const std::vector<std::string_view>& words) {
  const auto text = json_string_value(slice);
  const auto found = std::find(words.begin(), words.end(), text.value_or(""));
  if (text.has_value() && found != words.end()) {
    return static_cast<std::size_t>(found - words.begin());
  }
  location.fault(fmt::format("must be one of {}{}", fmt::join(words, ", "),
                             text.has_value() ? location.faults().hint(*text, words) : ""));
  return std::nullopt;
}

std::vector<std::string_view> read_items(const SpecLocation& location, std::string_view slice) {
  std::vector<std::string_view> items;
  if (!slice.starts_with('[')) {
    location.fault(fmt::format("is {}, not a list", kind_name(slice)));
    return items;
  }
  JsonSlicer slicer(slice);
  while (const auto item = slicer.next()) {
    items.push_back(item->value);
  }
  return items;
}

std::map<std::string, std::string_view> read_members(const SpecLocation& location,
                                                     std::string_view slice) {
  std::map<std::string, std::string_view> members;
  walk_object(location, slice, [&](std::string name, std::string_view value) {
    members.emplace(std::move(name), value);
  });
  return members;
}

Payload read_json(const SpecLocation& location, std::string_view slice) {
  refuse_repeats(location, slice);
  return Payload::trusted(canonical_json(slice));
}

void read_duration_ms(const SpecLocation& location, std::string_view slice, Zero zero,
                      std::uint64_t& ms) {
  if (!read_value(slice, ms)) {
    location.fault("must be a whole number of milliseconds");
    return;
  }
  check_duration(location, zero, ms);
}

void read_duration_text(const SpecLocation& location, std::string_view slice, Zero zero,
                        std::uint64_t& ms) {
  const auto text = json_string_value(slice);
  const auto read = text.has_value() ? parse_duration(*text) : std::nullopt;
  if (!read.has_value()) {
    location.fault(
        "is not a duration such as \"200ms\", \"5s\" or \"1h30m\" (units ms, s, m, h, d)");
    return;
  }
  ms = *read;
  check_duration(location, zero, ms);
}

}  // namespace holdfast
