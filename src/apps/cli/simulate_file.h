// holdfast simulate FILE: a user's workflow in the world that is declared for it.
#pragma once

#include "apps/cli/cli_context.h"
#include "lab/sim/simulate.h"

namespace holdfast {

// options: what was asked for, but the scenario.
Result<void> simulate_file(const SimulateCommandOptions& asked, sim::SimulateOptions options,
                           Context& context);

// With a bar at a terminal.
sim::SimulateReport simulate_with_bar(sim::SimulateOptions options);

}  // namespace holdfast
