// All readers of JSON: JsonText, Json, JsonSlicer, and the two writers of values. They must agree
// on what is valid JSON and on its value.
#include <map>

#include "base/json_slice.h"
#include "base/json_value.h"
#include "base/text.h"
#include "fuzz/target.h"
#include "runs/language/data/canonical_json.h"
#include "runs/language/data/json_text.h"

namespace holdfast::fuzz::json_fuzz {
namespace {

std::string written(std::string_view text) { return json_text(Json::parse(text).value()); }

// The parser of Json differs in the last bit for some of these, not always consistently.
bool has_fraction(const Json& json) {
  for (std::size_t i = 0; i < json.size(); ++i) {
    const bool list = json.kind() == Json::Kind::array;
    if (has_fraction(list ? json.item(i) : json.member(i).second)) {
      return true;
    }
  }
  return json.kind() == Json::Kind::number;
}

// Whether a slice equals a parsed document.
bool same(std::string_view slice, const Json& value) {
  return has_fraction(value) || written(slice) == json_text(value);
}

// The members of a text by name; the last of equal ones counts, as in a parsed document.
std::map<std::string, std::string_view> sliced_members(std::string_view text) {
  std::map<std::string, std::string_view> members;
  JsonSlicer slicer(text);
  while (const auto member = slicer.next()) {
    const auto name = json_string_value('"' + std::string(member->name) + '"');
    require(name.has_value(), "every name of a valid text can be read");
    members[*name] = member->value;
  }
  require(slicer.valid(), "the slicer reaches the end of a valid text");
  return members;
}

void check_object(std::string_view text, const Json& json) {
  const auto members = sliced_members(text);
  require(members.size() == json.size(), "slicer and document see the same members");
  for (std::size_t i = 0; i < json.size(); ++i) {
    const auto [name, value] = json.member(i);
    const auto sliced = members.find(std::string(name));
    require(sliced != members.end() && same(sliced->second, value),
            "slicer and document see the same value");
    require(json.find(name).has_value(), "a member is found by its name");
  }
}

void check_list(std::string_view text, const Json& json) {
  JsonSlicer slicer(text);
  std::size_t count = 0;
  while (const auto item = slicer.next()) {
    require(count < json.size() && same(item->value, json.item(count)),
            "slicer and document see the same item");
    ++count;
  }
  require(slicer.valid() && count == json.size(), "slicer and document see the same items");
}

void check_scalar(std::string_view text, const Json& json) {
  require(json.size() == 0, "a value that is neither a list nor an object is empty");
  if (const auto string = json.string()) {
    require(json_string_value(text) == std::string(*string), "a string is read alike");
  }
  if (json.integer().has_value()) {
    require(json.number().has_value(), "an integer is a number");
  }
}

void check_refused(std::string_view input, const Error& error) {
  const auto offset = parse_decimal(error.field("offset"));
  require(error.code() == ErrorCode::invalid_json && offset.has_value() && *offset <= input.size(),
          "an error names a place inside the text");
  // The slicer checks only the shape: it accepts half a surrogate pair and a huge exponent.
  require(!is_compact_json(input) || input.find("\\u") != std::string_view::npos ||
              input.find_first_of("eE") != std::string_view::npos,
          "the slicer accepts no more than the parser");
}

void check(std::string_view input) {
  const auto text = JsonText::parse(input);
  const auto json = Json::parse(input);
  require(text.ok() == json.ok(), "both parsers accept the same texts");
  if (!text.ok()) {
    check_refused(input, text.error());
    return;
  }
  const std::string_view compact = text.value().view();
  require(is_compact_json(compact), "a JsonText is compact");
  require(is_compact_json(input) == (compact == input), "compact is what parse() leaves alone");
  require(JsonText::parse(compact).value() == text.value(), "parse() of its own text is the same");
  const std::string canonical = canonical_json(compact);
  require(is_compact_json(canonical), "a canonical text is JSON");
  require(canonical_json(canonical) == canonical, "a canonical text is its own canonical form");
  const std::string text_of_value = json_text(json.value());
  require(is_compact_json(text_of_value), "a value is written as JSON");
  require(has_fraction(json.value()) || written(text_of_value) == text_of_value,
          "writing a value and reading it keeps it");
  if (text.value().is_object()) {
    check_object(compact, json.value());
  } else if (json.value().kind() == Json::Kind::array) {
    check_list(compact, json.value());
  } else {
    check_scalar(compact, json.value());
  }
}

}  // namespace

HOLDFAST_FUZZ_TARGET(json, check)

}  // namespace holdfast::fuzz::json_fuzz
