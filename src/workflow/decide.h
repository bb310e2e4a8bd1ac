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
};
// [run_signal_received, run_started, runnables_planned]. Empty when the same run was started
// before: same workflow, definition, trigger and input. run_exists when another run has the id.
// invalid_argument when the input is no object.
Result<RunFacts> decide_start(const RunProjection& run, const StartRun& command, TimeMs now);

// A completed attempt becomes part of the run: [runnable_applied, then runnables_planned for the
// steps it was the last dependency of, or run_terminal(completed) when all steps are done].
// execution_opts.schedule_in_ms delays what follows; execution_opts.defer {reason,
// schedule_in_ms} plans the same step again (key <key>:deferred, same attempt number).
// Empty when it was applied before. terminal_run, unknown_runnable_intent, result_not_completed.
// The run must have its definition attached.
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
// Empty when the run has gone on already.
Result<RunFacts> decide_after_failure(const RunProjection& run, const Attempt& attempt,
                                      const Payload& error,
                                      const std::optional<PlannedRetry>& retry, TimeMs now);

// [run_signal_received, run_terminal(cancelled)]. Empty when the run was cancelled before.
// invalid_transition when it ended otherwise.
Result<RunFacts> decide_cancel(const RunProjection& run, const CommandSource& source, TimeMs now);

// An applied attempt opens a manual boundary: [runnable_applied, manual_step_paused].
struct PauseStep {
  ManualKind kind = ManualKind::pause;
  SharedText reason;
  Payload metadata;
  Payload deadline;
};
Result<RunFacts> decide_pause(const RunProjection& run, const Attempt& attempt,
                              const PauseStep& command, TimeMs now);

// [run_signal_received, manual_step_resolved, then what follows the step]. resumed fits a pause,
// approved and rejected an approval; rejected without an error route fails the run.
// Empty when the same resolution is recorded. invalid_transition, stale_manual_resolution,
// terminal_run; invalid_argument when an approval names no actor.
struct ResolveStep {
  ManualAction action = ManualAction::resumed;
  SharedText step;  // empty: whatever the run waits at
  CommandSource source;
};
Result<RunFacts> decide_resolve(const RunProjection& run, const ResolveStep& command, TimeMs now);

// The parent's part of starting a child: [child_run_started]. The child's id is derived from
// parent, step, child workflow, trigger and key, so a repeated start finds the same child.
// Empty when it was started before with the same content. terminal_run, invalid_parent_context,
// conflicting_child_run.
struct StartChild {
  Origin origin;
  std::shared_ptr<const Definition> definition;
  SharedText child_key;
  SharedText trigger;
  SharedText queue;
  Payload input;
  Payload metadata;
};
RunId child_run_id(const RunId& parent, const StartChild& command);
Result<RunFacts> decide_start_child(const RunProjection& parent, const StartChild& command,
                                    TimeMs now);
// The command that starts the child a parent's fact names; its context says who the parent is.
StartRun start_of_child(const ChildRunStarted& link, std::shared_ptr<const Definition> definition);

// Event waits. open: [runnable_applied, external_event_wait_opened, runnables_planned of the
// timer]; receive: [run_signal_received, external_event_received, external_event_wait_resolved,
// what follows]; time out: [external_event_wait_timeout_selected, external_event_wait_resolved,
// what follows]. event_wait_not_found, idempotency_conflict, terminal_run, invalid_transition.
struct OpenWait {
  SharedText event;
  SharedText correlation;
  std::optional<std::uint64_t> timeout_ms;
  SharedText timeout_target;
};
Result<RunFacts> decide_open_wait(const RunProjection& run, const Attempt& attempt,
                                  const OpenWait& command, TimeMs now);
struct SendEvent {
  SharedText event;
  SharedText correlation;
  Payload payload;
  CommandSource source;  // with an idempotency key
};
Result<RunFacts> decide_receive_event(const RunProjection& run, const SendEvent& command,
                                      TimeMs now);
Result<RunFacts> decide_wait_timeout(const RunProjection& run, std::string_view wait_id,
                                     TimeMs now);

// [search_attributes_updated]; also after the run ended. changes: an object, null removes a key.
// Limits: 32 attributes, key of 64 bytes (a lower-case letter, then lower-case letters, digits,
// '_', '.', '-'), values string (256 bytes), integer, boolean or a list of up to 16 of those,
// 4096 bytes in all. invalid_argument, idempotency_conflict.
Result<RunFacts> decide_update_attributes(const RunProjection& run, const Payload& changes,
                                          const SharedText& idempotency_key, TimeMs now);

// Only after the run ended: invalid_transition otherwise.
Result<RunFacts> decide_archive(const RunProjection& run, const SharedText& reason, TimeMs now);
Result<RunFacts> decide_unarchive(const RunProjection& run, TimeMs now);

// The predecessor's part of continuing as a new run: [run_continuation_requested,
// run_terminal(continued)]. unsafe_continuation when runnables are open or the run is paused.
struct ContinueRun {
  SharedText continuation_key;
  Payload input;
};
RunId successor_run_id(const RunId& run, std::string_view continuation_key);
Result<RunFacts> decide_continue(const RunProjection& run, const ContinueRun& command, TimeMs now);

// [dynamic_graph_mutated, runnables_planned for nodes without open predecessors].
// invalid_graph_mutation says which operation is not allowed and why.
struct MutateGraph {
  SharedText mutation_id;
  std::uint64_t expected_version = 0;
  Origin origin;
  std::vector<GraphAddition> additions;
  std::vector<GraphRemoval> removals;
};
Result<RunFacts> decide_mutate_graph(const RunProjection& run, const MutateGraph& command,
                                     TimeMs now);

// The attempt a planned runnable asks its queue for.
AttemptScheduled intent_of(const Runnable& runnable, const SharedText& workflow);

}  // namespace holdfast
