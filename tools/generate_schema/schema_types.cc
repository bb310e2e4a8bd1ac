#include "schema_types.h"

#include <set>

namespace holdfast::schema {

void apply_text(Members& schema, std::string_view text) {
  static const std::set<std::string, std::less<>> kTypes{"$ref", "type", "oneOf", "anyOf"};
  if (text.starts_with('"')) {
    set(schema, "description", std::string(text));
    return;
  }
  const Members more = members_of(text);
  for (const auto& [name, value] : more) {
    if (kTypes.contains(name)) {
      schema.clear();
      break;
    }
  }
  for (const auto& [name, value] : more) {
    set(schema, name, value);
  }
}

void PropertyVisitor::add(std::string_view name, Members schema) {
  const bool is_reference = !schema.empty() && schema.front().first == "$ref";
  const std::string text =
      is_reference ? texts_.find(std::string(name)) : texts_.get(std::string(name));
  if (!text.empty()) {
    apply_text(schema, text);
  }
  properties_.emplace_back(name, object_of(schema));
}

std::string PropertyVisitor::finish(std::string_view about) {
  for (const std::string& unused : texts_.unused()) {
    problems().push_back(unused);
  }
  Members schema{{"type", R"("object")"}};
  for (const auto& [name, value] : members_of(about)) {
    if (name != "name" && name != "fields") {
      set(schema, name, value);
    }
  }
  if (!required_.empty()) {
    set(schema, "required", list_of(required_));
  }
  set(schema, "properties", object_of(properties_));
  if (direction_ == Direction::request) {
    set(schema, "additionalProperties", "false");
  }
  return object_of(schema);
}

}  // namespace holdfast::schema
