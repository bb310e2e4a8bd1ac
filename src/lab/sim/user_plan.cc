// The plan for a simulation of a user's workflow. Items have the same numbers whatever faults are
// allowed, so that a failure can be reproduced with as few faults as it needs.
#include <algorithm>

#include "lab/sim/sim_schedule.h"
#include "lab/sim/user_scenario.h"

namespace holdfast::sim {

namespace {

constexpr std::int64_t kOneMinute = 60 * kSecond;
constexpr std::int64_t kMostDays = 400LL * 24 * 3600 * kSecond;
constexpr std::uint32_t kNumbersOfFault = 100;

std::int64_t of_ms(std::uint64_t ms) {
  constexpr std::uint64_t kMost = kMostDays / 1000;
  return static_cast<std::int64_t>(std::min(ms, kMost)) * 1000;
}

std::int64_t longest_of(const Step& step, const UserWorld& world) {
  std::int64_t longest = 0;
  if (step.spec.wait.has_value()) {
    longest = of_ms(step.spec.wait->for_ms);
  } else if (step.spec.await_event.has_value()) {
    longest = of_ms(step.spec.await_event->timeout_ms);
  } else if (step.kind == StepKind::approval || step.kind == StepKind::pause) {
    const auto decider = world.decisions.find(step.name.str());
    longest = decider == world.decisions.end() ? kDefaultDelay.to_us : decider->second.after.to_us;
  } else {
    for (std::uint32_t i = 1; i < std::min(step.retry.rule.max_attempts, 20U); ++i) {
      longest += of_ms(retry_delay_ms(step.retry.rule, i));
    }
  }
  const StepPolicy& policy = step.spec.policy;
  longest += of_ms(policy.timeout.start_to_close_ms) + of_ms(policy.timeout.schedule_to_start_ms) +
             of_ms(policy.claim.lease_ms) + of_ms(policy.circuit.probe_after_ms);
  return std::min(longest, kMostDays);
}

std::int64_t longest_of(const Stub& stub) {
  std::int64_t longest = stub.takes.to_us;
  for (const StubOutcome& outcome : stub.outcomes) {
    longest = std::max(longest, outcome.takes.value_or(stub.takes).to_us);
    longest += of_ms(outcome.retry_after_ms.value_or(0));
  }
  return std::min(longest, kMostDays);
}

// Sometimes all faults occur early, sometimes they are spread over the whole duration of a run.
std::int64_t draw_horizon(std::int64_t most_us, const Dice& dice) {
  constexpr std::int64_t kLeast = 5 * kSecond;
  std::uint64_t doublings = 1;
  while ((kLeast << doublings) < most_us) {
    ++doublings;
  }
  const std::int64_t base = kLeast << dice.below(doublings, "doublings");
  return base + static_cast<std::int64_t>(dice.below(static_cast<std::uint64_t>(base), "horizon"));
}

}  // namespace

std::int64_t longest_us(const UserSetting& setting) {
  const UserWorld& world = setting.world;
  std::int64_t sum = world.started_within_us + kOneMinute;
  for (const auto& definition : setting.workflows) {
    sum += of_ms(definition->parts().timeout_ms);
    for (const Step& step : definition->steps()) {
      sum += longest_of(step, world);
    }
  }
  for (const auto* stubs : {&world.handlers, &world.steps}) {
    for (const auto& [name, stub] : *stubs) {
      sum += longest_of(stub);
    }
  }
  for (const EventSource& event : world.events) {
    sum += event.after.to_us;
  }
  return std::min(sum, kMostDays);
}

Faults user_faults() {
  Faults faults = all_faults();
  faults.erase(Fault::foreign);
  faults.erase(Fault::damage);
  faults.erase(Fault::backend);  // all queues are served by workers of the engine
  return faults;
}

Plan make_user_plan(const UserSetting& setting, std::uint64_t seed, const Faults& allowed) {
  const UserWorld& world = setting.world;
  const Dice dice = Dice(seed).about("user plan");
  Plan plan;
  plan.seed = seed;
  plan.processes = 1 + static_cast<std::uint32_t>(dice.below(3, "processes"));
  plan.workers = 1 + static_cast<std::uint32_t>(dice.below(4, "workers"));
  plan.horizon_us = draw_horizon(std::max(2 * kOneMinute, longest_us(setting)), dice);
  // The workflows are registered after one second.
  plan.horizon_us = std::max(plan.horizon_us, world.started_within_us + kSecond + 1);
  const auto time = [&](const Dice& own, std::int64_t below_us) {
    return static_cast<std::int64_t>(own.below(static_cast<std::uint64_t>(below_us), "at"));
  };
  const std::uint64_t runs =
      world.least_runs + dice.below(world.most_runs - world.least_runs + 1, "runs");
  for (std::uint64_t i = 0; i < runs; ++i) {
    const Dice own = dice.about("start", i);
    plan.items.push_back(Item{static_cast<std::uint32_t>(i + 1),
                              kSecond + time(own, world.started_within_us + 1), Act::start});
  }
  const bool fair_weather = dice.chance(15, "fair weather");
  for (const Fault fault : allowed) {
    if (fair_weather || !dice.chance(35, to_text(fault))) {
      continue;
    }
    plan.faults.insert(fault);
    const std::vector<Act>& acts = acts_of(fault);
    const std::uint64_t times =
        acts.empty() ? 0 : 1 + dice.below(6, "times", static_cast<std::uint64_t>(fault));
    for (std::uint64_t i = 0; i < times; ++i) {
      const Dice own = dice.about(to_text(fault), i);
      const std::uint32_t number = kNumbersOfFault * (static_cast<std::uint32_t>(fault) + 1);
      plan.items.push_back(Item{number + static_cast<std::uint32_t>(i) + 1,
                                time(own, plan.horizon_us), acts[own.below(acts.size(), "which")]});
    }
  }
  std::stable_sort(plan.items.begin(), plan.items.end(),
                   [](const Item& left, const Item& right) { return left.at_us < right.at_us; });
  return plan;
}

}  // namespace holdfast::sim
