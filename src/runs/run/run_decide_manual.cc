#include <fmt/format.h>

#include <algorithm>

#include "runs/run/redact.h"
#include "runs/run/run_planning.h"

namespace holdfast {

namespace {

SignalType signal_of(ManualAction action) {
  switch (action) {
    case ManualAction::resumed:
      return SignalType::resume_run;
    case ManualAction::approved:
      return SignalType::approve_run;
    case ManualAction::rejected:
      return SignalType::reject_run;
    case ManualAction::retried:
      return SignalType::retry_step;
    case ManualAction::discarded:
      return SignalType::discard_step;
  }
  return SignalType::resume_run;
}

bool is_resolution(SignalType type) {
  return type == SignalType::resume_run || type == SignalType::approve_run ||
         type == SignalType::reject_run || type == SignalType::retry_step ||
         type == SignalType::discard_step;
}

struct ResolvedStep {
  SharedText step;
  SharedText runnable_key = {};  // of a parked step
  Payload input = {};            // of a retry with another input

  HOLDFAST_FIELDS(required(step), optional(runnable_key), optional(input));
};

Payload naming(const ResolveStep& command, const ManualState& state) {
  return to_json(ResolvedStep{state.step, state.runnable_key, command.input}).value();
}

// Whether the receipt is of what the command names. What it leaves open fits everything.
bool is_about(const RunSignalReceived& signal, const ResolveStep& command) {
  const auto read = from_json<ResolvedStep>(signal.payload.view());
  const ResolvedStep about = read.ok() ? read.value() : ResolvedStep{};
  return (command.step.empty() || about.step == command.step) &&
         (command.runnable_key.empty() || about.runnable_key == command.runnable_key);
}

bool has_same_input(const RunSignalReceived& signal, const ResolveStep& command) {
  const auto read = from_json<ResolvedStep>(signal.payload.view());
  return !read.ok() || read.value().input == command.input;
}

// A step may be parked again after it was retried: then the command is about the newer failure.
bool is_parked_now(const RunProjection& run, const ResolveStep& command) {
  return std::any_of(run.boundaries().begin(), run.boundaries().end(), [&](const auto& at) {
    return at.second.kind == BoundaryKind::parked &&
           (command.step.empty() || command.step == at.first) &&
           (command.runnable_key.empty() || command.runnable_key == at.second.runnable_key);
  });
}

// Whether a resolution like this one is recorded. A command that names no step means the newest.
Result<bool> is_recorded(const RunProjection& run, const ResolveStep& command) {
  const auto& receipts = run.receipts();
  const SharedText& key = command.source.idempotency_key;
  for (auto at = receipts.rbegin(); at != receipts.rend(); ++at) {
    const RunSignalReceived& signal = at->signal;
    const bool same = signal.signal_type == signal_of(command.action);
    if (!key.empty() && signal.idempotency_key == key) {
      if (same && is_about(signal, command) && has_same_input(signal, command)) {
        return true;
      }
      return refusal(run, ErrorCode::idempotency_conflict,
                     fmt::format("the key \"{}\" was used for another command", key.view()))
          .with("idempotency_key", key.view());
    }
    if (key.empty() && is_resolution(signal.signal_type) && is_about(signal, command)) {
      if (boundary_for(command.action) == BoundaryKind::parked) {
        return same && !is_parked_now(run, command);
      }
      // While the run waits again, only a command that names the step can mean an older one.
      return same && (!command.step.empty() || run.boundaries().empty());
    }
  }
  return false;
}

bool fits(const ResolveStep& command, const ManualState& state) {
  return state.kind == boundary_for(command.action) &&
         (command.runnable_key.empty() || command.runnable_key == state.runnable_key);
}

std::string what_it_waits_for(const ManualState& state) {
  return state.kind == BoundaryKind::parked
             ? fmt::format("step \"{}\" is parked by {}", state.step.view(),
                           state.runnable_key.view())
             : fmt::format("step \"{}\" waits for {}", state.step.view(), to_text(state.kind));
}

// Where the run waits for this command.
Result<const ManualState*> find_boundary(const RunProjection& run, const ResolveStep& command) {
  if (run.is_terminal()) {
    return refusal(run, ErrorCode::terminal_run, fmt::format("it is {}", to_text(run.status())))
        .with("step", command.step.view());
  }
  const ManualState* fitting = nullptr;
  std::string others;
  for (const auto& [step, state] : run.boundaries()) {
    if ((command.step.empty() || command.step == step) && fits(command, state)) {
      if (fitting != nullptr) {
        return refusal(run, ErrorCode::invalid_argument,
                       fmt::format("it waits at steps \"{}\" and \"{}\"; name the step",
                                   fitting->step.view(), step.view()))
            .with("field", "step");
      }
      fitting = &state;
    } else {
      others += (others.empty() ? "" : ", ") + what_it_waits_for(state);
    }
  }
  if (fitting != nullptr) {
    return fitting;
  }
  const bool elsewhere = (!command.step.empty() && !run.boundaries().contains(command.step) &&
                          !run.boundaries().empty()) ||
                         !command.runnable_key.empty();
  return refusal(
             run, elsewhere ? ErrorCode::stale_manual_resolution : ErrorCode::invalid_transition,
             others.empty() ? fmt::format("it is {} and not waiting for {}", to_text(run.status()),
                                          boundary_for(command.action) == BoundaryKind::parked
                                              ? "an operator: no step is parked"
                                              : "a decision")
                            : fmt::format("nothing can be {}: {}", to_text(command.action), others))
      .with("step", command.step.view());
}

Result<void> check_actor(const RunProjection& run, const ResolveStep& command) {
  if (boundary_for(command.action) == BoundaryKind::approval && command.source.actor.empty()) {
    return refusal(run, ErrorCode::invalid_argument, "a decision needs an actor")
        .with("field", "actor");
  }
  return {};
}

// {decision, actor, decided_at, comment, metadata}
Payload decision(const ResolveStep& command, std::string_view key, TimeMs now) {
  JsonWriter writer;
  writer.begin_object().key(key).begin_object();
  writer.member("decision", to_text(command.action));
  writer.member("actor", command.source.actor.view());
  writer.member("decided_at", now.value);
  if (!command.source.comment.empty()) {
    writer.member("comment", command.source.comment.view());
  }
  if (!command.source.metadata.empty()) {
    const Payload metadata = redact(command.source.metadata);
    writer.member("metadata", JsonText::trusted(std::string(metadata.view())));
  }
  writer.end_object().end_object();
  return std::move(writer).take_text();
}

// A decision is known by the output of its step, or by the name of the step.
Payload result_of(const RunProjection& run, const ResolveStep& command, const ManualState& state,
                  TimeMs now) {
  if (boundary_for(command.action) != BoundaryKind::approval) {
    return Payload::trusted("{}");
  }
  const auto index = run.definition()->find(state.step.view());
  if (!index.has_value()) {
    return decision(command, state.step.view(), now);
  }
  const Step& step = run.definition()->steps()[*index];
  return decision(command, step.spec.output.empty() ? step.name.view() : step.spec.output.view(),
                  now);
}

// Who decided and when, for audits.
Payload audit(const ResolveStep& command, TimeMs now) {
  JsonWriter writer;
  writer.begin_object().member("event", to_text(command.action)).member("at", now.value);
  if (!command.source.actor.empty()) {
    writer.member("actor", command.source.actor.view());
  }
  if (!command.source.comment.empty()) {
    writer.member("comment", command.source.comment.view());
  }
  writer.end_object();
  return std::move(writer).take_text();
}

Payload rejection(const ResolveStep& command, const SharedText& step) {
  JsonWriter writer;
  writer.begin_object().member("code", "rejected");
  writer.member("message", fmt::format("step {} was rejected by {}", step.view(),
                                       command.source.actor.view()));
  if (!command.source.comment.empty()) {
    writer.member("comment", command.source.comment.view());
  }
  writer.member("step", step.view()).member("retryable", false).end_object();
  return std::move(writer).take_text();
}

}  // namespace

Result<RunFacts> decide_cancel(RunProjection& run, const CommandSource& source, OnCancel how,
                               const Surroundings& around, TimeMs now) {
  HOLDFAST_CHECK(check_started(run));
  const bool cancelled_before =
      (run.is_terminal() && run.terminal()->status == TerminalStatus::cancelled) ||
      (run.is_compensating() && run.compensation()->outcome == TerminalStatus::cancelled &&
       how != OnCancel::stop);
  if (cancelled_before) {
    return RunFacts();
  }
  if (run.is_terminal()) {
    return refusal(run, ErrorCode::invalid_transition,
                   fmt::format("it is {}, so it cannot be cancelled", to_text(run.status())))
        .with("status", to_text(run.status()));
  }
  if (run.is_compensating() && how != OnCancel::stop) {
    return refusal(run, ErrorCode::invalid_transition,
                   "it is already compensating; only a stop ends it earlier")
        .with("status", to_text(run.status()));
  }
  const bool compensates =
      !run.is_compensating() && run.definition() != nullptr &&
      (how == OnCancel::compensate ||
       (how == OnCancel::as_defined && run.definition()->parts().compensate_on_cancel));
  RunDraft draft(run, around, now);
  draft.add(receipt(run.run_id(), SignalType::cancel_run, source, Payload()));
  if (compensates) {
    draft.compensate(TerminalStatus::cancelled, Payload());
  } else {
    draft.add(terminal_fact(run, TerminalStatus::cancelled));
  }
  return draft.finish();
}

Result<RunFacts> decide_resolve(RunProjection& run, const ResolveStep& command,
                                const Surroundings& around, TimeMs now) {
  HOLDFAST_CHECK(check_started(run));
  HOLDFAST_TRY(const bool recorded, is_recorded(run, command));
  if (recorded) {
    return RunFacts();
  }
  HOLDFAST_TRY(const ManualState* const boundary, find_boundary(run, command));
  HOLDFAST_CHECK(check_actor(run, command));
  const ManualState state = *boundary;
  const PlannedRunnable* planned = run.latest(state.step.view());
  if (planned != nullptr) {
    HOLDFAST_CHECK(check_retry_input(run, *planned, command.input));
  }
  RunDraft draft(run, around, now);
  draft.add(
      receipt(run.run_id(), signal_of(command.action), command.source, naming(command, state)));
  resolve_boundary(draft, state, command);
  return draft.finish();
}

void resolve_boundary(RunDraft& draft, const ManualState& state, const ResolveStep& command) {
  RunProjection& run = draft.run();
  const PlannedRunnable* planned = run.latest(state.step.view());
  HOLDFAST_ASSERT(state.kind != BoundaryKind::parked ||
                  (planned != nullptr && (!planned->applied || planned->is_undecided())));  // R11
  ManualStepResolved resolved;
  resolved.run_id = run.run_id();
  resolved.step = state.step;
  resolved.action = command.action;
  resolved.result = result_of(run, command, state, draft.now());
  resolved.metadata = audit(command, draft.now());
  if (command.action == ManualAction::retried && planned != nullptr && planned->is_undecided()) {
    resolved.transition = draft.transition_after(*planned);
  }
  const Payload result = resolved.result;
  draft.add(std::move(resolved));
  if (state.kind == BoundaryKind::parked) {
    if (command.action == ManualAction::retried) {
      draft.retry(*planned, command.input);
    } else {
      draft.give_up(*planned, state.error);
    }
  } else if (command.action == ManualAction::rejected) {
    const Payload error = rejection(command, state.step);
    if (planned == nullptr || planned->applied) {
      draft.fail_run(error);
    } else {
      draft.failed(*planned, error);
    }
  } else if (planned != nullptr && planned->applied) {
    draft.continue_after(*planned);  // a step that waited after its result was applied
  } else if (planned != nullptr) {
    draft.done(*planned, {result});
  }
}

}  // namespace holdfast
