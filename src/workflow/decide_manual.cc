#include <fmt/format.h>

#include <algorithm>

#include "workflow/planning.h"
#include "workflow/redact.h"

namespace holdfast {

namespace {

// What the metadata of a boundary says about the time after it.
struct Routes {
  SharedText target;
  SharedText ok_target;
  SharedText error_target;
  SharedText output_key;
  Payload output;

  template <typename Self, typename Visitor>
  static void visit(Self& self, Visitor& v) {
    v.optional("target", self.target);
    v.optional("ok_target", self.ok_target);
    v.optional("error_target", self.error_target);
    v.optional("output_key", self.output_key);
    v.optional("output", self.output);
  }
};

Routes routes_of(const Payload& metadata) {
  auto routes = from_json<Routes>(or_empty(metadata).view());
  return routes.ok() ? std::move(routes).value() : Routes();
}

Result<void> check_routes(const RunProjection& run, const Attempt& attempt,
                          const Payload& metadata) {
  const auto routes = from_json<Routes>(or_empty(metadata).view());
  if (!routes.ok()) {
    return refusal(run, attempt, ErrorCode::invalid_argument,
                   "the metadata is not usable: " + routes.error().message())
        .with("field", "metadata");
  }
  for (const SharedText* target :
       {&routes.value().target, &routes.value().ok_target, &routes.value().error_target}) {
    if (!target->empty() && !is_target(target->view())) {
      return refusal(run, attempt, ErrorCode::invalid_argument,
                     fmt::format("\"{}\" is no target", target->view()))
          .with("target", target->view());
    }
  }
  return {};
}

SignalType signal_of(ManualAction action) {
  switch (action) {
    case ManualAction::resumed:
      return SignalType::resume_run;
    case ManualAction::approved:
      return SignalType::approve_run;
    case ManualAction::rejected:
      return SignalType::reject_run;
  }
  return SignalType::resume_run;
}

bool is_resolution(SignalType type) {
  return type == SignalType::resume_run || type == SignalType::approve_run ||
         type == SignalType::reject_run;
}

struct ResolvedStep {
  SharedText step;

