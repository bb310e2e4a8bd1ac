// Commands on runs. Each is a pure function from what is known, the command and the time to the
// facts to append to the run thread, in order, or a refusal. An empty list means: it was done
// before, there is nothing to append.
//
// What is returned is accepted by the projection, one fact after the other.
#pragma once

#include <optional>
#include <vector>

#include "base/result.h"
#include "dispatch/attempt.h"
#include "workflow/run_projection.h"

namespace holdfast {

using RunFacts = std::vector<RunFact>;

// Who gave a command, and under which key it counts once.
struct CommandSource {
  SharedText source;
  SharedText signal_id;
  SharedText idempotency_key;
  SharedText actor;
  SharedText comment;
  Payload metadata;  // secrets in it are redacted before it is stored
  Payload trace;
};

struct StartRun {
  RunId run_id;
  std::shared_ptr<const Definition> definition;
  SharedText queue;    // empty: the default
  SharedText trigger;  // empty: manual
  Payload input;       // an object; empty: {}
  Payload context;
  Payload search_attributes;
  CommandSource source;
  RunId replayed_from;                             // empty: it is no replay
  std::optional<RunContinuedFrom> continued_from;  // of the successor of another run
};
// [run_signal_received, run_started, run_continued_from of a successor, runnables_planned].
// Empty when the same run was started before: same workflow, definition, trigger and input.
// run_exists when another run has the id. invalid_argument when the input is no object, or the
// queue or a search attribute is not valid.
Result<RunFacts> decide_start(const RunProjection& run, const StartRun& command, TimeMs now);

// A completed attempt becomes part of the run: [runnable_applied, then runnables_planned for the
// steps it was the last dependency of, or run_terminal(completed) when all steps are done].
// execution_opts.schedule_in_ms delays what follows; execution_opts.defer {reason,
// schedule_in_ms} plans the same step again (key <key>:deferred, then <key>:deferred:2, ...; same
// attempt number), which sees what it said.
// Empty when it was applied before. terminal_run, unknown_runnable_intent, result_not_completed,
// wrong_run. The run must have its definition attached.
Result<RunFacts> decide_apply(const RunProjection& run, const Attempt& attempt, TimeMs now);

// Says whether a failed attempt is tried again, and when: retry_after_ms if the step said so,
// else the policy of its step. Empty: no more attempts.
struct Failure {
  Payload error;  // an object with code, message, retryable
  bool retryable = true;
  std::optional<std::uint64_t> retry_after_ms;
};
struct PlannedRetry {
  SharedText runnable_key;
  TimeMs visible_at;
};
std::optional<PlannedRetry> plan_retry(const RunProjection& run, const Attempt& attempt,
                                       const Failure& failure, TimeMs now);

// The run's part of a failed attempt: [runnables_planned for the retry], or
// [run_terminal(failed)] when there is none. `retry` must be what the attempt_failed fact says.
// Empty when the run has gone on already, or ended. unknown_runnable_intent, wrong_run.
Result<RunFacts> decide_after_failure(const RunProjection& run, const Attempt& attempt,
                                      const Payload& error,
                                      const std::optional<PlannedRetry>& retry, TimeMs now);

// [run_signal_received, run_terminal(cancelled)]. Empty when the run was cancelled before.
// invalid_transition when it ended otherwise; run_not_found when it was never started.
Result<RunFacts> decide_cancel(const RunProjection& run, const CommandSource& source, TimeMs now);

// Where a run goes once a wait for somebody is over.
inline constexpr std::string_view kNextTarget = "__next__";          // to the dependents
inline constexpr std::string_view kCompleteTarget = "__complete__";  // the run is completed
inline constexpr std::string_view kFailTarget = "__fail__";          // the run has failed

// An applied attempt opens a manual boundary: [runnable_applied, manual_step_paused].
// Empty when the attempt was applied before. active_manual_step when the run waits already;
// invalid_argument when the metadata names an unknown target; else as decide_apply.
struct PauseStep {
  ManualKind kind = ManualKind::pause;
  SharedText reason;
  // An object. Of a pause: "output", an object that joins the context when it is resumed, and
  // "target". Of an approval: "output_key" for the decision (the step's name when there is none),
  // "ok_target" and "error_target". Targets are __next__ unless given, but error_target __fail__.
  Payload metadata;
  Payload deadline;
};
Result<RunFacts> decide_pause(const RunProjection& run, const Attempt& attempt,
                              const PauseStep& command, TimeMs now);

// [run_signal_received, manual_step_resolved, then what follows the step]. resumed fits a pause,
// approved and rejected an approval; rejected without an error route fails the run. An approval
// adds {decision, actor, decided_at, comment, metadata} to the context.
// Empty when the same resolution is recorded. invalid_transition, stale_manual_resolution,
// terminal_run, idempotency_conflict; invalid_argument when an approval names no actor.
struct ResolveStep {
  ManualAction action = ManualAction::resumed;
  SharedText step;  // empty: whatever the run waits at
  CommandSource source;
};
Result<RunFacts> decide_resolve(const RunProjection& run, const ResolveStep& command, TimeMs now);

// The parent's part of starting a child: [child_run_started]. The child's id is derived from
// parent, step, child workflow, trigger and key, so a repeated start finds the same child.
// Empty when it was started before with the same content, by whichever attempt at the step and
// whatever the definition was then. terminal_run, invalid_parent_context (the origin is not the
// newest, unapplied runnable of its step), conflicting_child_run; invalid_argument when there is
// no key, the key or the queue is not valid, or input or metadata are no objects.
struct StartChild {
  Origin origin;
  std::shared_ptr<const Definition> definition;
  SharedText child_key;
  SharedText trigger;  // empty: child
  SharedText queue;
  Payload input;
  Payload metadata;
};
RunId child_run_id(const RunId& parent, const StartChild& command);
Result<RunFacts> decide_start_child(const RunProjection& parent, const StartChild& command,
                                    TimeMs now);
// The command that starts the child a parent's fact names; its context says who the parent is.
StartRun start_of_child(const ChildRunStarted& link, std::shared_ptr<const Definition> definition);

// Event waits; a run has at most one that is open.
// open: [runnable_applied, external_event_wait_opened, runnables_planned of the timer]. The timer
// is no work for a handler: its attempt becomes due, then decide_wait_timeout is to be called.
// Empty when the attempt was applied before. active_manual_step, invalid_argument; else as
// decide_apply.
inline constexpr std::string_view kTimerHandler = "__timer__";
struct OpenWait {
  SharedText event;        // 1 to 255 bytes
  SharedText correlation;  // 1 to 1024 bytes
  std::optional<std::uint64_t> timeout_ms;
  SharedText timeout_target;  // see above; empty: __next__
};
Result<RunFacts> decide_open_wait(const RunProjection& run, const Attempt& attempt,
                                  const OpenWait& command, TimeMs now);
// [run_signal_received, external_event_received, external_event_wait_resolved, runnable_applied
// of the timer, what follows]. The payload joins the context. Empty when the same event was
// received before. event_wait_not_found, idempotency_conflict, terminal_run; invalid_argument
// when there is no idempotency key or the payload is no object of at most 1 MiB.
struct SendEvent {
  SharedText event;
  SharedText correlation;
  Payload payload;  // empty: {}
  CommandSource source;
};
Result<RunFacts> decide_receive_event(const RunProjection& run, const SendEvent& command,
                                      TimeMs now);
// [external_event_wait_timeout_selected, external_event_wait_resolved, runnable_applied of the
// timer, what follows]. {"timed_out":"<event>"} joins the context. Empty when the wait is over,
// by whatever. event_wait_not_found, terminal_run; invalid_transition before it is due.
Result<RunFacts> decide_wait_timeout(const RunProjection& run, std::string_view wait_id,
                                     TimeMs now);

// [search_attributes_updated]; also after the run ended. changes: an object, null removes a key;
// workflow/search_attributes.h has the limits. Empty when the same update was made under the key.
// run_not_found, idempotency_conflict; invalid_argument also without an idempotency key.
Result<RunFacts> decide_update_attributes(const RunProjection& run, const Payload& changes,
                                          const SharedText& idempotency_key, TimeMs now);

// Only after the run ended: invalid_transition otherwise. Empty when it is as asked already.
// The reason has 1 to 256 bytes, else invalid_argument.
Result<RunFacts> decide_archive(const RunProjection& run, const SharedText& reason, TimeMs now);
Result<RunFacts> decide_unarchive(const RunProjection& run, TimeMs now);

// The predecessor's part of continuing as a new run: [run_continuation_requested,
// run_terminal(continued)]. Steps that were never planned are given up. Empty when it was asked
// for before in the same way. unsafe_continuation when runnables are open, the run is paused or
// has anomalies; conflicting_continuation, terminal_run, run_not_found, invalid_argument.
struct ContinueRun {
  SharedText continuation_key;
  Payload input;  // an object; empty: {}
};
RunId successor_run_id(const RunId& run, std::string_view continuation_key);
Result<RunFacts> decide_continue(const RunProjection& run, const ContinueRun& command, TimeMs now);
// The same as the result of a step, the only one that is open: with [runnable_applied] first.
Result<RunFacts> decide_continue(const RunProjection& run, const Attempt& attempt,
                                 const ContinueRun& command, TimeMs now);
// The command that starts the run which a predecessor's fact names; queue: the predecessor's.
StartRun start_of_successor(const RunContinuationRequested& request, const SharedText& queue,
                            std::shared_ptr<const Definition> definition);

// Adds nodes to the graph of a run and edges between them, or takes them away again:
// [dynamic_graph_mutated, runnables_planned for nodes without open predecessors]. A node is
// carried out like a step, with its own input, or with the context when it has none. An edge
// leads from a step or node to a node that is not planned yet. The run ends when its steps and
// all nodes are done. Empty when the same mutation was made before.
// invalid_graph_mutation: the fields "field" and "reason" say which operation is not allowed and
// why. terminal_run, run_not_found.
inline constexpr std::size_t kMaxGraphOperations = 256;  // in one mutation
inline constexpr std::size_t kMaxGraphItems = 4096;      // active nodes and edges of a run
struct MutateGraph {
  SharedText mutation_id;
  std::uint64_t expected_version = 0;
  Origin origin;  // a runnable of the run, applied or not
  std::vector<GraphAddition> additions;
  std::vector<GraphRemoval> removals;
};
Result<RunFacts> decide_mutate_graph(const RunProjection& run, const MutateGraph& command,
                                     TimeMs now);

// The attempt a planned runnable asks its queue for.
AttemptScheduled intent_of(const Runnable& runnable, const SharedText& workflow);

}  // namespace holdfast
