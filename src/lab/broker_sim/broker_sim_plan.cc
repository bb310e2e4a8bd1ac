#include "lab/broker_sim/broker_sim_plan.h"

#include <algorithm>
#include <array>

#include "lab/sim/sim_dice.h"
#include "lab/sim/sim_schedule.h"

namespace holdfast::broker_sim {

namespace {

using sim::Dice;
using sim::kSecond;

struct Share {
  BrokerAct act;
  std::uint64_t of_1000;
};
constexpr std::array<Share, 12> kShares{{{BrokerAct::send, 520},
                                         {BrokerAct::administer, 50},
                                         {BrokerAct::sweep, 70},
                                         {BrokerAct::prune, 70},
                                         {BrokerAct::deliver, 45},
                                         {BrokerAct::consume, 100},
                                         {BrokerAct::read, 25},
                                         {BrokerAct::crash, 15},
                                         {BrokerAct::crash_at_point, 40},
                                         {BrokerAct::error_at_point, 30},
                                         {BrokerAct::clock_jump, 25},
                                         {BrokerAct::limiter_down, 10}}};

BrokerAct act_of(const Dice& dice, std::uint64_t number) {
  std::uint64_t left = dice.below(1000, "act", number);
  for (const Share& share : kShares) {
    if (left < share.of_1000) {
      return share.act;
    }
    left -= share.of_1000;
  }
  return BrokerAct::send;
}

}  // namespace

BrokerPlan make_broker_plan(std::uint64_t seed) {
  const Dice dice = Dice(seed).about("broker plan");
  BrokerPlan plan;
  plan.seed = seed;
  plan.processes = 1 + static_cast<std::uint32_t>(dice.below(3, "processes"));
  plan.horizon_us = static_cast<std::int64_t>(10 + dice.below(30, "horizon")) * kSecond;
  const std::uint64_t items = 20 + dice.below(100, "items");
  for (std::uint64_t i = 0; i < items; ++i) {
    const auto at = dice.below(static_cast<std::uint64_t>(plan.horizon_us), "at", i);
    plan.items.push_back(
        {static_cast<std::uint32_t>(i + 1), static_cast<std::int64_t>(at), act_of(dice, i)});
  }
  std::stable_sort(plan.items.begin(), plan.items.end(),
                   [](const auto& a, const auto& b) { return a.at_us < b.at_us; });
  return plan;
}

BrokerPlan part_of(BrokerPlan plan, const std::set<std::uint32_t>& numbers) {
  std::erase_if(plan.items, [&](const BrokerItem& item) { return !numbers.contains(item.number); });
  return plan;
}

}  // namespace holdfast::broker_sim
