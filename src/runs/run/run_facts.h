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

enum class SignalType : std::uint8_t {
  start_run,
  start_cron,
  replay_run,
  cancel_run,
  resume_run,
  approve_run,
  reject_run,
  signal_run,
  migrate_run,
};
template <>
inline constexpr std::string_view kEnumNames<SignalType>[] = {
    "start_run",   "start_cron", "replay_run", "cancel_run", "resume_run",
    "approve_run", "reject_run", "signal_run", "migrate_run"};

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

  template <typename Self, typename Visitor>
  static void visit(Self& self, Visitor& v) {
    v.required("run_id", self.run_id);
    v.required("signal_type", self.signal_type);
    v.required("payload", self.payload);
    v.required("metadata", self.metadata);
    v.optional("source", self.source);
    v.optional("signal_id", self.signal_id);
    v.optional("idempotency_key", self.idempotency_key);
    v.optional("actor", self.actor);
    v.optional("comment", self.comment);
    v.optional("trace", self.trace);
  }
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

  template <typename Self, typename Visitor>
  static void visit(Self& self, Visitor& v) {
    v.required("run_id", self.run_id);
    v.required("workflow", self.workflow);
    v.optional("queue", self.queue);
    v.optional("trigger", self.trigger);
    v.optional("input", self.input);
    v.optional("context", self.context);
    v.optional("replayed_from_run_id", self.replayed_from_run_id);
    v.optional("definition_version", self.definition_version);
    v.optional("definition_fingerprint", self.definition_fingerprint);
    v.optional("definition_source", self.definition_source);
    v.optional("definition_spec", self.definition_spec);
    v.optional("search_attributes", self.search_attributes);
    v.optional("trace", self.trace);
  }
  friend bool operator==(const RunStarted&, const RunStarted&) = default;
};

// Why a runnable replaces another one of the same step.
struct Deferred {
  SharedText reason;
  SharedText from_runnable_key;
  TimeMs deferred_at;

  template <typename Self, typename Visitor>
  static void visit(Self& self, Visitor& v) {
    v.optional("reason", self.reason);
    v.required("from_runnable_key", self.from_runnable_key);
    v.required("deferred_at", self.deferred_at);
  }
  friend bool operator==(const Deferred&, const Deferred&) = default;
};

// The graph mutation that intended the node a runnable executes.
struct GraphIntent {
  SharedText mutation_id;
  SharedText node_id;
  SharedText intent_fingerprint;

  template <typename Self, typename Visitor>
  static void visit(Self& self, Visitor& v) {
    v.required("mutation_id", self.mutation_id);
    v.required("node_id", self.node_id);
    v.required("intent_fingerprint", self.intent_fingerprint);
  }
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

  template <typename Self, typename Visitor>
  static void visit(Self& self, Visitor& v) {
    v.required("run_id", self.run_id);
    v.required("runnables", self.runnables);
  }
  friend bool operator==(const RunnablesPlanned&, const RunnablesPlanned&) = default;
};

// How a step ended whose transition was taken.
enum class RouteOn : std::uint8_t { ok, error, timeout };
template <>
inline constexpr std::string_view kEnumNames<RouteOn>[] = {"ok", "error", "timeout"};

// The transition that was taken. Recorded, so that no condition is ever evaluated again.
struct TransitionTaken {
  SharedText from;
  RouteOn on = RouteOn::ok;
  SharedText to;
  Payload when;
  std::optional<RecoveryLabel> recovery;

  template <typename Self, typename Visitor>
  static void visit(Self& self, Visitor& v) {
    v.required("from", self.from);
    v.required("on", self.on);
    v.required("to", self.to);
    v.optional("when", self.when);
    v.optional("recovery", self.recovery);
  }
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

  template <typename Self, typename Visitor>
  static void visit(Self& self, Visitor& v) {
    v.required("run_id", self.run_id);
    v.required("runnable_key", self.runnable_key);
    v.optional("result", self.result);
    v.optional("output_key", self.output_key);
    v.optional("transition", self.transition);
    v.optional("applied_at", self.applied_at);
    v.optional("execution_opts", self.execution_opts);
    v.optional("trace", self.trace);
  }
  friend bool operator==(const RunnableApplied&, const RunnableApplied&) = default;
};

