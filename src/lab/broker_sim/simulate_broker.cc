#include "lab/broker_sim/simulate_broker.h"

#include <algorithm>
#include <chrono>
#include <sstream>
#include <utility>

#include "lab/broker_sim/broker_simulation.h"

namespace holdfast::broker_sim {

namespace {

constexpr int kTries = 200;  // to shorten a failing seed

constexpr const char* kRequired =
    "act:administer act:sweep act:prune act:deliver act:consume act:read act:crash "
    "act:crash_at_point "
    "act:error_at_point act:clock_jump act:limiter_down answer:200 answer:201 "
    "answer:invalid_request answer:invalid_idempotency_key answer:unauthenticated "
    "answer:not_a_member answer:member_revoked answer:not_allowed answer:unknown_workspace "
    "answer:unknown_destination answer:idempotency_key_reused answer:destination_closed "
    "answer:stale_retry answer:too_large answer:canonical_form_drift answer:unsupported_version "
    "answer:rate_limited answer:limiter_unavailable clock:back clock:forward crash:dedupe_read "
    "crash:budget_consumed crash:claimed crash:destination_checked crash:message_inserted "
    "crash:deliveries_inserted crash:history_inserted crash:mentions_inserted "
    "crash:before_commit crash:after_commit crash:rows_swept crash:message_pruned "
    "error:dedupe_read error:budget_consumed error:claimed error:destination_checked "
    "error:message_inserted error:deliveries_inserted error:history_inserted "
    "error:mentions_inserted error:before_commit error:after_commit error:rows_swept "
    "error:message_pruned fault:crash fault:limiter_down group:one group:several job:pruned "
    "job:swept met:in_transaction met:accepted_again_after_sweep network:lost_answer "
    "network:lost_request network:refused network:repeated_request crash:queue_read "
    "crash:queue_written crash:queue_committed error:queue_read error:queue_written "
    "error:queue_committed queue:claimed queue:nothing queue:ack queue:nack queue:extend "
    "queue:fenced queue:dead";

BrokerPlan plan_of(std::uint64_t seed, const BrokerSimulateOptions& options) {
  BrokerPlan plan = make_broker_plan(seed);
  return options.only.empty() ? plan : part_of(std::move(plan), options.only);
}

// Whatever ids and times are concerned: the text up to the first digit.
std::string guarantee_of(const sim::Violation& violation) {
  return violation.what.substr(0, violation.what.find_first_of("0123456789"));
}

bool breaks_the_same(const BrokerPlan& plan, const std::string& guarantee) {
  sim::Trace trace(false);
  sim::Coverage ignored;
  const auto violation = play_brokers(plan, trace, ignored);
  return violation.has_value() && guarantee_of(*violation) == guarantee;
}

// Leaves out larger parts first, then smaller ones.
BrokerPlan shortened(BrokerPlan plan, const std::string& guarantee) {
  int tries = kTries;
  for (std::size_t part = std::max<std::size_t>(plan.items.size() / 2, 1); tries > 0;) {
    bool shorter = false;
    for (std::size_t from = 0; from < plan.items.size() && tries > 0; --tries) {
      BrokerPlan reduced = plan;
      const auto begin = reduced.items.begin() + static_cast<std::ptrdiff_t>(from);
      const std::size_t count = std::min(part, reduced.items.size() - from);
      reduced.items.erase(begin, begin + static_cast<std::ptrdiff_t>(count));
      if (breaks_the_same(reduced, guarantee)) {
        plan = std::move(reduced);
        shorter = true;
      } else {
        from += count;
      }
    }
    if (part == 1 && !shorter) {
      break;
    }
    part = std::max<std::size_t>(part / 2, 1);
  }
  return plan;
}

FailedBrokerSeed failure_of(const BrokerPlan& plan, const sim::Violation& violation, bool shrink) {
  const BrokerPlan shortest = shrink ? shortened(plan, guarantee_of(violation)) : plan;
  sim::Trace trace(true);
  sim::Coverage ignored;
  const auto again = play_brokers(shortest, trace, ignored);
  return {plan.seed, again.value_or(violation), shortest.items, plan.items.size(), trace.lines()};
}

}  // namespace

std::vector<std::string> BrokerSimulateReport::missing() const {
  std::vector<std::string> names;
  std::istringstream words(kRequired);
  for (std::string word; words >> word;) {
    if (coverage.of(word) == 0) {
      names.push_back(word);
    }
  }
  return names;
}

PlayedBrokerSeed play_broker_seed(std::uint64_t seed, const BrokerSimulateOptions& options) {
  PlayedBrokerSeed played;
  sim::Coverage ignored;
  played.violation = play_brokers(plan_of(seed, options), played.trace, ignored);
  return played;
}

BrokerSimulateReport simulate_brokers(const BrokerSimulateOptions& options) {
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  BrokerSimulateReport report;
  for (std::uint64_t i = 0; i < options.seeds; ++i) {
    const BrokerPlan plan = plan_of(options.first_seed + i, options);
    sim::Trace trace(false);
    auto violation = play_brokers(plan, trace, report.coverage);
    if (!violation.has_value() && options.twice_every > 0 && i % options.twice_every == 0) {
      sim::Trace second(false);
      sim::Coverage ignored;
      static_cast<void>(play_brokers(plan, second, ignored));
      if (second.hash() != trace.hash()) {
        violation = sim::Violation{second.events(), 0, "the same seed left two different traces"};
      }
    }
    ++report.seeds;
    report.events += trace.events();
    report.trace_hash = report.trace_hash * 0x100000001b3U ^ trace.hash();
    if (violation.has_value()) {
      report.failed = failure_of(plan, *violation, options.shrink);
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

}  // namespace holdfast::broker_sim
