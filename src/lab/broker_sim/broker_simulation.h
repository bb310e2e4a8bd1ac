// One simulation of brokers, from its plan to its end.
#pragma once

#include <optional>

#include "lab/broker_sim/broker_sim_plan.h"
#include "lab/sim/sim_coverage.h"
#include "lab/sim/sim_trace.h"

namespace holdfast::broker_sim {

// The first guarantee that does not hold.
std::optional<sim::Violation> play_brokers(const BrokerPlan& plan, sim::Trace& trace,
                                           sim::Coverage& coverage);

}  // namespace holdfast::broker_sim