// The step that caused something.
struct Origin {
  SharedText runnable_key;
  SharedText step;
  std::uint32_t attempt = 0;

  template <typename Self, typename Visitor>
  static void visit(Self& self, Visitor& v) {
    v.required("runnable_key", self.runnable_key);
    v.required("step", self.step);
    v.required("attempt", self.attempt);
  }
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

  template <typename Self, typename Visitor>
  static void visit(Self& self, Visitor& v) {
    v.required("run_id", self.run_id);
    v.required("child_run_id", self.child_run_id);
    v.required("child_workflow", self.child_workflow);
    v.required("child_trigger", self.child_trigger);
    v.required("child_key", self.child_key);
    v.required("origin", self.origin);
    v.optional("input", self.input);
    v.optional("child_definition_fingerprint", self.child_definition_fingerprint);
    v.optional("child_queue", self.child_queue);
    v.optional("awaited", self.awaited);
    v.optional("on_parent_close", self.on_parent_close);
    v.optional("metadata", self.metadata);
    v.optional("started_at", self.started_at);
    v.optional("trace", self.trace);
  }
  friend bool operator==(const ChildRunStarted&, const ChildRunStarted&) = default;
};

enum class ManualKind : std::uint8_t { pause, approval };
template <>
inline constexpr std::string_view kEnumNames<ManualKind>[] = {"pause", "approval"};

struct ManualStepPaused {
  static constexpr std::string_view kKind = "manual_step_paused";
  RunId run_id;
  SharedText step;
  ManualKind kind = ManualKind::pause;
  Payload metadata;
  std::optional<TimeMs> paused_at;
  SharedText reason;
  Payload deadline;
  Payload trace;

  template <typename Self, typename Visitor>
  static void visit(Self& self, Visitor& v) {
    v.required("run_id", self.run_id);
    v.required("step", self.step);
    v.required("kind", self.kind);
    v.optional("metadata", self.metadata);
    v.optional("paused_at", self.paused_at);
    v.optional("reason", self.reason);
    v.optional("deadline", self.deadline);
    v.optional("trace", self.trace);
  }
  friend bool operator==(const ManualStepPaused&, const ManualStepPaused&) = default;
};

enum class ManualAction : std::uint8_t { resumed, approved, rejected };
template <>
inline constexpr std::string_view kEnumNames<ManualAction>[] = {"resumed", "approved", "rejected"};

struct ManualStepResolved {
  static constexpr std::string_view kKind = "manual_step_resolved";
  RunId run_id;
  SharedText step;
  ManualAction action = ManualAction::resumed;
  Payload result;
  Payload metadata;
  Payload trace;

  template <typename Self, typename Visitor>
  static void visit(Self& self, Visitor& v) {
    v.required("run_id", self.run_id);
    v.required("step", self.step);
    v.required("action", self.action);
    v.optional("result", self.result);
    v.optional("metadata", self.metadata);
    v.optional("trace", self.trace);
  }
  friend bool operator==(const ManualStepResolved&, const ManualStepResolved&) = default;
};

enum class TerminalStatus : std::uint8_t { completed, failed, cancelled, continued };
template <>
inline constexpr std::string_view kEnumNames<TerminalStatus>[] = {"completed", "failed",
                                                                  "cancelled", "continued"};

struct RunTerminal {
  static constexpr std::string_view kKind = "run_terminal";
  RunId run_id;
  TerminalStatus status = TerminalStatus::completed;
  Payload error;
  Payload result;  // by the output mapping of the definition; empty: the context
  Payload trace;

  template <typename Self, typename Visitor>
  static void visit(Self& self, Visitor& v) {
    v.required("run_id", self.run_id);
    v.required("status", self.status);
    v.optional("error", self.error);
    v.optional("result", self.result);
    v.optional("trace", self.trace);
  }
  friend bool operator==(const RunTerminal&, const RunTerminal&) = default;
};

}  // namespace holdfast
