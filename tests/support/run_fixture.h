// For tests: a run with its definition, and the attempts its queue would have. Facts go through
// put(), which finds any that the projection does not accept.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "workflow/decide.h"

namespace holdfast {

inline Payload json(std::string_view text) { return Payload::trusted(text); }

inline RunId run_no(int number) {
  RunId run;
  run.uuid.bytes.back() = static_cast<std::byte>(number);
  return run;
}

inline std::shared_ptr<const Definition> definition_of(std::string_view steps,
                                                       std::string_view workflow = "order") {
  auto definition = Definition::parse(R"({"workflow":")" + std::string(workflow) +
                                      R"(","version":"1","steps":)" + std::string(steps) + "}");
  EXPECT_TRUE(definition.ok()) << definition.error().text();
  return std::move(definition).value();
}

inline std::vector<std::string> kinds(const RunFacts& facts) {
  std::vector<std::string> names;
  for (const RunFact& fact : facts) {
    names.emplace_back(kind_of(fact));
  }
  return names;
}
using Kinds = std::vector<std::string>;

// The one fact of that type; the test fails when there is none.
template <typename Fact>
Fact the(const RunFacts& facts) {
  for (const RunFact& fact : facts) {
    if (const auto* found = std::get_if<Fact>(&fact)) {
      return *found;
    }
  }
  ADD_FAILURE() << "no " << Fact::kKind;
  return {};
}

inline std::vector<std::string> planned_steps(const RunFacts& facts) {
  std::vector<std::string> steps;
  for (const RunFact& fact : facts) {
    if (const auto* planned = std::get_if<RunnablesPlanned>(&fact)) {
      for (const Runnable& runnable : planned->runnables) {
        steps.push_back(runnable.step.str());
      }
    }
  }
  return steps;
}
using Steps = std::vector<std::string>;

template <typename T>
ErrorCode code_of(const Result<T>& result) {
  if (result.ok()) {
    ADD_FAILURE() << "it was allowed";
    return ErrorCode::io_error;
  }
  return result.error().code();
}

struct TestRun {
  explicit TestRun(std::string_view steps)
      : definition(definition_of(steps)), run(std::make_unique<RunProjection>(run_no(1))) {}

  StartRun start_command() const {
    StartRun command;
    command.run_id = run->run_id();
    command.definition = definition;
    command.input = json(R"({"order":7})");
    return command;
  }
  RunFacts start() { return start(start_command()); }
  RunFacts start(const StartRun& command) {
    RunFacts facts = put(decide_start(*run, command, now));
    run->attach(definition);
    return facts;
  }

  // Appends what was decided.
  RunFacts put(Result<RunFacts> decided) {
    if (!decided.ok()) {
      ADD_FAILURE() << decided.error().text();
      return {};
    }
    for (const RunFact& fact : decided.value()) {
      const auto entry = to_entry(fact, now);
      EXPECT_TRUE(entry.ok()) << kind_of(fact) << ": " << entry.error().text();
      run->evolve(now, fact);
      EXPECT_TRUE(run->anomalies().empty())
          << kind_of(fact) << ": " << run->anomalies().back().reason.view();
    }
    return std::move(decided).value();
  }

  // The attempt that the newest plan of a step asked for, as it is once it was completed.
  Attempt completed(std::string_view step, std::string_view result = "{}",
                    std::string_view opts = "") const {
    Attempt attempt = attempt_of(run->latest(step)->plan);
    attempt.status = AttemptStatus::completed;
    attempt.outcome->result = json(result);
    attempt.outcome->execution_opts = json(opts);
    return attempt;
  }
  Attempt failed(std::string_view step) const {
    Attempt attempt = attempt_of(run->latest(step)->plan);
    attempt.status = AttemptStatus::failed;
    attempt.outcome->error = json(R"({"code":"declined"})");
    return attempt;
  }
  Attempt attempt_of(const Runnable& runnable) const {
    const AttemptScheduled intent = intent_of(runnable, definition->workflow());
    Attempt attempt;
    attempt.run_id = intent.run_id;
    attempt.runnable_key = intent.runnable_key;
    attempt.idempotency_key = intent.idempotency_key;
    attempt.step = intent.step;
    attempt.handler = intent.handler;
    attempt.input = intent.input;
    attempt.visible_at = intent.visible_at;
    attempt.attempt_number = intent.attempt_number;
    attempt.outcome.emplace().at = now;
    if (!intent.event_wait_timeout.empty()) {
      attempt.extras.emplace().event_wait_timeout = intent.event_wait_timeout;
    }
    return attempt;
  }
  Origin origin(std::string_view step) const {
    const Runnable& plan = run->latest(step)->plan;
    return {plan.runnable_key, plan.step, plan.attempt_number};
  }

  // Completes and applies.
  RunFacts apply(std::string_view step, std::string_view result = "{}",
                 std::string_view opts = "") {
    return put(decide_apply(*run, completed(step, result, opts), now));
  }
  // Fails and goes on as the policy of the step says.
  RunFacts fail(std::string_view step, const Failure& failure = {}) {
    const Attempt attempt = failed(step);
    const auto retry = plan_retry(*run, attempt, failure, now);
    return put(decide_after_failure(*run, attempt, attempt.outcome->error, retry, now));
  }
  void cancel() { put(decide_cancel(*run, {}, now)); }

  std::shared_ptr<const Definition> definition;
  std::unique_ptr<RunProjection> run;
  TimeMs now{1000};
};

// charge, then ship and bill, then thank.
inline constexpr std::string_view kDiamond =
    R"([{"name":"charge"},{"name":"ship","after":["charge"]},{"name":"bill","after":["charge"]},)"
    R"({"name":"thank","after":["ship","bill"]}])";
inline constexpr std::string_view kLine = R"([{"name":"ask"},{"name":"act","after":["ask"]}])";

}  // namespace holdfast
