// Workflow files: YAML or JSON text to a definition. An accepted definition is the same workflow
// when it is written and read again; every fault has a line and column inside the text.
#include <algorithm>

#include "base/json_writer.h"
#include "base/text.h"
#include "fuzz/target.h"
#include "runs/language/data/canonical_json.h"
#include "runs/language/yaml/check_workflow.h"
#include "runs/language/yaml/document.h"

namespace holdfast::fuzz::workflow_file_fuzz {
namespace {

std::size_t count_lines(std::string_view text) {
  return 1 + static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n') +
                                      std::count(text.begin(), text.end(), '\r'));
}

void check_location(std::string_view text, SourceLocation location) {
  require(location.line >= 1 && location.line <= count_lines(text), "the line exists in the text");
  require(location.column >= 1 && location.column <= text.size() + 1,
          "the column exists in the text");
}

// A name of more than 1024 bytes is JSON, but in YAML it needs a question mark in front.
bool has_long_name(const Json& json) {
  constexpr std::size_t kMaxYamlName = 1000;  // as it is written, with its escapes
  for (std::size_t i = 0; i < json.size(); ++i) {
    if (json.kind() == Json::Kind::array) {
      if (has_long_name(json.item(i))) {
        return true;
      }
      continue;
    }
    const auto [name, value] = json.member(i);
    std::string written;
    append_json_string(written, name);
    if (written.size() > kMaxYamlName || has_long_name(value)) {
      return true;
    }
  }
  return false;
}

bool is_readable(std::string_view json) {
  return json.size() <= kMaxSourceBytes && !has_long_name(Json::parse(json).value());
}

// JSON is YAML, so the JSON of a document is read as the same document.
void check_document(std::string_view text) {
  const auto document = YamlDocument::parse(text);
  if (!document.ok()) {
    const Error& error = document.error();
    require(error.code() == ErrorCode::invalid_definition && !error.field("reason").empty(),
            "a text that cannot be read is an invalid definition");
    check_location(text, {parse_decimal(error.field("line")).value_or(0),
                          parse_decimal(error.field("column")).value_or(0)});
    return;
  }
  const std::string_view json = document.value().json().view();
  require(JsonText::parse(json).ok(), "a document is valid JSON");
  if (is_readable(json)) {
    const auto again = YamlDocument::parse(json);
    require(again.ok(), "the JSON of a document is a document");
    require(canonical_json(again.value().json().view()) == canonical_json(json),
            "the JSON of a document is the same document");
  }
}

void check_definition(const Definition& definition) {
  const std::string_view spec = definition.spec().view();
  const auto parsed = Definition::parse(spec);
  require(parsed.ok(), "a written definition can be read");
  require(parsed.value()->fingerprint() == definition.fingerprint(),
          "a definition that is written and read is the same");
  require(parsed.value()->spec() == definition.spec(), "a definition has one text");
  const auto created = Definition::create(definition.parts());
  require(created.ok() && created.value()->fingerprint() == definition.fingerprint(),
          "the parts of a definition are the definition");
  if (is_readable(spec)) {
    const auto file = check_workflow(spec);
    require(file.faults.empty() && file.definition->fingerprint() == definition.fingerprint(),
            "the text of a definition is a workflow file");
  }
  require(!definition.steps().empty() && !definition.triggers().empty(),
          "a definition has steps and a trigger");
  for (const Step& step : definition.steps()) {
    require(definition.find(step.name.view()).has_value(), "a step is found by its name");
  }
}

void check(std::string_view input) {
  check_document(input);
  const CheckedWorkflow checked = check_workflow(input);
  require((checked.definition == nullptr) == !checked.faults.empty(),
          "there is a definition when there are no faults");
  SourceLocation last;
  for (const LocatedFault& located : checked.faults) {
    check_location(input, located.location);
    require(last <= located.location, "faults are ordered by their location");
    require(!located.fault.code.empty() && !located.fault.message.empty(), "a fault has a reason");
    last = located.location;
  }
  JsonWriter json;
  json.begin_array();
  for (const LocatedFault& located : checked.faults) {
    write_fault(json, located);
  }
  json.end_array();
  require(JsonText::parse(std::move(json).take()).ok(), "faults are written as JSON");
  if (checked.definition != nullptr) {
    check_definition(*checked.definition);
  }
}

}  // namespace

HOLDFAST_FUZZ_TARGET(workflow_file, check)

}  // namespace holdfast::fuzz::workflow_file_fuzz
