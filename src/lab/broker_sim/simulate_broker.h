// Plays many seeds of brokers in virtual time, each in a simulation of its own. A seed that
// violates a guarantee is played again with fewer and fewer items.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <vector>

#include "lab/broker_sim/broker_sim_plan.h"
#include "lab/sim/sim_coverage.h"
#include "lab/sim/sim_trace.h"

namespace holdfast::broker_sim {

struct BrokerSimulateOptions {
  std::uint64_t first_seed = 1;
  std::uint64_t seeds = 1;
  std::optional<std::int64_t> seconds = {};  // of real time; then it stops early
  std::set<std::uint32_t> only = {};         // item numbers; empty: all
  std::uint64_t twice_every = 20;            // these must leave the same trace again; 0: none
  bool shrink = true;
  std::function<bool(std::uint64_t seeds_done)> progress = nullptr;
};

struct FailedBrokerSeed {
  std::uint64_t seed = 0;
  sim::Violation violation;
  std::vector<BrokerItem> items;
  std::uint64_t items_at_first = 0;
  std::vector<sim::Trace::Line> trace;
};

struct BrokerSimulateReport {
  std::uint64_t seeds = 0;
  std::uint64_t events = 0;
  std::uint64_t trace_hash = 0;
  sim::Coverage coverage;
  std::optional<FailedBrokerSeed> failed;

  // What must be reached, and was not.
  [[nodiscard]] std::vector<std::string> missing() const;
};

BrokerSimulateReport simulate_brokers(const BrokerSimulateOptions& options);

// One seed, with its trace.
struct PlayedBrokerSeed {
  std::optional<sim::Violation> violation;
  sim::Trace trace{true};
};
PlayedBrokerSeed play_broker_seed(std::uint64_t seed, const BrokerSimulateOptions& options);

}  // namespace holdfast::broker_sim
