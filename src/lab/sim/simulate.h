// simulate: plays many seeds, each in a simulation of its own. A seed that violates a guarantee is
// played again with fewer and fewer items, until no further item can be left out.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "lab/sim/sim_coverage.h"
#include "lab/sim/sim_plan.h"
#include "lab/sim/sim_scenario.h"
#include "lab/sim/sim_trace.h"

namespace holdfast::sim {

using MakePlan = std::function<Plan(std::uint64_t seed, const Faults& allowed)>;
using MakeScenario = std::function<std::unique_ptr<Scenario>(std::uint64_t seed)>;

struct SimulateOptions {
  std::uint64_t first_seed = 1;
  std::uint64_t seeds = 1;
  std::optional<std::int64_t> seconds = {};  // of real time; then it stops early
  Faults faults = all_faults();
  std::set<std::uint32_t> only = {};  // item numbers of the plan; empty: all
  // Every twice_every-th seed is played twice and must leave the same trace; 0: none.
  std::uint64_t twice_every = 10;
  bool shrink = true;  // shorten a failing seed
  MakeScenario scenario = make_generated_scenario;
  MakePlan plan = make_plan;
  // Set for plans whose items have the same numbers whatever faults are allowed: then whole kinds
  // of faults can be left out too.
  bool shrink_faults = false;
  // Called after each seed; returning false stops.
  std::function<bool(std::uint64_t seeds_done)> progress = nullptr;
};

struct FailedSeed {
  std::uint64_t seed = 0;
  Violation violation;
  std::uint64_t trace_hash = 0;
  std::vector<Item> items;  // as few as still violate the same guarantee
  std::uint64_t items_at_first = 0;
  std::vector<Trace::Line> trace;
  std::vector<Trace::Line> story;  // as written by the observer
  Faults faults;                   // the kinds of faults that may occur
};

struct SimulateReport {
  std::uint64_t seeds = 0;
  std::uint64_t events = 0;
  std::uint64_t trace_hash = 0;  // of all traces
  Coverage coverage;
  std::optional<FailedSeed> failed;  // the first failing seed, which ends the simulation
};

SimulateReport simulate(const SimulateOptions& options);

// One seed, with its trace and its story.
struct PlayedSeed {
  std::optional<Violation> violation;
  Trace trace{true};
  Coverage coverage;
  Plan plan;
};
PlayedSeed play_seed(std::uint64_t seed, const SimulateOptions& options);

}  // namespace holdfast::sim
