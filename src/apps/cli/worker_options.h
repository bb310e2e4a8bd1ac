// --threads of commands that execute steps in a store, and the registration of workflow files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "apps/cli/arguments.h"
#include "apps/cli/workflow_files.h"
#include "holdfast/engine.h"

namespace holdfast::cli {

void add_threads(Arguments& arguments, std::optional<std::uint64_t>& threads);
// The number given, or the default. Fails with invalid_argument.
Result<std::size_t> worker_threads(const std::optional<std::uint64_t>& option);
Result<void> register_all(Engine& engine, const Definitions& definitions);

}  // namespace holdfast::cli
