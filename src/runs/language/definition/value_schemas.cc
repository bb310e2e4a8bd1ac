#include "runs/language/definition/value_schemas.h"

#include <string_view>

#include "base/json_writer.h"

namespace holdfast {

namespace {

struct Part {
  std::string_view name;
  std::string_view doc;
  std::string_view schema = {};  // members beside the description
};

constexpr Part kComparisons[] = {
    {"equals",
     "Is it this value? {path: ...} is the value at another path, {value: ...} a literal."},
    {"not_equals",
     "Is it another value, or nothing? {path: ...} is the value at another path, {value: ...} a "
     "literal."},
    {"greater", "Is it a number greater than this?", R"("$ref":"#/$defs/number_operand")"},
    {"greater_or_equal", "Is it a number that is not less than this?",
     R"("$ref":"#/$defs/number_operand")"},
    {"less", "Is it a number less than this?", R"("$ref":"#/$defs/number_operand")"},
    {"less_or_equal", "Is it a number that is not greater than this?",
     R"("$ref":"#/$defs/number_operand")"},
    {"in",
     "Is it one of these values? A list, or {path: ...} to one. Items may be {path: ...} too.",
     R"("anyOf":[{"type":"array"},{"$ref":"#/$defs/path_operand"}])"},
    {"exists", "Is there anything (true), or nothing (false)?", R"("type":"boolean")"},
};
constexpr Part kCombinations[] = {
    {"all", "Do all of these hold?", R"("type":"array","items":{"$ref":"#/$defs/condition"})"},
    {"any", "Does one of these hold?", R"("type":"array","items":{"$ref":"#/$defs/condition"})"},
    {"not", "Does this not hold?", R"("$ref":"#/$defs/condition")"},
};

constexpr std::string_view kAnyPath = R"("type":"string","maxLength":1024)";
constexpr std::string_view kPath = R"("$ref":"#/$defs/path")";
constexpr std::string_view kNumber = R"("type":"number")";

std::string described(std::string_view doc, std::string_view schema) {
  std::string text = R"("description":)";
  append_json_string(text, doc);
  return text + (schema.empty() ? "" : ",") + std::string(schema);
}

std::string property(const Part& part) {
  std::string text;
  append_json_string(text, part.name);
  return text + ":{" + described(part.doc, part.schema) + "}";
}

// An object with these members, of which the first, or both, must be there.
enum class Second : std::uint8_t { none, optional, required };
std::string object_of(const Part& first, Second has_second = Second::none,
                      const Part& second = {}) {
  std::string text = R"({"type":"object","additionalProperties":false,"required":[)";
  append_json_string(text, first.name);
  if (has_second == Second::required) {
    text += ',';
    append_json_string(text, second.name);
  }
  text += R"(],"properties":{)" + property(first);
  text += has_second == Second::none ? "" : "," + property(second);
  return text + "}}";
}

std::string condition() {
  std::string variants;
  for (const Part& comparison : kComparisons) {
    variants += object_of({"path", "The path of the value that is compared.", kAnyPath},
                          Second::required, comparison) +
                ",";
  }
  for (const Part& combination : kCombinations) {
    variants += object_of(combination) + ",";
  }
  variants.pop_back();
  return "{" +
         described(
             "A question about the data of the run: a path with one comparison, or all, any, "
             "not of other questions.",
             R"("anyOf":[)" + variants + "]") +
         "}";
}

std::string number_operand() {
  return "{" +
         described("A number, or where it comes from.",
                   R"("anyOf":[{"type":"number"},)" +
                       object_of({"path", "The path of the number.", kAnyPath}, Second::optional,
                                 {"default", "What it is when the path is missing.", kNumber}) +
                       "," + object_of({"value", "The number itself.", kNumber}) + "]") +
         "}";
}

std::string path_operand() {
  std::string object = object_of({"path", "The path of the value.", kAnyPath}, Second::optional,
                                 {"default", "What it is when the path is missing."});
  return "{" + described("The value at another path.", object.substr(1));
}

std::string mapping() {
  return "{" +
         described(
             "What is taken out of the data: a list of names of members, or an object of names "
             "with paths.",
             R"("anyOf":[{"description":"These members; what is not there is left out.",)"
             R"("type":"array","minItems":1,"uniqueItems":true,)"
             R"("items":{"type":"string","minLength":1}},)"
             R"({"description":"Each name from a path or a value.","type":"object",)"
             R"("propertyNames":{"minLength":1},"additionalProperties":{"anyOf":[)"
             R"({"description":"A path, which must lead somewhere.","$ref":"#/$defs/path"},)" +
                 object_of({"path", "Where the value stands.", kPath}, Second::optional,
                           {"default", "What it is when the path leads nowhere."}) +
                 "," + object_of({"value", "This value itself."}) + "]}}]") +
         "}";
}

// The default of a field must be of its type.
std::string field() {
  constexpr Part kDefaults[] = {
      {"string", "", R"("anyOf":[{"type":"string"},{"$ref":"#/$defs/moment"}])"},
      {"integer", "", R"("type":"integer")"},
      {"float", "", R"("type":"number")"},
      {"boolean", "", R"("type":"boolean")"},
      {"map", "", R"("type":"object")"},
      {"list", "", R"("type":"array")"},
      {"atom", "", R"("type":"string","minLength":1,"maxLength":255,"pattern":"^[A-Za-z0-9_]*$")"},
  };
  std::string rules;
  for (const Part& of_type : kDefaults) {
    rules += rules.empty() ? "" : ",";
    rules += R"({"if":{"required":["type"],"properties":{"type":{"const":")" +
             std::string(of_type.name) + R"("}}},"then":{"properties":{"default":{)" +
             std::string(of_type.schema) + "}}}}";
  }
  return R"({"description":"A field of an object: its type, or more about it.",)"
         R"("anyOf":[{"$ref":"#/$defs/field_type"},{"type":"object",)"
         R"("additionalProperties":false,"required":["type"],"properties":{)" +
         property({"type", "What values the field takes.", R"("$ref":"#/$defs/field_type")"}) +
         "," +
         property({"required",
                   "Whether the field must be there. Default: true, and false with a default.",
                   R"("type":"boolean")"}) +
         "," + property({"default", "What the field is when it is left out."}) + R"(},"allOf":[)" +
         rules + "]}]}";
}

}  // namespace

std::map<std::string, std::string> value_schemas() {
  const auto schema = [](std::string_view doc, std::string_view members) {
    return "{" + described(doc, members) + "}";
  };
  constexpr std::string_view kUnits =
      R"("200ms", "5s", "1h30m", "2d"; units d, h, m, s, ms in this order, whole numbers.)";
  constexpr std::string_view kExamples = R"("examples":["200ms","5s","1h30m"])";
  const auto duration = [&](std::string_view doc, std::string_view ahead) {
    return schema(std::string(doc) + std::string(kUnits),
                  R"("type":"string","pattern":"^(?=)" + std::string(ahead) +
                      R"()([0-9]+d)?([0-9]+h)?([0-9]+m)?([0-9]+s)?([0-9]+ms)?$",)" +
                      std::string(kExamples));
  };
  return {
      {"condition", condition()},
      {"contract", schema("Which fields an object has: names with types.",
                          R"("type":"object","propertyNames":{"minLength":1,"maxLength":255},)"
                          R"("additionalProperties":{"$ref":"#/$defs/field"})")},
      {"duration", duration("A duration: ", ".")},
      {"field", field()},
      {"field_type",
       schema("The type of a field. float takes integers too; atom is a text of letters, digits "
              "and '_'.",
              R"("enum":["string","integer","float","boolean","map","list","atom","any"])")},
      {"mapping", mapping()},
      {"milliseconds", schema("Milliseconds, at most a hundred years.",
                              R"("type":"integer","minimum":0,"maximum":3155760000000)")},
      {"moment",
       schema("The moment when the run starts, as a text.",
              R"("type":"object","additionalProperties":false,"minProperties":1,)"
              R"("maxProperties":1,"properties":{"now":{"const":"iso8601",)"
              R"("description":"The time when the run starts, UTC."},"today":{"const":"iso8601",)"
              R"("description":"The day when the run starts, UTC."}})")},
      {"name", schema("A name: a letter or digit, then letters, digits, '_', '.' and '-'.",
                      R"("type":"string","maxLength":128,)"
                      R"("pattern":"^[A-Za-z0-9][A-Za-z0-9_.-]*$")")},
      {"number_operand", number_operand()},
      {"path", schema("A path into the data of the run, parts separated by dots: "
                      "order.lines.0.sku. A backslash before a dot or a backslash that is part of "
                      "a name.",
                      R"("type":"string","minLength":1,"maxLength":1024)")},
      {"path_operand", path_operand()},
      {"positive_duration", duration("A duration longer than 0: ", ".*[1-9]")},
      {"positive_milliseconds", schema("Milliseconds, at least 1, at most a hundred years.",
                                       R"("type":"integer","minimum":1,"maximum":3155760000000)")},
  };
}

}  // namespace holdfast
