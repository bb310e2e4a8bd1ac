// holdfast simulate --broker: simulates message brokers.
#pragma once

#include "apps/cli/cli_context.h"
#include "apps/cli/simulate_file.h"
#include "lab/sim/simulate.h"

namespace holdfast::cli {

// options: which seeds.
Result<void> simulate_broker(const SimulateArguments& given, const sim::SimulateOptions& options,
                             Context& context);

}  // namespace holdfast::cli
