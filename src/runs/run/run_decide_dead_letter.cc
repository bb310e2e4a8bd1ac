// Dead letters of runs that have ended: the attempt that failed the run is redriven or discarded.
#include <fmt/format.h>

#include "runs/facts/activation.h"
#include "runs/run/run_planning.h"

namespace holdfast {

namespace {

Error stale(const RunProjection& run, const std::string& why) {
  return refusal(run, ErrorCode::invalid_transition, why);
}

// The attempt that the command is about.
Result<ExhaustedAttempt> find_exhausted(const RunProjection& run,
                                        const ResolveDeadLetter& command) {
  HOLDFAST_CHECK(check_started(run));
  if (!run.is_terminal()) {
    return refusal(run, ErrorCode::invalid_transition, "it has not ended")
        .with("status", to_text(run.status()));
  }
  if (!run.terminal()->exhausted.has_value()) {
    return refusal(run, ErrorCode::terminal_run, "it has ended, and no attempt failed it")
        .with("status", to_text(run.status()));
  }
  const ExhaustedAttempt& attempt = *run.terminal()->exhausted;
  const bool named = (command.step.empty() || command.step == attempt.step ||
                      command.step.view() == parse_activation(attempt.step.view()).step) &&
                     (command.runnable_key.empty() || command.runnable_key == attempt.runnable_key);
  if (!named) {
    return stale(run, fmt::format("its dead letter is attempt {}", attempt.runnable_key.view()))
        .with("runnable_key", attempt.runnable_key.view());
  }
  return attempt;
}

std::string what_was_decided(const DeadLetterResolved& known) {
  return known.action == DeadLetterEnd::discarded
             ? std::string("its dead letter was discarded")
             : "its dead letter was redriven as run " + to_string(known.replay_run_id);
}

}  // namespace

RunId redrive_run_id(const RunId& run, const SharedText& runnable_key) {
  return derive_run_id({"redrive", to_string(run), runnable_key.view()});
}

Result<RunFacts> decide_resolve_dead_letter(RunProjection& run, const ResolveDeadLetter& command,
                                            TimeMs now) {
  HOLDFAST_TRY(const ExhaustedAttempt attempt, find_exhausted(run, command));
  if (const auto& known = run.dead_letter()) {
    return known->action == command.action ? Result<RunFacts>(RunFacts())
                                           : stale(run, what_was_decided(*known));
  }
  DeadLetterResolved resolved;
  resolved.run_id = run.run_id();
  resolved.runnable_key = attempt.runnable_key;
  resolved.action = command.action;
  resolved.replay_run_id = command.replay_run_id;
  resolved.source = command.source.source;
  resolved.actor = command.source.actor;
  resolved.comment = command.source.comment;
  RunDraft draft(run, nothing_around(), now);
  draft.add(std::move(resolved));
  return draft.finish();
}

Result<StartRun> plan_redrive(const RunProjection& source, const ResolveDeadLetter& command) {
  HOLDFAST_TRY(const ExhaustedAttempt attempt, find_exhausted(source, command));
  if (const auto& known = source.dead_letter();
      known.has_value() && known->action == DeadLetterEnd::discarded) {
    return stale(source, what_was_decided(*known));
  }
  ReplayRun replay;
  replay.run_id = redrive_run_id(source.run_id(), attempt.runnable_key);
  replay.source = command.source;
  const bool from_step = !source.compensation().has_value() &&
                         source.definition()->find(attempt.step.view()).has_value();
  if (from_step) {
    replay.from_step = parse_activation(attempt.step.view()).step;
  }
  return plan_replay(source, replay);
}

}  // namespace holdfast
