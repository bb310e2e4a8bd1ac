#include "runs/engine/turn.h"

#include "runs/dispatch/dispatch_effects.h"
#include "runs/facts/fact_codec.h"
#include "runs/run/run_effects.h"

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

// What facts of runs mean for callers and workers, once they are durable.
class Turn::NoteRunFact : public RunEffects {
 public:
  explicit NoteRunFact(Turn& turn) : turn_(turn), group_(turn.group_) {}

  void started(const RunStarted& /*fact*/) { ++group_.counts.started; }
  void ended(const RunTerminal& fact) {
    group_.ended.push_back(fact.run_id);
    ++group_.counts.ended;
  }
  void withdrawn(const RunnablesWithdrawn& fact) {
    group_.withdrawn.insert(group_.withdrawn.end(), fact.runnable_keys.begin(),
                            fact.runnable_keys.end());
  }
  void compensation_started(const CompensationStarted& fact) {
    group_.compensating.push_back(fact.run_id);
  }
  void planned(const RunnablesPlanned& fact) {
    for (const Runnable& runnable : fact.runnables) {
      const RunProjection& run = turn_.state_.runs().held(runnable.run_id);
      if (runnable.is_internal() && is_log_step(run, runnable)) {
        group_.lines.push_back(
            {runnable.run_id, run.started()->workflow, runnable.step, runnable.input, turn_.now_});
      }
    }
  }

 private:
  Turn& turn_;
  GroupFacts& group_;
};

// The same for facts of a queue.
class Turn::NoteDispatchFact : public DispatchEffects {
 public:
  NoteDispatchFact(Turn& turn, const SharedText& queue)
      : turn_(turn), counts_(turn.group_.counts), queue_(queue) {}

  void attempt_added(const SharedText& runnable_key) { turn_.note_wakeup(queue_, runnable_key); }
  void scheduled(const AttemptScheduled& /*fact*/) { ++counts_.scheduled; }
  void claimed(const AttemptClaimed& /*fact*/) { ++counts_.claimed; }
  void heartbeat(const AttemptHeartbeat& /*fact*/) { ++counts_.heartbeats; }
  void completed(const AttemptCompleted& /*fact*/) { ++counts_.completed; }
  void failed(const AttemptFailed& fact) {
    ++counts_.failed;
    counts_.retried += fact.retry_runnable_key.empty() ? 0U : 1U;
  }
  void circuit_closed() { ++counts_.circuits_closed; }

 private:
  Turn& turn_;
  FactCounts& counts_;
  const SharedText& queue_;
};

Result<void> Turn::record(const RunFact& fact) {
  const RunId id = std::visit([](const auto& known) { return known.run_id; }, fact);
  state_.note(now_, fact);
  NoteRunFact note(*this);
  visit_effects(fact, note);
  if (group_.runs.empty() || group_.runs.back() != id) {
    group_.runs.push_back(id);
  }
  return add(run_thread(id), fact);
}

Result<void> Turn::emit(const SharedText& queue, const DispatchFact& fact) {
  if (!state_.queues().evolve(queue, now_, fact)) {
    return broken_rule(state_.queues().get(queue).anomalies().back());
  }
  NoteDispatchFact note(*this, queue);
  visit_effects(fact, note);
  return add(dispatch_thread(queue.view()), fact);
}

void Turn::note_wakeup(const SharedText& queue, const SharedText& runnable_key) {
  const Attempt& attempt = *state_.queues().get(queue).find(runnable_key.view());
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
  if (state_.registry().knows_definition(definition.fingerprint())) {
    return {};
  }
  state_.registry().add_definition(definition.fingerprint());
  const DefinitionRegistered fact{definition.workflow(), definition.fingerprint(),
                                  definition.version(), definition.spec()};
  return add(definition_thread(definition.fingerprint().view()), fact);
}

Result<void> Turn::emit_registration(const Definition& definition, const SharedText& actor) {
  HOLDFAST_CHECK(emit_definition(definition));
  if (state_.registry().current(definition.workflow()) == definition.fingerprint()) {
    return {};
  }
  state_.registry().set_current(definition.workflow(), {definition.fingerprint(), now_});
  return add(workflow_thread(definition.workflow().view()),
             WorkflowRegistered{definition.workflow(), definition.fingerprint(),
                                definition.version(), actor});
}

Result<void> Turn::emit(const SchedulePaused& fact) {
  const SharedText name = schedule_name(fact.workflow.view(), fact.trigger.view());
  if (state_.registry().is_paused(name)) {
    return {};
  }
  state_.registry().set_schedule(name, {true, now_, fact.actor});
  return add(workflow_thread(fact.workflow.view()), fact);
}

Result<void> Turn::emit(const ScheduleResumed& fact) {
  const SharedText name = schedule_name(fact.workflow.view(), fact.trigger.view());
  if (!state_.registry().is_paused(name)) {
    return {};
  }
  state_.registry().set_schedule(name, {false, now_, fact.actor});
  return add(workflow_thread(fact.workflow.view()), fact);
}

Result<void> Turn::emit(const TokenCreated& fact) {
  state_.registry().tokens().evolve(&state_.undo(), now_, fact);
  return add(tokens_thread(), fact);
}

Result<void> Turn::emit(const TokenRevoked& fact) {
  state_.registry().tokens().evolve(&state_.undo(), now_, fact);
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
