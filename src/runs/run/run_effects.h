// What a fact of a run means outside the run's own projection: the one place that says which facts
// start or end a run, plan or close attempts, link children, or change what an operator sees.
// Everything that follows run facts (live state, stored runs, consequences, notifications, the
// simulator's audit) derives a sink from RunEffects and hides the functions it needs; calls are
// static. A new kind of fact does not compile until visit_effects handles it.
#pragma once

#include <variant>

#include "runs/dispatch/dispatch_projection.h"
#include "runs/run/run_fact.h"

namespace holdfast {

struct RunEffects {
  void started(const RunStarted& /*fact*/) {}
  // Attempts that queues will hold (steps of workers, timers), and steps of the engine itself.
  void planned(const RunnablesPlanned& /*fact*/) {}
  // The run expects nothing of the attempt any more: its result was applied, or it was withdrawn.
  void attempt_closed(const ResultApplied& /*closed*/) {}
  void applied(const RunnableApplied& /*fact*/) {}
  void withdrawn(const RunnablesWithdrawn& /*fact*/) {}
  void child_linked(const ChildRunStarted& /*fact*/) {}
  void manual_wait_opened(const ManualStepPaused& /*fact*/) {}
  void manual_wait_closed(const ManualStepResolved& /*fact*/) {}
  void compensation_started(const CompensationStarted& /*fact*/) {}
  void continuation_requested(const RunContinuationRequested& /*fact*/) {}
  // Nothing of the run can be claimed or reported any more.
  void ended(const RunTerminal& /*fact*/) {}
  // Of a run that has ended.
  void dead_letter_resolved(const DeadLetterResolved& /*fact*/) {}
};

template <typename Sink>
struct RunEffectVisitor {
  Sink& sink;

  void operator()(const RunStarted& fact) const { sink.started(fact); }
  void operator()(const RunnablesPlanned& fact) const { sink.planned(fact); }
  void operator()(const RunnableApplied& fact) const {
    sink.attempt_closed(
        ResultApplied{fact.run_id, fact.runnable_key, !fact.transition.empty(), false});
    sink.applied(fact);
  }
  void operator()(const RunnablesWithdrawn& fact) const {
    for (const SharedText& key : fact.runnable_keys) {
      sink.attempt_closed(ResultApplied{fact.run_id, key, false, true});
    }
    sink.withdrawn(fact);
  }
  void operator()(const ChildRunStarted& fact) const { sink.child_linked(fact); }
  void operator()(const ManualStepPaused& fact) const { sink.manual_wait_opened(fact); }
  void operator()(const ManualStepResolved& fact) const { sink.manual_wait_closed(fact); }
  void operator()(const CompensationStarted& fact) const { sink.compensation_started(fact); }
  void operator()(const RunContinuationRequested& fact) const { sink.continuation_requested(fact); }
  void operator()(const RunTerminal& fact) const { sink.ended(fact); }
  void operator()(const DeadLetterResolved& fact) const { sink.dead_letter_resolved(fact); }
  // These change the run alone.
  void operator()(const RunSignalReceived& /*fact*/) const {}
  void operator()(const DynamicGraphMutated& /*fact*/) const {}
  void operator()(const RunContinuedFrom& /*fact*/) const {}
  void operator()(const ExternalEventWaitOpened& /*fact*/) const {}
  void operator()(const ExternalEventReceived& /*fact*/) const {}
  void operator()(const ExternalEventWaitTimeoutSelected& /*fact*/) const {}
  void operator()(const ExternalEventWaitResolved& /*fact*/) const {}
  void operator()(const ExternalEventBuffered& /*fact*/) const {}
  void operator()(const SearchAttributesUpdated& /*fact*/) const {}
  void operator()(const RunDefinitionMigrated& /*fact*/) const {}
  void operator()(const RunArchived& /*fact*/) const {}
  void operator()(const RunUnarchived& /*fact*/) const {}
  void operator()(const StepsAdopted& /*fact*/) const {}
};

template <typename Sink>
void visit_effects(const RunFact& fact, Sink& sink) {
  std::visit(RunEffectVisitor<Sink>{sink}, fact);
}

// Takes a closed attempt into the queue that holds it; other queues do not change. An attempt that
// had ended stays as it ended when its run withdraws it.
inline void close_attempt(DispatchProjection& queue, TimeMs at, const ResultApplied& closed) {
  const Attempt* attempt = queue.find(closed.runnable_key.view());
  if (attempt != nullptr && !(closed.withdrawn && attempt->ended())) {
    queue.evolve(at, closed);
  }
}

}  // namespace holdfast
