// Commands on runs. Each is a pure function from what is known, the command and the time to the
// facts to append to the run thread, in order, or a refusal. An empty list means that it was
// done before and there is nothing to append.
//
// The projection has already folded the returned facts, one after the other, because each decides
// about the next. After a refusal the caller must undo the changes to the projection.
#pragma once

#include <optional>
#include <vector>

#include "holdfast/result.h"
#include "runs/dispatch/attempt.h"
#include "runs/facts/attempt_outcome.h"
#include "runs/run/run_projection.h"

namespace holdfast {

using RunFacts = std::vector<RunFact>;

// What a decision needs to know beside the run.
class Surroundings {
 public:
  Surroundings() = default;
  Surroundings(const Surroundings&) = delete;
  Surroundings& operator=(const Surroundings&) = delete;
  virtual ~Surroundings() = default;
  // What new runs of a workflow follow; nullptr when there is no such workflow.
  [[nodiscard]] virtual std::shared_ptr<const Definition> current(
      std::string_view workflow) const = 0;
  // A worker has claimed the attempt.
  [[nodiscard]] virtual bool is_claimed(std::string_view runnable_key) const = 0;
};
// No workflows, no claims.
const Surroundings& nothing_around();

// The origin of a command, and the key under which it counts once.
struct CommandSource {
  SharedText source;
  SharedText signal_id;
  SharedText idempotency_key;
  SharedText actor;
  SharedText comment;
  Payload metadata;  // secrets in it are redacted before it is stored
  Payload trace;
};

// How a run is started: a schedule is kept by the engine, a scheduler is outside of it. All but a
// caller are recorded as the source of the command.
HOLDFAST_ENUM(StartedBy, caller, schedule, scheduler, parent_run, continuation, replay);

struct StartRun {
  RunId run_id;
  std::shared_ptr<const Definition> definition;
  SharedText queue;    // empty: the default
  SharedText trigger;  // empty: the first of the definition
  Payload input;       // an object; empty: {}
  Payload context;
  Payload search_attributes;
  CommandSource source;
  StartedBy started_by = StartedBy::caller;
  RunId replayed_from;                             // empty: not a replay
  std::optional<StepsAdopted> adopted;             // of a replay from the middle
  std::optional<RunContinuedFrom> continued_from;  // of the successor of another run
};
// [run_signal_received, run_started, run_continued_from of a successor, steps_adopted of a replay
// from the middle, then what the first steps plan or do]. The definition is attached.
// Empty when the same run was started before: same workflow, definition, trigger and input, in
// whatever order its members are. run_exists when another run has the id. invalid_trigger;
// invalid_payload when the input does not fit the trigger; invalid_argument when it is not an
// object, or the queue or a search attribute is not valid.
Result<RunFacts> decide_start(RunProjection& run, const StartRun& command,
                              const Surroundings& around, TimeMs now);

// A completed attempt becomes part of the run: [runnable_applied, then what follows: steps are
// planned, the run waits, fails, compensates or completes].
// execution_opts.schedule_in_ms delays what follows; execution_opts.defer {reason,
// schedule_in_ms} plans the same step again (key <key>:deferred, then <key>:deferred:2, ...; same
// attempt number), which sees its result; execution_opts.continue_as_new {key, input} ends the
// run as decide_continue does; execution_opts.graph, a GraphChange, changes the graph of the run
// ([dynamic_graph_mutated] comes first), and the step fails when that is not allowed.
// Empty when it was applied before. terminal_run, unknown_runnable_intent, result_not_completed,
// wrong_run. The run must have its definition attached.
Result<RunFacts> decide_apply(RunProjection& run, const Attempt& attempt,
                              const Surroundings& around, TimeMs now);

// Empty when the result fits the output contract of its step; otherwise the error of the failure.
std::optional<Payload> output_fault(const RunProjection& run, std::string_view runnable_key,
                                    const Payload& result);

// The error of an attempt or child that timed out.
enum class TimedOut : std::uint8_t { start, attempt, child };
Payload timeout_error(TimedOut what, std::string_view step);
struct PlannedRetry {
  SharedText runnable_key;
  SharedText idempotency_key;
  TimeMs visible_at;
};
// Whether and when a failed attempt is retried: after retry_after_ms if the step requested it,
// otherwise by the policy of its step. Empty: no more attempts.
std::optional<PlannedRetry> plan_retry(const RunProjection& run, const Attempt& attempt,
                                       const Failure& failure, TimeMs now);

// The run's part of a failed attempt: [runnables_planned for the retry]; or, when there is none,
// [manual_step_paused] of a step that is parked; or [runnable_applied with the error route that was
// taken, what follows]; or, when there is no route either, [compensation_started, ...] or
// [run_terminal(failed)]. `retry` must be what the attempt_failed fact says. Empty when the run has
// already continued or ended. unknown_runnable_intent, wrong_run.
Result<RunFacts> decide_after_failure(RunProjection& run, const Attempt& attempt,
                                      const Payload& error,
                                      const std::optional<PlannedRetry>& retry,
                                      const Surroundings& around, TimeMs now);

// [run_signal_received, run_terminal(cancelled)], or with compensation [run_signal_received,
// compensation_started, ...]. Empty when the run was cancelled before. `stop` also ends a run that
// is compensating. invalid_transition when it ended otherwise, or compensates a failure;
// run_not_found when it was never started.
HOLDFAST_ENUM(OnCancel, as_defined, compensate, stop);
Result<RunFacts> decide_cancel(RunProjection& run, const CommandSource& source, OnCancel how,
                               const Surroundings& around, TimeMs now);

// A timer is due: a wait has ended, an event did not arrive in time, the run took too long. Empty
// when nothing waits for it any longer. invalid_transition before it is due;
// unknown_runnable_intent.
Result<RunFacts> decide_timer(RunProjection& run, std::string_view runnable_key,
                              const Surroundings& around, TimeMs now);

// [run_signal_received, manual_step_resolved, runnable_applied, what follows the step]. resumed
// fits a pause, approved and rejected an approval; rejected is the failure of the step. An
// approval adds {decision, actor, decided_at, comment, metadata} to the context, under the
// output of the step or its name.
// retried and discarded fit a parked step: [run_signal_received, manual_step_resolved,
// runnables_planned for the next attempt], with its number of attempts beginning anew, under the
// same idempotency key; or [run_signal_received, manual_step_resolved, what follows the failure].
// Empty when the same resolution is recorded. invalid_transition, stale_manual_resolution (also
// when the step is not parked by the attempt that is named), terminal_run, idempotency_conflict;
// invalid_argument when an approval names no actor or the input is not an object; invalid_payload
// when it does not fit the step.
struct ResolveStep {
  ManualAction action = ManualAction::resumed;
  SharedText step;  // empty: the only one the run waits at
  CommandSource source;
  SharedText runnable_key = {};  // of a parked step, the attempt that failed; empty: any
  Payload input = {};            // of a step that is retried; empty: the same as before
};
Result<RunFacts> decide_resolve(RunProjection& run, const ResolveStep& command,
                                const Surroundings& around, TimeMs now);

// The parent's part of starting a child: [child_run_started]. The child's id is derived from
// parent, step, child workflow, trigger and key, so a repeated start finds the same child.
// Empty when it was started before with the same content, by whichever attempt at the step and
// whatever the definition was then. terminal_run, invalid_parent_context (the origin is not the
// newest, unapplied runnable of its step), conflicting_child_run; invalid_argument when there is
// no key, the key or the queue is not valid, or input or metadata are not objects.
struct StartChild {
  Origin origin;
  std::shared_ptr<const Definition> definition;
  SharedText child_key;
  SharedText trigger;  // empty: child
  SharedText queue;
  Payload input;
  Payload metadata;
  ParentClose on_parent_close = ParentClose::detach;
};
RunId child_run_id(const RunId& parent, const StartChild& command);
Result<RunFacts> decide_start_child(RunProjection& parent, const StartChild& command, TimeMs now);

// A child whose end the step waits for has ended: [runnable_applied, what follows], or what
// follows the failure of the step. Empty when nothing waits for it.
struct ChildEnd {
  RunId run_id;
  TerminalStatus status = TerminalStatus::completed;
  Payload result;  // of a completed child
  Payload error;
};
Result<RunFacts> decide_child_ended(RunProjection& parent, std::string_view runnable_key,
                                    const ChildEnd& end, const Surroundings& around, TimeMs now);
// The command that starts the child a parent's fact names; its context says who the parent is.
StartRun start_of_child(const ChildRunStarted& link, std::shared_ptr<const Definition> definition);

// [run_signal_received, then external_event_received, external_event_wait_resolved,
// runnable_applied of the timer and of the step, what follows] when the run waits for the event,
// else [run_signal_received, external_event_buffered]. Empty when the same event was received
// before. idempotency_conflict, terminal_run; too_large when kMaxBufferedEvents wait already;
// invalid_argument when there is no idempotency key, the names are too long or the payload is not
// an object of at most 1 MiB.
inline constexpr std::size_t kMaxBufferedEvents = 1000;
struct SendEvent {
  SharedText event;        // 1 to 255 bytes
  SharedText correlation;  // at most 1024 bytes
  Payload payload;         // empty: {}
  CommandSource source;
};
Result<RunFacts> decide_receive_event(RunProjection& run, const SendEvent& command,
                                      const Surroundings& around, TimeMs now);

// [search_attributes_updated]; also after the run ended. changes: an object, null removes a key;
// workflow/search_attributes.h has the limits. Empty when the same update was made under the key.
// run_not_found, idempotency_conflict; invalid_argument also without an idempotency key.
Result<RunFacts> decide_update_attributes(RunProjection& run, const Payload& changes,
                                          const SharedText& idempotency_key, TimeMs now);

// Only after the run ended: invalid_transition otherwise. Empty when the run is already in the
// requested state. The reason has 1 to 256 bytes, else invalid_argument.
Result<RunFacts> decide_archive(RunProjection& run, const SharedText& reason, TimeMs now);
Result<RunFacts> decide_unarchive(RunProjection& run, TimeMs now);

// [dead_letter_resolved] of the attempt that failed the run. Empty when the same was decided
// before. terminal_run when no attempt failed it; invalid_transition when it was another attempt,
// when something else was decided, or before the run ended.
struct ResolveDeadLetter {
  DeadLetterEnd action = DeadLetterEnd::discarded;
  SharedText step;          // with visit and item; empty: any
  SharedText runnable_key;  // empty: any
  RunId replay_run_id;      // of a redrive
  CommandSource source;
};
Result<RunFacts> decide_resolve_dead_letter(RunProjection& run, const ResolveDeadLetter& command,
                                            TimeMs now);
// The run that a redrive of that attempt starts, each time.
RunId redrive_run_id(const RunId& run, const SharedText& runnable_key);
// The replay that a redrive starts: from the step of the attempt; from the start if the run
// compensated, because then the results of the steps before it are undone, or if its definition
// does not have the step. Errors of decide_resolve_dead_letter and plan_replay.
Result<StartRun> plan_redrive(const RunProjection& source, const ResolveDeadLetter& command);

// The predecessor's part of continuing as a new run: [run_continuation_requested,
// run_terminal(continued)]. Steps that were never planned are given up. Empty when the same
// continuation was requested before. unsafe_continuation when runnables are open, the run is paused
// or has anomalies; conflicting_continuation, terminal_run, run_not_found, invalid_argument.
struct ContinueRun {
  SharedText continuation_key;
  Payload input;  // an object; empty: {}
};
RunId successor_run_id(const RunId& run, std::string_view continuation_key);
Result<RunFacts> decide_continue(RunProjection& run, const ContinueRun& command, TimeMs now);
// The same as the result of a step, the only one that is open: with [runnable_applied] first.
Result<RunFacts> decide_continue(RunProjection& run, const Attempt& attempt,
                                 const ContinueRun& command, TimeMs now);
// The command that starts the run which a predecessor's fact names. It keeps the queue and the
// parent of the predecessor.
StartRun start_of_successor(const RunContinuationRequested& request, const RunStarted& predecessor,
                            std::shared_ptr<const Definition> definition);

// The command that repeats a run: whole, or from a step on, with what the steps before it gave. It
// is for the same window of a schedule, without the idempotency of that, and has no parent.
// run_not_found, invalid_transition (nothing of it can be repeated from that step, or what came
// before it does not fit the other definition), invalid_argument (no such step); unsafe_replay
// names the steps that would be repeated although they are irreversible or cannot be compensated,
// unless that is allowed.
struct ReplayRun {
  RunId run_id;          // of the new run
  SharedText from_step;  // empty: from the beginning
  Payload input;         // empty: the input of the source
  bool allow_irreversible = false;
  std::shared_ptr<const Definition> definition;  // nullptr: that of the source
  CommandSource source;
};
Result<StartRun> plan_replay(const RunProjection& source, const ReplayRun& command);

// Adds nodes to the graph of a run and edges between them, or takes them away again:
// [run_signal_received when a caller requests it, dynamic_graph_mutated, runnables_planned for
// nodes without open predecessors]. A node is carried out like a step, with its own input, or with
// the context when it has none, and its result joins the context. An edge leads from a step or node
// to a node that is not planned yet. The run ends when its steps and all nodes are done. All
// operations are checked together before anything is recorded.
// Empty when the same mutation was made before: same id and operations.
// invalid_graph_mutation: the fields "field" and "reason" say which operation is not allowed and
// why. terminal_run, run_not_found.
inline constexpr std::size_t kMaxGraphOperations = 256;  // in one mutation
inline constexpr std::size_t kMaxGraphItems = 4096;      // active nodes and edges of a run
struct MutateGraph : GraphChange {
  std::optional<Origin> origin;  // a runnable of the run, applied or not; empty: the caller
  CommandSource source;          // of a caller
};
Result<RunFacts> decide_mutate_graph(RunProjection& run, const MutateGraph& command, TimeMs now);

// Empty when the run takes the completion as it is; otherwise the error of the failure: the result
// does not fit the output contract of its step, or requests a mutation that is not allowed. Of an
// attempt that failed so, the error that is recorded.
std::optional<Payload> completion_fault(const RunProjection& run, const Attempt& attempt,
                                        const Completion& completion);

// The attempt that a planned runnable schedules in its queue.
AttemptScheduled intent_of(const Runnable& runnable, const SharedText& workflow);

}  // namespace holdfast
