// Workflows that a backend has registered.
#pragma once

#include <string>

#include "apps/cli/backend.h"
#include "apps/cli/workflow_files.h"

namespace holdfast::cli {

// A file, or the registered workflow of that name: NAME, NAME@VERSION or NAME@FINGERPRINT. Fails
// with unknown_workflow.
Result<DefinitionPtr> find_definition(Backend& backend, const std::string& name);
// unknown_workflow, with what to do next.
Error workflow_error(const Error& error, const Backend& backend);

}  // namespace holdfast::cli
