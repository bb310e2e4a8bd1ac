#include "base/json_slice.h"
#include "base/json_value.h"
#include "base/json_writer.h"
#include "holdfast/json.h"

namespace holdfast {

namespace {

std::optional<Json> member(std::string_view object, std::string_view name) {
  const auto parsed = Json::parse(object);
  return parsed.ok() ? parsed.value().find(name) : std::nullopt;
}

}  // namespace

std::string json_quote(std::string_view text) {
  std::string quoted;
  append_json_string(quoted, text);
  return quoted;
}

std::optional<std::string> json_text(std::string_view object, std::string_view name) {
  const auto found = member(object, name);
  const auto text = found.has_value() ? found->string() : std::nullopt;
  return text.has_value() ? std::optional(std::string(*text)) : std::nullopt;
}

std::optional<std::int64_t> json_integer(std::string_view object, std::string_view name) {
  const auto found = member(object, name);
  return found.has_value() ? found->integer() : std::nullopt;
}

std::optional<double> json_number(std::string_view object, std::string_view name) {
  const auto found = member(object, name);
  return found.has_value() ? found->number() : std::nullopt;
}

std::optional<bool> json_boolean(std::string_view object, std::string_view name) {
  const auto found = member(object, name);
  return found.has_value() ? found->boolean() : std::nullopt;
}

std::optional<std::string> json_value(std::string_view object, std::string_view name) {
  const auto text = JsonText::parse(object);
  if (!text.ok() || !text.value().is_object()) {
    return std::nullopt;
  }
  JsonSlicer slicer(text.value().view());
  while (const auto found = slicer.next()) {
    if (json_string_value('"' + std::string(found->name) + '"') == name) {
      return std::string(found->value);
    }
  }
  return std::nullopt;
}

JsonObject& JsonObject::add(std::string_view name, std::string_view value) {
  return add_json(name, json_quote(value));
}

JsonObject& JsonObject::add(std::string_view name, double value) {
  JsonWriter number;
  number.number(value);
  return add_json(name, std::move(number).take());
}

JsonObject& JsonObject::add_json(std::string_view name, std::string_view json) {
  members_ += members_.size() > 1 ? "," : "";
  append_json_string(members_, name);
  members_ += ':';
  members_ += json;
  return *this;
}

}  // namespace holdfast
