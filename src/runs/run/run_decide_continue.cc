#include <fmt/format.h>

#include "runs/run/run_planning.h"

namespace holdfast {

namespace {

constexpr std::size_t kMaxKeyBytes = 255;

Error unsafe(const RunProjection& run, std::string_view reason, const std::string& message) {
  return refusal(run, ErrorCode::unsafe_continuation, message).with("reason", reason);
}

Result<void> check_command(const RunProjection& run, const ContinueRun& command) {
  HOLDFAST_CHECK(check_started(run));
  const std::string_view key = command.continuation_key.view();
  if (key.empty() || key.size() > kMaxKeyBytes) {
    return refusal(run, ErrorCode::invalid_argument,
                   fmt::format("a continuation key has 1 to {} bytes", kMaxKeyBytes))
        .with("field", "continuation_key");
  }
  if (!or_empty(command.input).is_object()) {
    return refusal(run, ErrorCode::invalid_argument, "the input is not a JSON object")
        .with("field", "input");
  }
  return {};
}

// Whether the run continues already, in this way.
Result<bool> is_requested(const RunProjection& run, const ContinueRun& command) {
  const auto& known = run.continuation();
  if (!known.has_value()) {
    return false;
  }
  if (known->continuation_key == command.continuation_key &&
      known->input == or_empty(command.input)) {
    return true;
  }
  return refusal(run, ErrorCode::conflicting_continuation,
                 fmt::format("it continues as {} under the key {}",
                             to_string(known->successor_run_id), known->continuation_key.view()))
      .with("successor_run_id", to_string(known->successor_run_id))
      .with("continuation_key", known->continuation_key.view());
}

// `source` is the runnable that requests it; other open runnables would be lost.
Result<void> check_safe_to_continue(const RunProjection& run, const PlannedRunnable* source) {
  if (run.is_terminal()) {
    return refusal(run, ErrorCode::terminal_run, fmt::format("it is {}", to_text(run.status())));
  }
  if (!run.boundaries().empty()) {
    const std::string_view step = run.boundaries().begin()->first.view();
    return unsafe(run, "manual_state", fmt::format("it waits at step {}", step)).with("step", step);
  }
  if (!run.anomalies().empty()) {
    return unsafe(run, "workflow_anomalies", "its thread has entries that break its rules");
  }
  if (run.is_compensating()) {
    return unsafe(run, "compensating", "it is compensating");
  }
  for (const PlannedRunnable* planned : run.runnables()) {
    const bool open = !planned->applied && run.latest(planned->plan.step.view()) == planned;
    if (open && planned != source) {
      return unsafe(run, "unapplied_runnables",
                    fmt::format("step {} is not done", planned->plan.step.view()))
          .with("step", planned->plan.step.view())
          .with("runnable_key", planned->plan.runnable_key.view());
    }
  }
  return {};
}

void add_continuation(RunDraft& draft, const ContinueRun& command) {
  const RunProjection& run = draft.run();
  const PinnedDefinition pinned = run.pinned_definition();
  RunContinuationRequested request;
  request.run_id = run.run_id();
  request.successor_run_id = successor_run_id(run.run_id(), command.continuation_key.view());
  request.continuation_key = command.continuation_key;
  request.workflow = run.started()->workflow;
  request.trigger = run.started()->trigger.empty() ? "manual" : run.started()->trigger;
  request.input = or_empty(command.input);
  request.definition = "current";
  request.definition_fingerprint = pinned.fingerprint;
  request.definition_version = pinned.version;
  draft.add(std::move(request));
  draft.add(terminal_fact(run, TerminalStatus::continued));
}

}  // namespace

RunId successor_run_id(const RunId& run, std::string_view continuation_key) {
  return derive_run_id({"continuation", to_string(run), continuation_key});
}

Result<RunFacts> decide_continue(RunProjection& run, const ContinueRun& command, TimeMs now) {
  HOLDFAST_CHECK(check_command(run, command));
  HOLDFAST_TRY(const bool requested, is_requested(run, command));
  if (requested) {
    return RunFacts();
  }
  HOLDFAST_CHECK(check_safe_to_continue(run, nullptr));
  RunDraft draft(run, nothing_around(), now);
  add_continuation(draft, command);
  return draft.finish();
}

Result<RunFacts> decide_continue(RunProjection& run, const Attempt& attempt,
                                 const ContinueRun& command, TimeMs now) {
  HOLDFAST_CHECK(check_command(run, command));
  HOLDFAST_TRY(const bool requested, is_requested(run, command));
  if (requested) {
    return RunFacts();
  }
  HOLDFAST_TRY(const PlannedRunnable* const planned, find_applicable(run, attempt));
  if (planned == nullptr) {
    return RunFacts();
  }
  HOLDFAST_CHECK(check_safe_to_continue(run, planned));
  RunDraft draft(run, nothing_around(), now);
  RunnableApplied applied;
  applied.run_id = run.run_id();
  applied.runnable_key = attempt.runnable_key;
  applied.result = attempt.outcome->result;
  applied.applied_at = now;
  draft.add(std::move(applied));
  add_continuation(draft, command);
  return draft.finish();
}

StartRun start_of_successor(const RunContinuationRequested& request, const RunStarted& predecessor,
                            std::shared_ptr<const Definition> definition) {
  StartRun command;
  command.run_id = request.successor_run_id;
  command.definition = std::move(definition);
  command.queue = predecessor.queue;
  command.context = predecessor.context;
  command.trigger = request.trigger;
  command.input = request.input;
  command.started_by = StartedBy::continuation;
  command.continued_from =
      RunContinuedFrom{request.successor_run_id, request.run_id, request.continuation_key};
  return command;
}

}  // namespace holdfast
