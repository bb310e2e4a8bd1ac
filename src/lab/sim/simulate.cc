#include "lab/sim/simulate.h"

#include <algorithm>
#include <chrono>

#include "lab/sim/simulation.h"

namespace holdfast::sim {

namespace {

// The number of times a failing seed is played again to shorten it.
constexpr int kShrinkTries = 300;

Plan plan_of(std::uint64_t seed, const SimulateOptions& options) {
  Plan plan = options.plan(seed, options.faults);
  return options.only.empty() ? plan : part_of(plan, options.only);
}

std::optional<Violation> play(const Plan& plan, const SimulateOptions& options, Trace& trace,
                              Coverage& coverage) {
  const auto scenario = options.scenario(plan.seed);
  Simulation simulation(plan, *scenario, trace, coverage);
  return simulation.play();
}

// Identifies the guarantee whatever run and time are concerned: the text up to the first value.
std::string guarantee_of(const std::string& what) {
  std::string words;
  for (const char letter : what) {
    if (letter == '"' || letter == '{' || (letter >= '0' && letter <= '9')) {
      break;
    }
    words += letter;
  }
  return words;
}

std::string guarantee_of(const Violation& violation) {
  return violation.invariant.empty() ? guarantee_of(violation.what) : violation.invariant;
}

bool violates_the_same(const Plan& plan, const SimulateOptions& options,
                       const std::string& guarantee) {
  Trace trace(false);
  Coverage coverage;
  const auto violation = play(plan, options, trace, coverage);
  return violation.has_value() && guarantee_of(*violation) == guarantee;
}

// Leaves out whole kinds of faults with all their items.
Plan with_fewer_faults(Plan plan, const SimulateOptions& options, const std::string& guarantee) {
  for (const Fault fault : Faults(plan.faults)) {
    Plan reduced = plan;
    reduced.faults.erase(fault);
    const std::vector<Act>& acts = acts_of(fault);
    std::erase_if(reduced.items, [&](const Item& item) {
      return std::find(acts.begin(), acts.end(), item.act) != acts.end();
    });
    if (violates_the_same(reduced, options, guarantee)) {
      plan = std::move(reduced);
    }
  }
  return plan;
}

// Leaves out larger parts first, then smaller ones, as long as the same guarantee is violated.
Plan shrunk(Plan plan, const SimulateOptions& options, const std::string& guarantee) {
  if (options.shrink_faults) {
    plan = with_fewer_faults(std::move(plan), options, guarantee);
  }
  int tries = kShrinkTries;
  for (std::size_t part = std::max<std::size_t>(plan.items.size() / 2, 1); tries > 0;) {
    bool shorter = false;
    for (std::size_t from = 0; from < plan.items.size() && tries > 0; --tries) {
      Plan reduced = plan;
      const auto begin = reduced.items.begin() + static_cast<std::ptrdiff_t>(from);
      const std::size_t count = std::min(part, reduced.items.size() - from);
      reduced.items.erase(begin, begin + static_cast<std::ptrdiff_t>(count));
      if (violates_the_same(reduced, options, guarantee)) {
        plan = std::move(reduced);
        shorter = true;
      } else {
        from += count;
      }
    }
    if (part == 1 && !shorter) {
      break;
    }
    part = shorter && part == 1 ? 1 : std::max<std::size_t>(part / 2, 1);
  }
  return plan;
}

FailedSeed failure_of(const Plan& plan, const Violation& violation,
                      const SimulateOptions& options) {
  const Plan shortest = options.shrink ? shrunk(plan, options, guarantee_of(violation)) : plan;
  Trace trace(true);
  Coverage coverage;
  const auto again = play(shortest, options, trace, coverage);
  FailedSeed failed;
  failed.seed = plan.seed;
  failed.violation = again.value_or(violation);
  failed.trace_hash = trace.hash();
  failed.items = shortest.items;
  failed.items_at_first = plan.items.size();
  failed.trace = trace.lines();
  failed.story = trace.story();
  failed.faults = shortest.faults;
  return failed;
}

}  // namespace

PlayedSeed play_seed(std::uint64_t seed, const SimulateOptions& options) {
  PlayedSeed played;
  played.plan = plan_of(seed, options);
  played.violation = play(played.plan, options, played.trace, played.coverage);
  return played;
}

SimulateReport simulate(const SimulateOptions& options) {
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  SimulateReport report;
  for (std::uint64_t i = 0; i < options.seeds; ++i) {
    const Plan plan = plan_of(options.first_seed + i, options);
    Trace trace(false);
    std::optional<Violation> violation = play(plan, options, trace, report.coverage);
    if (!violation.has_value() && options.twice_every > 0 && i % options.twice_every == 0) {
      Trace second(false);
      Coverage ignored;
      play(plan, options, second, ignored);
      report.coverage.add("check:twice");
      if (second.hash() != trace.hash()) {
        violation = Violation{second.events(), 0, "the same seed produced two different traces"};
      }
    }
    ++report.seeds;
    report.events += trace.events();
    report.trace_hash = report.trace_hash * 0x100000001b3U ^ trace.hash();
    if (violation.has_value()) {
      report.failed = failure_of(plan, *violation, options);
      break;
    }
    const bool late = options.seconds.has_value() &&
                      Clock::now() - begin >= std::chrono::seconds(*options.seconds);
    if (late || (options.progress && !options.progress(report.seeds))) {
      break;
    }
  }
  return report;
}

}  // namespace holdfast::sim
