// Workflows from files: YAML or JSON text to a Definition, and every fault with its line. In
// addition to the rules of the language (definition/), time zones must exist.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "base/json_writer.h"
#include "runs/language/definition/definition.h"
#include "runs/language/yaml/source_text.h"

namespace holdfast {

struct LocatedFault {
  DefinitionFault fault;
  SourceLocation location;
};

struct CheckedWorkflow {
  std::shared_ptr<const Definition> definition;  // nullptr when there are faults
  std::vector<LocatedFault> faults;              // ordered by location
  // Valid but probably not intended; only when there is a definition. The codes are listed in
  // docs/workflow-language.md.
  std::vector<LocatedFault> warnings;
};

// A text that cannot be read is one fault, invalid_spec.
CheckedWorkflow check_workflow(std::string_view text);

// {"path":[...],"code":"...","message":"...","line":12,"column":5}; "file" first if one is given.
void write_fault(JsonWriter& json, const LocatedFault& fault, std::string_view file = {});

// The fault of a text that YamlDocument cannot read.
LocatedFault unreadable_fault(const Error& error);

// invalid_definition, whose message has a line for each fault (file:line:column: path: message
// (code)), by their locations, and whose field "errors" is a list of what write_fault writes.
Error invalid_file(std::vector<LocatedFault> faults, std::string_view file);

// The text of a workflow file; of one that is too large, enough for load_workflow to refuse it.
// Fails with not_found, permission_denied or invalid_argument.
Result<std::string> read_workflow_file(const std::string& path);

// The definition, or invalid_file.
Result<std::shared_ptr<const Definition>> load_workflow(std::string_view text,
                                                        std::string_view file);

}  // namespace holdfast
