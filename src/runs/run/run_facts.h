// The facts of a run thread: what happened to one run. One struct per entry kind;
// docs/protocol.md shows the JSON form of each. The time of a fact is in the entry.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <variant>
#include <vector>

#include "base/fields.h"
#include "runs/facts/ids.h"
#include "runs/language/definition/spec.h"
#include "storage/entry/entry.h"

namespace holdfast {

HOLDFAST_ENUM(SignalType, start_run, start_cron, replay_run, cancel_run, resume_run, approve_run,
              reject_run, signal_run, migrate_run, mutate_graph, retry_step, discard_step);

// The receipt of a command: written before, and together with, the facts it causes.
struct RunSignalReceived {
  static constexpr std::string_view kKind = "run_signal_received";
  RunId run_id;
  SignalType signal_type = SignalType::start_run;
  Payload payload;
  Payload metadata;
  SharedText source;
  SharedText signal_id;
  SharedText idempotency_key;
  SharedText actor;
  SharedText comment;
  Payload trace;

  HOLDFAST_FIELDS(required(run_id), required(signal_type), required(payload), required(metadata),
                  optional(source), optional(signal_id), optional(idempotency_key), optional(actor),
                  optional(comment), optional(trace));
  friend bool operator==(const RunSignalReceived&, const RunSignalReceived&) = default;
};

struct RunStarted {
  static constexpr std::string_view kKind = "run_started";
  RunId run_id;
  SharedText workflow;
  SharedText queue;  // where its steps go that name no queue; empty: the default
  SharedText trigger;
  Payload input;
  Payload context;  // known to the run beside its input: its parent, its schedule
  RunId replayed_from_run_id;
  SharedText definition_version;
  SharedText definition_fingerprint;
  SharedText definition_source;
  Payload definition_spec;
  Payload search_attributes;
  Payload trace;

  HOLDFAST_FIELDS(required(run_id), required(workflow), optional(queue), optional(trigger),
                  optional(input), optional(context), optional(replayed_from_run_id),
                  optional(definition_version), optional(definition_fingerprint),
                  optional(definition_source), optional(definition_spec),
                  optional(search_attributes), optional(trace));
  friend bool operator==(const RunStarted&, const RunStarted&) = default;
};

// Why a runnable replaces another one of the same step.
struct Deferred {
  SharedText reason;
  SharedText from_runnable_key;
  TimeMs deferred_at;

  HOLDFAST_FIELDS(optional(reason), required(from_runnable_key), required(deferred_at));
  friend bool operator==(const Deferred&, const Deferred&) = default;
};

// The graph mutation that intended the node a runnable executes.
struct GraphIntent {
  SharedText mutation_id;
  SharedText node_id;
  SharedText intent_fingerprint;

  HOLDFAST_FIELDS(required(mutation_id), required(node_id), required(intent_fingerprint));
  friend bool operator==(const GraphIntent&, const GraphIntent&) = default;
};

// The handler of steps that the engine executes itself, in the commit that plans them or later.
inline constexpr std::string_view kEngineHandler = "__engine__";

// One planned attempt at a step: the intent, before it is scheduled in a queue.
//
// `step` names what is attempted: a step (charge), its second and later visits (charge@2), an item
// of a for_each (charge[0], charge@2[0]), or the compensation of one of these
// (compensate:charge).
struct Runnable {
  RunId run_id;
  SharedText runnable_key;
  SharedText idempotency_key;
  std::uint32_t attempt_number = 0;
  std::uint32_t earlier_attempts = 0;  // before an operator retried it: they no longer count
  SharedText queue;
  SharedText step;
  Payload input;
  Payload recovery;
  TimeMs visible_at;
  SharedText handler;
  StepPolicy policy;
  SharedText path;  // the step that began the path this is on; empty: this step
  Payload timer;    // what happens at visible_at, when that is not the step itself
  std::optional<Deferred> deferred;
  std::optional<GraphIntent> graph_mutation;
  Payload event_wait_timeout;
  Payload dynamic_work;
  Payload deadline;
  Payload trace;

  // It does not execute its step: when it is due it ends a wait of the step, or the run.
  [[nodiscard]] bool is_timer() const { return !event_wait_timeout.empty() || !timer.empty(); }
  // The engine executes it; it is not scheduled in a queue.
  [[nodiscard]] bool is_internal() const { return handler.view() == kEngineHandler; }

  template <typename Self, typename Visitor>
  static void visit(Self& self, Visitor& v) {
    v.required("run_id", self.run_id);
    v.required("runnable_key", self.runnable_key);
    v.required("idempotency_key", self.idempotency_key);
    v.required("attempt_number", self.attempt_number);
    v.required("queue", self.queue);
    v.required("step", self.step);
    v.required("input", self.input);
    v.optional("recovery", self.recovery);
    v.optional("earlier_attempts", self.earlier_attempts);
    v.required("visible_at", self.visible_at);
    v.optional("handler", self.handler);
    StepPolicy::visit(self.policy, v);
    v.optional("path", self.path);
    v.optional("timer", self.timer);
    v.optional("deferred", self.deferred);
    v.optional("graph_mutation", self.graph_mutation);
    v.optional("event_wait_timeout", self.event_wait_timeout);
    v.optional("dynamic_work", self.dynamic_work);
    v.optional("deadline", self.deadline);
    v.optional("trace", self.trace);
  }
  friend bool operator==(const Runnable&, const Runnable&) = default;
};

// The first plan of a key wins.
struct RunnablesPlanned {
  static constexpr std::string_view kKind = "runnables_planned";
  RunId run_id;
  std::vector<Runnable> runnables;

