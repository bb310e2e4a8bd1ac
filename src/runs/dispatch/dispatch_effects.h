// What a dispatch fact means outside its own projection: the one place that says which facts add
// attempts to a queue, end attempts, or hold payloads. Everything that follows dispatch facts
// (live state, wakeups, counters) derives a sink from DispatchEffects and hides the functions it
// needs; calls are static. A new kind of fact does not compile until visit_effects handles it.
//
// A fact that the projection refused (an anomaly) has no effects: do not visit it.
#pragma once

#include <variant>

#include "runs/dispatch/dispatch_facts.h"

namespace holdfast {

struct DispatchEffects {
  // The queue has a record of the run from now on.
  void run_known(const RunId& /*run*/) {}
  // There is a new attempt under this key: scheduled, or the retry of a failed one.
  void attempt_added(const SharedText& /*runnable_key*/) {}
  void scheduled(const AttemptScheduled& /*fact*/) {}
  void claimed(const AttemptClaimed& /*fact*/) {}
  void heartbeat(const AttemptHeartbeat& /*fact*/) {}
  void completed(const AttemptCompleted& /*fact*/) {}
  void failed(const AttemptFailed& /*fact*/) {}
  // Attempts that waited behind a circuit breaker can be claimed.
  void circuit_closed() {}
};

template <typename Sink>
struct DispatchEffectVisitor {
  Sink& sink;

  void operator()(const RunQueued& fact) const { sink.run_known(fact.run_id); }
  void operator()(const AttemptScheduled& fact) const {
    sink.run_known(fact.run_id);
    sink.attempt_added(fact.runnable_key);
    sink.scheduled(fact);
  }
  void operator()(const AttemptClaimed& fact) const { sink.claimed(fact); }
  void operator()(const AttemptHeartbeat& fact) const { sink.heartbeat(fact); }
  void operator()(const AttemptCompleted& fact) const { sink.completed(fact); }
  void operator()(const AttemptFailed& fact) const {
    if (!fact.retry_runnable_key.empty()) {
      sink.attempt_added(fact.retry_runnable_key);
    }
    sink.failed(fact);
  }
  void operator()(const LiveWakeupEmitted& /*fact*/) const {}
  void operator()(const CircuitOpened& /*fact*/) const {}
  void operator()(const CircuitProbed& /*fact*/) const {}
  void operator()(const CircuitClosed& /*fact*/) const { sink.circuit_closed(); }
  void operator()(const CircuitReset& /*fact*/) const { sink.circuit_closed(); }
};

template <typename Sink>
void visit_effects(const DispatchFact& fact, Sink& sink) {
  std::visit(DispatchEffectVisitor<Sink>{sink}, fact);
}

}  // namespace holdfast
