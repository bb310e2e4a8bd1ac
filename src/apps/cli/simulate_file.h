// holdfast simulate FILE: simulates a workflow with its world file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "apps/cli/cli_context.h"
#include "lab/sim/simulate.h"

namespace holdfast::cli {

struct SimulateArguments {
  std::string file = {};  // empty: generated workflows
  std::optional<std::uint64_t> seeds = {};
  std::optional<std::uint64_t> seed = {};
  std::optional<std::uint64_t> seconds = {};
  std::string faults = "all";
  std::string only = {};  // item numbers separated by commas
  bool story = false;
  bool coverage = false;
  bool no_shrink = false;
  bool broker = false;  // brokers in place of workflows
  // With a file.
  std::vector<std::string> with = {};  // workflows of child runs
  std::string world = {};              // empty: FILE with .sim.yaml, if it exists
  bool real = false;
  bool trace = false;
};

// options: everything but the scenario.
Result<void> simulate_file(const SimulateArguments& given, sim::SimulateOptions options,
                           Context& context);

// With a progress bar at a terminal.
sim::SimulateReport simulate_with_bar(sim::SimulateOptions options);

}  // namespace holdfast::cli
