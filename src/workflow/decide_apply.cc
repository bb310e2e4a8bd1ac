#include <fmt/format.h>

#include "base/text.h"
#include "workflow/execution_opts.h"
#include "workflow/planning.h"

namespace holdfast {

namespace {

constexpr std::string_view kDeferredSuffix = ":deferred";

// <key>:deferred, then <key>:deferred:2 and so on: the key of a step that is put off a thousand
// times stays short.
SharedText deferred_key(const Runnable& from) {
  const std::string_view key = from.runnable_key.view();
  if (!from.deferred.has_value()) {
    return fmt::format("{}{}", key, kDeferredSuffix);
  }
  const std::size_t end = key.rfind(kDeferredSuffix) + kDeferredSuffix.size();
  const std::uint64_t times = end == key.size() ? 1 : *parse_decimal(key.substr(end + 1));
  return fmt::format("{}:{}", key.substr(0, end), times + 1);
}

Runnable deferred(const RunProjection& run, const Runnable& from, const Payload& result,
                  const Deferral& why, TimeMs now) {
  Runnable again = from;
  again.runnable_key = deferred_key(from);
  again.idempotency_key = again.runnable_key;
  again.visible_at = later(now, why.schedule_in_ms);
  again.deferred = Deferred{why.reason, from.runnable_key, now};
  // What a step says when it puts itself off, it sees when it comes back.
  if (!from.graph_mutation.has_value()) {
    again.input = run.context_with(result);
  }
  return again;
}

const RetryPolicy& policy_of(const RunProjection& run, std::string_view step) {
  static const RetryPolicy once;
  HOLDFAST_ASSERT(run.definition() != nullptr);
  const auto index = run.definition()->find(step);
  return index.has_value() ? run.definition()->steps()[*index].retry : once;
}

Runnable retried(const Runnable& failed, const PlannedRetry& retry) {
  Runnable again = failed;
  again.runnable_key = retry.runnable_key;
  again.idempotency_key = retry.runnable_key;
  again.attempt_number = failed.attempt_number + 1;
  again.visible_at = retry.visible_at;
  // The queue has scheduled the retry by itself, from the failure; this must be the same intent.
  again.deferred.reset();
  again.event_wait_timeout = Payload();
  again.deadline = Payload();
  return again;
}

}  // namespace

Result<RunFacts> decide_apply(const RunProjection& run, const Attempt& attempt, TimeMs now) {
  HOLDFAST_TRY(const PlannedRunnable* const planned, find_applicable(run, attempt));
  RunFacts facts;
  if (planned == nullptr) {
    return facts;
  }
  RunnableApplied applied = applied_fact(run, attempt, now);
  const Payload result = applied.result;
  const ExecutionOpts opts = execution_opts(applied.execution_opts);
  facts.emplace_back(std::move(applied));
  if (opts.defer.has_value()) {
    RunnablesPlanned again;
    again.run_id = run.run_id();
    again.runnables.push_back(deferred(run, planned->plan, result, *opts.defer, now));
    facts.emplace_back(std::move(again));
  } else {
    add_what_follows(facts, run, {planned->plan.step, result, now, opts.schedule_in_ms});
  }
  return facts;
}

std::optional<PlannedRetry> plan_retry(const RunProjection& run, const Attempt& attempt,
                                       const Failure& failure, TimeMs now) {
  const RetryPolicy& policy = policy_of(run, attempt.step.view());
  const bool timer = attempt.extras && !attempt.extras->event_wait_timeout.empty();
  if (timer || !failure.retryable || run.is_terminal() ||
      attempt.attempt_number >= policy.max_attempts) {
    return std::nullopt;
  }
  const std::uint64_t delay_ms =
      failure.retry_after_ms.value_or(retry_delay_ms(policy, attempt.attempt_number));
  return PlannedRetry{runnable_key(attempt.run_id, attempt.step.view(), attempt.attempt_number + 1),
                      later(now, delay_ms)};
}

Result<RunFacts> decide_after_failure(const RunProjection& run, const Attempt& attempt,
                                      const Payload& error,
                                      const std::optional<PlannedRetry>& retry, TimeMs /*now*/) {
  if (attempt.run_id != run.run_id()) {
    return refusal(run, attempt, ErrorCode::wrong_run,
                   "it belongs to run " + to_string(attempt.run_id));
  }
  const PlannedRunnable* planned = run.find(attempt.runnable_key.view());
  if (planned == nullptr) {
    return refusal(run, attempt, ErrorCode::unknown_runnable_intent, "the run never planned it");
  }
  RunFacts facts;
  const bool went_on =
      run.is_terminal() || planned->applied || run.latest(planned->plan.step.view()) != planned;
  if (went_on) {
    return facts;
  }
  if (retry.has_value()) {
    RunnablesPlanned again;
    again.run_id = run.run_id();
    again.runnables.push_back(retried(planned->plan, *retry));
    facts.emplace_back(std::move(again));
  } else {
    facts.emplace_back(terminal_fact(run, TerminalStatus::failed, error));
  }
  return facts;
}

AttemptScheduled intent_of(const Runnable& runnable, const SharedText& workflow) {
  AttemptScheduled intent;
  intent.run_id = runnable.run_id;
  intent.runnable_key = runnable.runnable_key;
  intent.idempotency_key = runnable.idempotency_key;
  intent.attempt_number = runnable.attempt_number;
  intent.queue = runnable.queue;
  intent.step = runnable.step;
  intent.input = runnable.input;
  intent.visible_at = runnable.visible_at;
  intent.workflow = workflow;
  intent.handler = runnable.handler;
  intent.lease_ms = runnable.lease_ms;
  intent.event_wait_timeout = runnable.event_wait_timeout;
  intent.deadline = runnable.deadline;
  intent.trace = runnable.trace;
  return intent;
}

}  // namespace holdfast