  HOLDFAST_FIELDS(required(run_id), required(runnables));
  friend bool operator==(const RunnablesPlanned&, const RunnablesPlanned&) = default;
};

// How a step ended whose transition was taken.
HOLDFAST_ENUM(RouteOn, ok, error, timeout);

// Where a result leads that no transition fits: its path has not ended, and the run waits there.
inline constexpr std::string_view kNoTransition = "__none__";

// The transition that was taken. Recorded, so that no condition is ever evaluated again.
struct TransitionTaken {
  SharedText from;
  RouteOn on = RouteOn::ok;
  SharedText to;
  Payload when;
  std::optional<RecoveryLabel> recovery;

  HOLDFAST_FIELDS(required(from), required(on), required(to), optional(when), optional(recovery));
  friend bool operator==(const TransitionTaken&, const TransitionTaken&) = default;
};

// From RunnableApplied::transition. A step without one, or with one that cannot be read, ended
// well and leads nowhere.
TransitionTaken transition_of(const Payload& transition);

// A result became part of the run.
struct RunnableApplied {
  static constexpr std::string_view kKind = "runnable_applied";
  RunId run_id;
  SharedText runnable_key;
  Payload result;
  SharedText output_key;  // what the result is called in the context; empty: its members join it
  Payload transition;     // a TransitionTaken
  std::optional<TimeMs> applied_at;
  Payload execution_opts;
  Payload trace;

  HOLDFAST_FIELDS(required(run_id), required(runnable_key), optional(result), optional(output_key),
                  optional(transition), optional(applied_at), optional(execution_opts),
                  optional(trace));
  friend bool operator==(const RunnableApplied&, const RunnableApplied&) = default;
};

// The step that caused something.
struct Origin {
  SharedText runnable_key;
  SharedText step;
  std::uint32_t attempt = 0;

  HOLDFAST_FIELDS(required(runnable_key), required(step), required(attempt));
  friend bool operator==(const Origin&, const Origin&) = default;
};

// With `input` and `child_definition_fingerprint` the child can be started from this fact alone.
struct ChildRunStarted {
  static constexpr std::string_view kKind = "child_run_started";
  RunId run_id;
  RunId child_run_id;
  SharedText child_workflow;
  SharedText child_trigger;
  SharedText child_key;
  Origin origin;
  Payload input;
  SharedText child_definition_fingerprint;
  SharedText child_queue;
  bool awaited = false;        // the step waits for the end of the child
  SharedText on_parent_close;  // cancel or detach; empty: detach
  Payload metadata;
  std::optional<TimeMs> started_at;
  Payload trace;

  HOLDFAST_FIELDS(required(run_id), required(child_run_id), required(child_workflow),
                  required(child_trigger), required(child_key), required(origin), optional(input),
                  optional(child_definition_fingerprint), optional(child_queue), optional(awaited),
                  optional(on_parent_close), optional(metadata), optional(started_at),
                  optional(trace));
  friend bool operator==(const ChildRunStarted&, const ChildRunStarted&) = default;
};

// parked: the last attempt of the step has failed, and its policy says that the run waits; or the
// definition has a fault at the step.
HOLDFAST_ENUM(ManualKind, pause, approval, parked);

struct ManualStepPaused {
  static constexpr std::string_view kKind = "manual_step_paused";
  RunId run_id;
  SharedText step;
  ManualKind kind = ManualKind::pause;
  Payload metadata;
  std::optional<TimeMs> paused_at;
  SharedText reason;
  Payload deadline;
  SharedText runnable_key;  // of a parked step, the attempt that failed or was never made
  SharedText queue;         // of that attempt
  Payload error;            // likewise
  Payload trace;

  HOLDFAST_FIELDS(required(run_id), required(step), required(kind), optional(metadata),
                  optional(paused_at), optional(reason), optional(deadline), optional(runnable_key),
                  optional(queue), optional(error), optional(trace));
  friend bool operator==(const ManualStepPaused&, const ManualStepPaused&) = default;
};

// retried and discarded: of parked steps.
HOLDFAST_ENUM(ManualAction, resumed, approved, rejected, retried, discarded);

struct ManualStepResolved {
  static constexpr std::string_view kKind = "manual_step_resolved";
  RunId run_id;
  SharedText step;
  ManualAction action = ManualAction::resumed;
  Payload result;
  Payload transition;  // that the retry of a step took that was parked because none fitted
  Payload metadata;
  Payload trace;

  HOLDFAST_FIELDS(required(run_id), required(step), required(action), optional(result),
                  optional(transition), optional(metadata), optional(trace));
  friend bool operator==(const ManualStepResolved&, const ManualStepResolved&) = default;
};

HOLDFAST_ENUM(TerminalStatus, completed, failed, cancelled, continued);

// The attempt of a worker that failed the run: the last one of its step. It is a dead letter.
struct ExhaustedAttempt {
  SharedText runnable_key;
  SharedText step;  // with visit and item
  SharedText queue;

  HOLDFAST_FIELDS(required(runnable_key), required(step), required(queue));
  friend bool operator==(const ExhaustedAttempt&, const ExhaustedAttempt&) = default;
};

struct RunTerminal {
  static constexpr std::string_view kKind = "run_terminal";
  RunId run_id;
  TerminalStatus status = TerminalStatus::completed;
  Payload error;
  Payload result;  // by the output mapping of the definition; empty: the context
  Payload trace;
  std::optional<ExhaustedAttempt> exhausted;  // empty: no attempt failed the run

  HOLDFAST_FIELDS(required(run_id), required(status), optional(error), optional(result),
                  optional(trace), optional(exhausted));
  friend bool operator==(const RunTerminal&, const RunTerminal&) = default;
};

}  // namespace holdfast
