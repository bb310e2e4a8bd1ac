#include "runs/engine/turn.h"

#include "runs/facts/fact_codec.h"
#include "runs/run/run_fact.h"

namespace holdfast {

namespace {

// A rule that decide did not know of. Nothing of it is written.
Error broken_rule(const Anomaly& anomaly) {
  return Error{ErrorCode::invalid_transition, "the fact " + anomaly.entry_type.str() +
                                                  " would break the rule " + anomaly.reason.str()}
      .with("reason", anomaly.reason.view())
      .with("run_id", to_string(anomaly.run_id));
}

bool is_log_step(const RunProjection& run, const Runnable& runnable) {
  const auto index =
      run.definition() == nullptr ? std::nullopt : run.definition()->find(runnable.step.view());
  return index.has_value() && run.definition()->steps()[*index].kind == StepKind::log;
}

}  // namespace

template <typename Fact>
Result<void> Turn::add(const ThreadId& thread, const Fact& fact) {
  std::string_view kind;
  if constexpr (requires { Fact::kKind; }) {
    kind = Fact::kKind;
  } else {
    kind = fact_kind(fact);
  }
  return group_.commit.add(thread, kind, now_,
                           [&](std::string& out) { return append_fact(out, fact); });
}

Result<void> Turn::record(const RunFact& fact) {
  const RunId id = std::visit([](const auto& known) { return known.run_id; }, fact);
  state_.note(now_, fact);
  note_effects(fact);
  if (group_.runs.empty() || group_.runs.back() != id) {
    group_.runs.push_back(id);
  }
  return add(run_thread(id), fact);
}

void Turn::note_effects(const RunFact& fact) {
  if (const auto* terminal = std::get_if<RunTerminal>(&fact)) {
    group_.ended.push_back(terminal->run_id);
    ++group_.counts.ended;
  } else if (std::holds_alternative<RunStarted>(fact)) {
    ++group_.counts.started;
  } else if (const auto* withdrawn = std::get_if<RunnablesWithdrawn>(&fact)) {
    group_.withdrawn.insert(group_.withdrawn.end(), withdrawn->runnable_keys.begin(),
                            withdrawn->runnable_keys.end());
  } else if (const auto* compensation = std::get_if<CompensationStarted>(&fact)) {
    group_.compensating.push_back(compensation->run_id);
  } else if (const auto* planned = std::get_if<RunnablesPlanned>(&fact)) {
    for (const Runnable& runnable : planned->runnables) {
      const RunProjection& run = state_.held(runnable.run_id);
      if (runnable.is_internal() && is_log_step(run, runnable)) {
        group_.lines.push_back(
            {runnable.run_id, run.started()->workflow, runnable.step, runnable.input, now_});
      }
    }
  }
}

void Turn::count(const DispatchFact& fact) {
  FactCounts& counts = group_.counts;
  if (std::holds_alternative<AttemptScheduled>(fact)) {
    ++counts.scheduled;
  } else if (std::holds_alternative<AttemptClaimed>(fact)) {
    ++counts.claimed;
  } else if (std::holds_alternative<AttemptHeartbeat>(fact)) {
    ++counts.heartbeats;
  } else if (std::holds_alternative<AttemptCompleted>(fact)) {
    ++counts.completed;
  } else if (const auto* failed = std::get_if<AttemptFailed>(&fact)) {
    ++counts.failed;
    counts.retried += failed->retry_runnable_key.empty() ? 0U : 1U;
  }
}

Result<void> Turn::emit(const SharedText& queue, const DispatchFact& fact) {
  DispatchProjection& known = state_.queue(queue);
  const std::size_t anomalies = known.anomalies().size();
  state_.evolve(queue, now_, fact);
  if (known.anomalies().size() != anomalies) {
    return broken_rule(known.anomalies().back());
  }
  if (const auto* scheduled = std::get_if<AttemptScheduled>(&fact)) {
    note_wakeup(queue, scheduled->runnable_key);
  } else if (const auto* failed = std::get_if<AttemptFailed>(&fact);
             failed != nullptr && !failed->retry_runnable_key.empty()) {
    note_wakeup(queue, failed->retry_runnable_key);
  }
  count(fact);
  return add(dispatch_thread(queue.view()), fact);
}

void Turn::note_wakeup(const SharedText& queue, const SharedText& runnable_key) {
  const Attempt& attempt = *state_.queue(queue).find(runnable_key.view());
  group_.wakeups.push_back(
      {attempt.run_id, runnable_key, queue, attempt.handler, attempt.visible_at});
}

Result<void> Turn::emit_listing(const RunIndexed& indexed, const RunCataloged& cataloged) {
  HOLDFAST_CHECK(add(index_thread(indexed.workflow.view()), indexed));
  HOLDFAST_CHECK(add(catalog_thread(), cataloged));
  group_.listed.push_back({indexed, now_, group_.commit.mark().parts - 2});
  return {};
}

Result<void> Turn::emit_definition(const Definition& definition) {
  if (state_.knows_definition(definition.fingerprint())) {
    return {};
  }
  state_.note_definition(definition.fingerprint());
  const DefinitionRegistered fact{definition.workflow(), definition.fingerprint(),
                                  definition.version(), definition.spec()};
  return add(definition_thread(definition.fingerprint().view()), fact);
}

Result<void> Turn::emit_registration(const Definition& definition, const SharedText& actor) {
  HOLDFAST_CHECK(emit_definition(definition));
  if (state_.current_workflow(definition.workflow()) == definition.fingerprint()) {
    return {};
  }
  state_.set_current_workflow(definition.workflow(), {definition.fingerprint(), now_});
  return add(workflow_thread(definition.workflow().view()),
             WorkflowRegistered{definition.workflow(), definition.fingerprint(),
                                definition.version(), actor});
}

namespace {

bool is_paused(const LiveState& state, const SharedText& name) {
  const auto known = state.schedules().find(name);
  return known != state.schedules().end() && known->second.paused;
}

}  // namespace

Result<void> Turn::emit(const SchedulePaused& fact) {
  const SharedText name = schedule_name(fact.workflow.view(), fact.trigger.view());
  if (is_paused(state_, name)) {
    return {};
  }
  state_.set_schedule(name, {true, now_, fact.actor});
  return add(workflow_thread(fact.workflow.view()), fact);
}

Result<void> Turn::emit(const ScheduleResumed& fact) {
  const SharedText name = schedule_name(fact.workflow.view(), fact.trigger.view());
  if (!is_paused(state_, name)) {
    return {};
  }
  state_.set_schedule(name, {false, now_, fact.actor});
  return add(workflow_thread(fact.workflow.view()), fact);
}

Result<void> Turn::emit(const TokenCreated& fact) {
  state_.tokens().evolve(&state_.undo(), now_, fact);
  return add(tokens_thread(), fact);
}

Result<void> Turn::emit(const TokenRevoked& fact) {
  state_.tokens().evolve(&state_.undo(), now_, fact);
  return add(tokens_thread(), fact);
}

Turn::Mark Turn::mark() const {
  return Mark{state_.undo().mark(),       group_.commit.mark(),
              group_.ended.size(),        group_.wakeups.size(),
              group_.lines.size(),        group_.withdrawn.size(),
              group_.compensating.size(), group_.runs.size(),
              group_.listed.size(),       group_.counts};
}

void Turn::roll_back_to(const Mark& mark) {
  state_.undo().roll_back_to(mark.undo);
  group_.commit.truncate(mark.commit);
  group_.ended.resize(mark.ended);
  group_.wakeups.resize(mark.wakeups);
  group_.lines.resize(mark.lines);
  group_.withdrawn.resize(mark.withdrawn);
  group_.compensating.resize(mark.compensating);
  group_.runs.resize(mark.runs);
  group_.listed.resize(mark.listed);
  group_.counts = mark.counts;
}

}  // namespace holdfast
