// Workflow files that commands are given.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "holdfast/engine.h"
#include "holdfast/result.h"
#include "runs/language/definition/definition.h"

namespace holdfast::cli {

using DefinitionPtr = std::shared_ptr<const Definition>;
using Definitions = std::vector<DefinitionPtr>;

bool is_file(const std::string& name);
// "-" reads standard input. Fails as reading a file does, or with invalid_definition.
Result<DefinitionPtr> load_workflow_file(const std::string& file);
Result<Definitions> load_workflow_files(const std::vector<std::string>& files);
Result<void> register_all(Engine& engine, const Definitions& definitions);

// What can be checked of a start before a store is created for it. Fails with invalid_argument or
// invalid_trigger.
Result<void> check_start(const Definition& definition, const std::string& run_id,
                         const std::string& trigger);
// The run that an idempotency key names may have been started with another definition than the
// given one: a warning about that; empty when the definitions are the same.
std::string other_definition_warning(std::string_view snapshot, const Definition& given);

}  // namespace holdfast::cli
