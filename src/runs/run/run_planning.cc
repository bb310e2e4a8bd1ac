#include "runs/run/run_planning.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/hash.h"
#include "runs/facts/activation.h"
#include "runs/run/redact.h"

namespace holdfast {

Error refusal(const RunProjection& run, ErrorCode code, const std::string& message) {
  const std::string run_id = to_string(run.run_id());
  return Error{code, fmt::format("run {}: {}", run_id, message)}.with("run_id", run_id);
}

Error refusal(const RunProjection& run, const Attempt& attempt, ErrorCode code,
              const std::string& message) {
  return refusal(run, code,
                 fmt::format("attempt {} at step {}: {}", attempt.runnable_key.view(),
                             attempt.step.view(), message))
      .with("step", attempt.step.view())
      .with("runnable_key", attempt.runnable_key.view());
}

TimeMs later(TimeMs time, std::uint64_t by_ms) {
  return TimeMs{time.value + static_cast<std::int64_t>(std::min(by_ms, kMaxDurationMs))};
}

Result<void> check_started(const RunProjection& run) {
  if (!run.started().has_value()) {
    return refusal(run, ErrorCode::run_not_found, "it was never started");
  }
  return {};
}

RunSignalReceived receipt(const RunId& run, SignalType type, const CommandSource& source,
                          const Payload& payload) {
  RunSignalReceived fact;
  fact.run_id = run;
  fact.signal_type = type;
  fact.payload = or_empty(payload);
  fact.metadata = redact(or_empty(source.metadata));
  fact.source = source.source;
  fact.signal_id = source.signal_id;
  fact.idempotency_key = source.idempotency_key;
  fact.actor = source.actor;
  fact.comment = source.comment;
  fact.trace = source.trace;
  return fact;
}

Result<const PlannedRunnable*> find_applicable(const RunProjection& run, const Attempt& attempt) {
  if (attempt.run_id != run.run_id()) {
    return refusal(run, attempt, ErrorCode::wrong_run,
                   "it belongs to run " + to_string(attempt.run_id));
  }
  const PlannedRunnable* planned = run.find(attempt.runnable_key.view());
  if (planned == nullptr) {
    return refusal(run, attempt, ErrorCode::unknown_runnable_intent, "the run never planned it");
  }
  if (planned->applied) {
    return nullptr;
  }
  if (run.is_terminal()) {
    return refusal(run, attempt, ErrorCode::terminal_run,
                   fmt::format("the run is {}", to_text(run.status())));
  }
  if (planned->plan.is_timer()) {
    return refusal(run, attempt, ErrorCode::invalid_transition, "it is the timer of an event wait");
  }
  if (attempt.status != AttemptStatus::completed) {
    return refusal(run, attempt, ErrorCode::result_not_completed,
                   fmt::format("it is {}, so it has no result", to_text(attempt.status)));
  }
  return planned;
}

Runnable first_attempt(const RunProjection& run, const SharedText& step, const SharedText& queue) {
  Runnable runnable;
  runnable.run_id = run.run_id();
  runnable.step = step;
  runnable.runnable_key = runnable_key(run.run_id(), step.view(), 1);
  runnable.idempotency_key = runnable.runnable_key;
  runnable.attempt_number = 1;
  runnable.trace = run.started()->trace;
  runnable.queue = queue.empty() ? run.started()->queue : queue;
  if (runnable.queue.empty()) {
    runnable.queue = kDefaultQueue;
  }
  return runnable;
}

SharedText path_name(const Runnable& plan) {
  return plan.path.empty() ? SharedText(parse_activation(plan.step.view()).step) : plan.path;
}

TransitionTaken taken_by(const Runnable& plan, RouteOn on, const SharedText& to) {
  TransitionTaken taken;
  taken.from = plan.step;
  taken.on = on;
  taken.to = to;
  return taken;
}

const Transition* choose(const std::vector<Transition>& transitions, const DataView& data) {
  for (const Transition& transition : transitions) {
    if (!transition.when.has_value() || transition.when->matches(data)) {
      return &transition;
    }
  }
  return nullptr;
}

TransitionTaken chosen_by(const Runnable& plan, RouteOn on, const Transition& transition) {
  TransitionTaken taken = taken_by(plan, on, transition.to_name);
  taken.when = transition.when_json;
  if (transition.recovery != RecoveryLabel::none) {
    taken.recovery = transition.recovery;
  }
  return taken;
}

RunnableApplied applied_fact(const RunProjection& run, const Runnable& plan, const StepEnd& end,
                             TimeMs now) {
  RunnableApplied fact;
  fact.run_id = run.run_id();
  fact.runnable_key = plan.runnable_key;
  fact.result = end.result;
  fact.applied_at = now;
  fact.execution_opts = end.execution_opts;
  return fact;
}

Payload error_result(const Payload& error) {
  JsonWriter writer;
  writer.begin_object().member("error", JsonText::trusted(std::string(error.view())));
  writer.end_object();
  return std::move(writer).take_text();
}

Payload item_error(const Payload& error, std::uint64_t item) {
  std::string text(error.view());
  if (!error.is_object()) {
    return error;
  }
  text.pop_back();
  text += fmt::format("{}\"item\":{}}}", text.size() > 1 ? "," : "", item);
  return Payload::trusted(text);
}

RunTerminal terminal_fact(const RunProjection& run, TerminalStatus status, const Payload& error) {
  RunTerminal fact;
  fact.run_id = run.run_id();
  fact.status = status;
  fact.error = error;
  return fact;
}

Payload terminal_error(std::string_view code, std::string_view message, std::string_view step) {
  JsonWriter writer;
  writer.begin_object().member("code", code).member("message", message).member("step", step);
  writer.member("retryable", false).end_object();
  return std::move(writer).take_text();
}

Payload no_transition_error(const Runnable& plan) {
  const std::string_view step = plan.step.view();
  return terminal_error("no_matching_transition",
                        fmt::format("no transition of step {} fits its result", step), step);
}

Payload failed_by_transition(const Runnable& plan) {
  const std::string_view step = plan.step.view();
  return terminal_error("failed_by_transition",
                        fmt::format("a transition of step {} says that the run has failed", step),
                        step);
}

Payload timeout_error(TimedOut what, std::string_view step) {
  struct Words {
    std::string_view code;
    std::string_view message;
    bool retryable;
  };
  static constexpr std::array<Words, 3> kWords{{
      {"schedule_to_start_timeout", "no worker claimed the attempt in time", false},
      {"start_to_close_timeout", "the attempt did not end in time", true},
      {"start_to_close_timeout", "the child did not end in time", true},
  }};
  const Words& words = kWords[static_cast<std::size_t>(what)];
  JsonWriter writer;
  writer.begin_object().member("code", words.code).member("message", words.message);
  writer.member("step", step).member("retryable", words.retryable).end_object();
  return std::move(writer).take_text();
}

Payload missing_path_error(std::string_view code, const MissingPath& missing,
                           std::string_view step) {
  JsonWriter writer;
  writer.begin_object().member("code", code);
  writer.member("message", fmt::format("{} is taken from {}, but {} does not exist", missing.target,
                                       missing.path, missing.missing_at));
  writer.member("step", step).member("target", missing.target).member("path", missing.path);
  writer.member("missing_at", missing.missing_at).member("retryable", false).end_object();
  return std::move(writer).take_text();
}

Payload misfit_error(std::string_view code, std::string_view what, const ContractMisfit& misfit,
                     std::string_view step) {
  JsonWriter writer;
  writer.begin_object().member("code", code);
  writer.member("message", fmt::format("{} does not fit: {}", what, misfit.text()));
  writer.member("step", step).member("validation_errors", misfit.json());
  writer.member("retryable", false).end_object();
  return std::move(writer).take_text();
}

std::string error_code_of(const Payload& error) {
  const auto code = error.is_object() ? ObjectView(error.view()).member("code") : std::nullopt;
  return code.has_value() ? json_string_value(*code).value_or("") : std::string();
}

const RetryPolicy& policy_of(const RunProjection& run, const Runnable& plan) {
  static const RetryPolicy once;
  HOLDFAST_ASSERT(run.definition() != nullptr);
  if (plan.graph_mutation.has_value()) {
    const auto node = run.graph().active.find(plan.graph_mutation->node_id.str());
    const bool retried = node != run.graph().active.end() && node->second.retry.has_value();
    return retried ? *node->second.retry : once;
  }
  const auto index = run.definition()->find(parse_activation(plan.step.view()).step);
  if (!index.has_value()) {
    return once;
  }
  const Step& step = run.definition()->steps()[*index];
  if (!is_compensation(plan.step.view())) {
    return step.retry;
  }
  return step.spec.compensate.has_value() ? step.spec.compensate->retry : once;
}

namespace {

// A policy that names the error code of an exception retries it, even if the step did not mark it
// as retryable.
bool may_retry(const RetryPolicy& policy, const Failure& failure, const std::string& code) {
  if (failure.retryable) {
    return true;
  }
  return code == "step_exception" &&
         std::any_of(policy.codes.begin(), policy.codes.end(),
                     [&](const CodeRetry& other) { return other.code.view() == code; });
}

// Spreads retries, and is the same in every process.
std::uint64_t jittered(std::uint64_t delay_ms, std::uint32_t percent, std::string_view key) {
  if (percent == 0 || delay_ms == 0) {
    return delay_ms;
  }
  const Digest digest = sha256(key);
  std::uint64_t draw = 0;
  for (std::size_t i = 0; i < sizeof draw; ++i) {
    draw = draw << 8U | static_cast<std::uint64_t>(digest[i]);
  }
  const std::uint64_t most = delay_ms / 100 * percent + delay_ms % 100 * percent / 100;
  return delay_ms - (most == 0 ? 0 : draw % (most + 1));
}

// Those since an operator retried it.
std::uint32_t attempts_made(const Runnable& plan) {
  return plan.attempt_number > plan.earlier_attempts ? plan.attempt_number - plan.earlier_attempts
                                                     : 1;
}

}  // namespace

std::optional<TimeMs> retry_at(const RunProjection& run, const Runnable& plan,
                               const Failure& failure, TimeMs now) {
  const RetryPolicy& policy = policy_of(run, plan);
  const std::string code = error_code_of(failure.error);
  const RetryRule& rule = rule_for(policy, code);
  const bool is_stopped = run.is_compensating() && !is_compensation(plan.step.view());
  if (plan.is_timer() || run.is_terminal() || is_stopped || !may_retry(policy, failure, code) ||
      attempts_made(plan) >= rule.max_attempts) {
    return std::nullopt;
  }
  const std::uint64_t delay_ms = failure.retry_after_ms.value_or(jittered(
      retry_delay_ms(rule, attempts_made(plan)), rule.jitter_percent, plan.runnable_key.view()));
  return later(now, delay_ms);
}

bool is_done(const RunProjection& run, std::string_view step) {
  if (const auto index = run.definition()->find(step);
      index.has_value() && run.definition()->steps()[*index].begins_path) {
    return run.progress().done[*index];
  }
  const PlannedRunnable* latest = run.latest(step);
  return latest != nullptr && latest->applied && !latest->is_undecided();
}

Result<Payload> checked_input(const Definition& definition, std::string_view trigger,
                              const Payload& input, TimeMs now) {
  const Trigger* found = definition.find_trigger(trigger);
  if (found == nullptr) {
    return Error{ErrorCode::invalid_trigger, fmt::format("workflow {} has no trigger {}",
                                                         definition.workflow().view(), trigger)}
        .with("workflow", definition.workflow().view())
        .with("trigger", trigger);
  }
  const Payload object = or_empty(input);
  if (!object.is_object()) {
    return Error{ErrorCode::invalid_argument, "the input is not a JSON object"}.with("field",
                                                                                     "input");
  }
  if (!found->contract.has_value()) {
    return object;
  }
  HOLDFAST_TRY(const Json json, Json::parse(object.view()));
  const ContractMisfit misfit = found->contract->check(json, UnknownFields::refused);
  if (!misfit.none()) {
    return Error{ErrorCode::invalid_payload,
                 fmt::format("the input of workflow {} does not fit: {}",
                             definition.workflow().view(), misfit.text())}
        .with("workflow", definition.workflow().view())
        .with("trigger", found->spec.name.view())
        .with("errors", misfit.json().view());
  }
  return found->contract->with_defaults(object, now);
}

const Surroundings& nothing_around() {
  class Nothing final : public Surroundings {
   public:
    [[nodiscard]] std::shared_ptr<const Definition> current(
        std::string_view /*workflow*/) const override {
      return nullptr;
    }
    [[nodiscard]] bool is_claimed(std::string_view /*runnable_key*/) const override {
      return false;
    }
  };
  static const Nothing nothing;
  return nothing;
}

}  // namespace holdfast
