// What will happen in one simulation of brokers, drawn before it starts. An item left out changes
// no other item, so that a failing simulation can be shortened.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "base/fields.h"

namespace holdfast::broker_sim {

HOLDFAST_ENUM(BrokerAct,
              // A client sends a message, and repeats it until it is answered.
              send,
              // Every other use of a broker.
              administer, sweep, prune, deliver, consume, read,
              // Faults.
              crash, crash_at_point, error_at_point, clock_jump, limiter_down);

struct BrokerItem {
  std::uint32_t number = 0;
  std::int64_t at_us = 0;
  BrokerAct act = BrokerAct::send;
};

struct BrokerPlan {
  std::uint64_t seed = 0;
  std::uint32_t processes = 1;
  std::int64_t horizon_us = 0;    // when the faults end
  std::vector<BrokerItem> items;  // by time
};

BrokerPlan make_broker_plan(std::uint64_t seed);
BrokerPlan part_of(BrokerPlan plan, const std::set<std::uint32_t>& numbers);

}  // namespace holdfast::broker_sim
