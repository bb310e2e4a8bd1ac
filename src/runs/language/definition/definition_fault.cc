#include "runs/language/definition/definition_fault.h"

#include <algorithm>

#include "base/json_writer.h"

namespace holdfast {

namespace {

bool is_index(std::string_view part) {
  return !part.empty() &&
         std::all_of(part.begin(), part.end(), [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

std::string path_text(const std::vector<std::string>& path) {
  std::string text;
  for (const std::string& part : path) {
    if (is_index(part)) {
      text += '[' + part + ']';
    } else {
      text += (text.empty() ? "" : ".") + part;
    }
  }
  return text;
}

Error invalid_definition(const std::vector<DefinitionFault>& faults) {
  std::string text;
  JsonWriter json;
  json.begin_array();
  for (const DefinitionFault& fault : faults) {
    text += (text.empty() ? "" : "; ") + fault.message;
    json.begin_object().key("path").begin_array();
    for (const std::string& part : fault.path) {
      json.string(part);
    }
    json.end_array().member("code", fault.code).member("message", fault.message).end_object();
  }
  json.end_array();
  return Error{ErrorCode::invalid_definition, "the definition cannot be used: " + text}.with(
      "errors", std::move(json).take());
}

}  // namespace holdfast