  template <typename Self, typename Visitor>
  static void visit(Self& self, Visitor& v) {
    v.required("step", self.step);
  }
};

Payload naming(const SharedText& step) { return to_json(ResolvedStep{step}).value(); }

bool is_about(const RunSignalReceived& signal, const SharedText& step) {
  const auto about = from_json<ResolvedStep>(signal.payload.view());
  return step.empty() || (about.ok() && about.value().step == step);
}

// Whether a resolution like this one is recorded. A command that names no step means the newest.
Result<bool> is_recorded(const RunProjection& run, const ResolveStep& command) {
  const auto& receipts = run.receipts();
  const SharedText& key = command.source.idempotency_key;
  for (auto at = receipts.rbegin(); at != receipts.rend(); ++at) {
    const RunSignalReceived& signal = at->signal;
    const bool same = signal.signal_type == signal_of(command.action);
    if (!key.empty() && signal.idempotency_key == key) {
      if (same && is_about(signal, command.step)) {
        return true;
      }
      return refusal(run, ErrorCode::idempotency_conflict,
                     fmt::format("the key {} was used for another command", key.view()))
          .with("idempotency_key", key.view());
    }
    if (key.empty() && is_resolution(signal.signal_type) && is_about(signal, command.step)) {
      // While the run waits again, only a command that names the step can mean an older one.
      return same && (!command.step.empty() || !run.manual_state().has_value());
    }
  }
  return false;
}

bool fits(ManualAction action, const ManualState& state) {
  const ManualKind kind =
      action == ManualAction::resumed ? ManualKind::pause : ManualKind::approval;
  return state.kind.view() == to_text(kind);
}

// Whether the run waits for this command.
Result<void> check_waiting(const RunProjection& run, const ResolveStep& command) {
  if (run.is_terminal()) {
    return refusal(run, ErrorCode::terminal_run, fmt::format("it is {}", to_text(run.status())))
        .with("step", command.step.view());
  }
  const auto& state = run.manual_state();
  if (!state.has_value()) {
    return refusal(run, ErrorCode::invalid_transition,
                   fmt::format("it is {} and waits for nobody", to_text(run.status())))
        .with("step", command.step.view());
  }
  if (!command.step.empty() && command.step != state->step) {
    return refusal(run, ErrorCode::stale_manual_resolution,
                   fmt::format("it waits at step {}, not at {}", state->step.view(),
                               command.step.view()))
        .with("step", command.step.view());
  }
  if (!fits(command.action, *state)) {
    return refusal(run, ErrorCode::invalid_transition,
                   fmt::format("step {} waits as {}, so it cannot be {}", state->step.view(),
                               state->kind.view(), to_text(command.action)))
        .with("step", state->step.view());
  }
  if (command.action != ManualAction::resumed && command.source.actor.empty()) {
    return refusal(run, ErrorCode::invalid_argument, "a decision names who made it: the actor")
        .with("step", state->step.view())
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

Payload result_of(const ResolveStep& command, const ManualState& state, const Routes& routes,
                  TimeMs now) {
  if (command.action == ManualAction::resumed) {
    return routes.output.is_object() ? routes.output : Payload::trusted("{}");
  }
  const SharedText& key = routes.output_key.empty() ? state.step : routes.output_key;
  return decision(command, key.view(), now);
}

// Who did it and when; beside the decision, for those who audit.
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

std::string_view target_of(ManualAction action, const Routes& routes) {
  switch (action) {
    case ManualAction::resumed:
      return routes.target.view();
    case ManualAction::approved:
      return routes.ok_target.view();
    case ManualAction::rejected:
      return routes.error_target.empty() ? kFailTarget : routes.error_target.view();
  }
  return kNextTarget;
}

}  // namespace

Result<RunFacts> decide_cancel(const RunProjection& run, const CommandSource& source,
                               TimeMs /*now*/) {
  HOLDFAST_CHECK(check_started(run));
  if (run.is_terminal()) {
    if (run.terminal()->status == TerminalStatus::cancelled) {
      return RunFacts();
    }
    return refusal(run, ErrorCode::invalid_transition,
                   fmt::format("it is {}, so it cannot be cancelled", to_text(run.status())))
        .with("status", to_text(run.status()));
  }
  RunFacts facts;
  facts.emplace_back(receipt(run.run_id(), SignalType::cancel_run, source, Payload()));
  facts.emplace_back(terminal_fact(run, TerminalStatus::cancelled));
  return facts;
}

Result<RunFacts> decide_pause(const RunProjection& run, const Attempt& attempt,
                              const PauseStep& command, TimeMs now) {
  HOLDFAST_TRY(const PlannedRunnable* const planned, find_applicable(run, attempt));
  RunFacts facts;
  if (planned == nullptr) {
    return facts;
  }
  HOLDFAST_CHECK(check_not_waiting(run, attempt));
  HOLDFAST_CHECK(check_routes(run, attempt, command.metadata));
  facts.emplace_back(final_fact(run, attempt, now));
  ManualStepPaused paused;
  paused.run_id = run.run_id();
  paused.step = planned->plan.step;
  paused.kind = command.kind;
  paused.metadata = command.metadata.empty() ? Payload() : redact(command.metadata);
  paused.paused_at = now;
  paused.reason = command.reason;
  paused.deadline = command.deadline;
  facts.emplace_back(std::move(paused));
  return facts;
}

Result<RunFacts> decide_resolve(const RunProjection& run, const ResolveStep& command, TimeMs now) {
  HOLDFAST_CHECK(check_started(run));
  HOLDFAST_TRY(const bool recorded, is_recorded(run, command));
  RunFacts facts;
  if (recorded) {
    return facts;
  }
  HOLDFAST_CHECK(check_waiting(run, command));
  const ManualState& state = *run.manual_state();
  const Routes routes = routes_of(state.metadata);
  facts.emplace_back(
      receipt(run.run_id(), signal_of(command.action), command.source, naming(state.step)));
  ManualStepResolved resolved;
  resolved.run_id = run.run_id();
  resolved.step = state.step;
  resolved.action = command.action;
  resolved.result = result_of(command, state, routes, now);
  resolved.metadata = audit(command, now);
  const Payload result = resolved.result;
  facts.emplace_back(std::move(resolved));
  add_target(facts, run, {state.step, result, now}, target_of(command.action, routes),
             terminal_error("rejected", fmt::format("step {} was rejected", state.step.view()),
                            state.step.view()));
  return facts;
}

}  // namespace holdfast
