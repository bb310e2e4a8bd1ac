// Engine: durable workflows inside a program. It stores runs of workflows and executes their steps
// with the handlers of the program.
//
//   auto engine = holdfast::Engine::open("sqlite:work.db");
//
// Several engines, in one process or many, may share a store: each step is claimed by one of them.
// When a function returns success, its effect is durable. Failures are returned as an Error; no
// exception escapes. After close(), after the store failed, and on a moved-from engine, every
// function returns engine_stopped. While a PostgreSQL store is unavailable, calls wait; after 30 s
// a call of which nothing was written returns unavailable.
//
// All members except moving and destruction may be called from any thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "holdfast/lease_backend.h"
#include "holdfast/log.h"
#include "holdfast/result.h"
#include "holdfast/run.h"
#include "holdfast/step.h"
#include "holdfast/workflow.h"

namespace holdfast {

// A step that can be executed from visible_at_ms on.
struct WorkNotice {
  std::string run_id;
  std::string runnable_key;
  std::string queue;
  std::string handler;
  std::int64_t visible_at_ms = 0;
};

// The message of a log step.
struct LogMessage {
  std::string run_id;
  std::string workflow;
  std::string step;
  std::string level;  // debug, info, warning, error
  std::string message;
  std::int64_t at_ms = 0;
};

// A queue and the lease backend that carries its steps to workers.
struct BoundQueue {
  std::string queue;
  OpenLeaseBackend open;
};

struct EngineOptions {
  // Recorded as the origin of every command.
  std::string source = "embedded";
  bool create = true;  // create the store if it does not exist; otherwise that is not_found
  // Queues this engine serves, in addition to "default" and those of registered workflows.
  std::vector<std::string> queues = {};
  bool all_queues = false;  // serve every queue
  // Notifies workers elsewhere of steps that no worker of this engine claimed immediately. Called
  // from a thread of the engine after the steps are durable; returns true when the notification was
  // sent. Notifications are hints: nothing is lost when one fails.
  std::function<bool(const WorkNotice&)> notify = nullptr;
  // Stores a live_wakeup_emitted fact for each notification that was sent.
  bool record_notices = false;
  // Receives the messages of log steps after they are durable, in order, from one thread at a time.
  // Must not block and must not call the engine.
  std::function<void(const LogMessage&)> log = nullptr;
  // Queues whose steps workers of a lease backend execute (holdfast/lease_backend.h). The threads
  // of this engine leave these steps alone: with all of its queues bound it executes none. A
  // backend need not be available.
  std::vector<BoundQueue> backends = {};
  // Returns the secret of a credential that http steps refer to; empty when it is unknown.
  std::function<std::optional<std::string>(std::string_view name)> credential = nullptr;
  // The time by which the engine stores facts, keeps timers and ends leases; empty: that of the
  // system. Called from any thread. The engine notices within a second that this time has jumped.
  // holdfast/testing.h has an engine with a virtual clock that notices at once.
  std::function<std::chrono::system_clock::time_point()> clock = nullptr;
};

struct EngineStats {
  std::uint64_t live_runs = 0;  // runs that have not ended
  std::uint64_t attempts = 0;   // of live runs, in memory
  std::uint64_t position = 0;   // of the newest batch in the log
  // Since this engine was opened:
  std::uint64_t commits = 0;
  std::uint64_t facts = 0;
  std::uint64_t conflicts = 0;
  std::uint64_t recovered = 0;  // incomplete work of other processes that was recovered
  std::uint64_t claims = 0;
};

// The result of execute_next.
struct ExecutedStep {
  StepInfo step;
  StepResult::Kind result = StepResult::Kind::ok;
  bool counted = true;  // false: the claim was lost before the result was stored
  std::string run_status;
};

struct DrainOptions {
  std::size_t threads = 1;
  // The engine is idle when no step was ready for this long. Steps that become ready within that
  // time are executed.
  std::chrono::milliseconds idle_for{0};
  std::uint64_t max_steps = 0;  // 0: no limit
};

class Engine {
 public:
  // url: memory:, sqlite:PATH or postgres://... invalid_url, not_found, and errors of the store.
  static Result<Engine> open(std::string_view url, const EngineOptions& options = {});
  // On a log that the program supplies (holdfast/log.h); options.create has no effect. The engine
  // owns the log. Several engines share a log when each has a handle of its own.
  static Result<Engine> open(std::unique_ptr<LogStore> log, const EngineOptions& options = {});
  Engine(Engine&& other) noexcept;
  Engine& operator=(Engine&& other) noexcept;
  // Calls close().
  ~Engine();

  // New runs of the workflow use this definition. invalid_definition names every fault.
  Result<void> register_workflow(const Workflow& workflow);
  Result<void> register_workflow(const WorkflowDefinition& workflow);
  // The same from JSON: {"workflow":"order","version":"1","steps":[{"name":"charge",...}]}
  Result<void> register_workflow_json(std::string_view spec);
  // The same from YAML or JSON. Faults are prefixed with `name`, line and column.
  Result<void> register_workflow_yaml(std::string_view text, std::string_view name = "workflow");
  // The same from a file. not_found, permission_denied, io_error.
  Result<void> register_workflow_file(const std::string& path);
  // Replaces a handler of the same name. Calls in progress keep the old one.
  Result<void> register_handler(std::string_view name, StepHandler handler);

  // Starts a run. input: a JSON object. unknown_workflow, invalid_json, invalid_argument;
  // run_exists when another run has the id; idempotency_conflict when the key was used with another
  // input.
  Result<StartedRun> start(std::string_view workflow, std::string_view input = "{}",
                           const StartOptions& options = {});
  // Starts the run of a window of a cron trigger, on behalf of a scheduler such as cron or
  // Kubernetes. The same window, and the same signal id, has one run, however often it is
  // delivered. unknown_workflow; invalid_trigger when it is not a cron trigger;
  // idempotency_conflict when the signal id was delivered for another window; invalid_argument.
  Result<DeliveredRun> deliver_cron(std::string_view workflow, std::string_view trigger,
                                    const DeliverOptions& options);
  // Cancels a run: no further step is executed, and the stop tokens of its handlers are stopped.
  // Idempotent. run_not_found; invalid_transition when the run ended otherwise.
  Result<void> cancel(std::string_view run_id, const CancelOptions& options = {});

  // Decides a step that waits: resume a pause, approve or reject an approval. approve and reject
  // need an actor; a rejection fails the step. Idempotent. run_not_found, terminal_run,
  // invalid_transition (no step waits for this decision), stale_manual_resolution (another step
  // waits), idempotency_conflict, invalid_argument.
  Result<void> resume(std::string_view run_id, const DecisionOptions& options = {});
  Result<void> approve(std::string_view run_id, const DecisionOptions& options);
  Result<void> reject(std::string_view run_id, const DecisionOptions& options);
  // Decides a parked step. retry: it is attempted again, as often as its policy says, under the
  // same idempotency key, with the same or another input. discard: it fails, and the run continues
  // as after any failure. Idempotent. run_not_found, terminal_run, invalid_transition (no step is
  // parked), stale_manual_resolution (not by this attempt), idempotency_conflict, invalid_argument,
  // invalid_payload.
  Result<void> retry(std::string_view run_id, const RetryStepOptions& options = {});
  Result<void> discard(std::string_view run_id, const DiscardStepOptions& options = {});
  // Dead letters: the parked steps of all runs, and the attempts that failed their run. What
  // matches is redriven or discarded in one commit. Of a parked step, a redrive is a retry. The
  // attempt of a run that has ended is repeated by a new run, from its step on; from the start if
  // the run compensated. That run has an id of its own: a repeated redrive starts no second one. A
  // discarded attempt leaves the list; discard() does the same. invalid_argument: the limit, the
  // cursor, or a selection of everything without `all`. An outcome has an error of its own, such as
  // unsafe_replay.
  Result<DeadLetterPage> dead_letters(const DeadLetterQuery& query = {});
  Result<DeadLetterDecision> redrive_dead_letters(const DeadLetterSelection& selection);
  Result<DeadLetterDecision> discard_dead_letters(const DeadLetterSelection& selection);
  // Closes the circuit breaker of a step, so that its attempts are handed out again. Returns the
  // queues in which it was open; none when it was closed already. unknown_workflow; not_found when
  // the workflow has no such step, or the step has no circuit breaker; invalid_argument.
  Result<std::vector<std::string>> close_circuit_breaker(std::string_view workflow,
                                                         std::string_view step,
                                                         const CloseCircuitOptions& options = {});
  // Sends an event to an await_event step. An event that no step waits for yet is stored. payload:
  // a JSON object of at most 1 MiB. run_not_found, terminal_run, idempotency_conflict,
  // invalid_argument.
  Result<void> signal(std::string_view run_id, std::string_view event,
                      std::string_view payload = "{}", const SignalOptions& options = {});
  // Adds steps and edges to a run that has not ended, or removes added ones that have not begun.
  // Idempotent by the id of the mutation, which must not be empty. invalid_graph_mutation names the
  // operation that is not allowed and why; its field "reason" is "stale" when the graph has another
  // version, and "conflict" when the id was used for another mutation. terminal_run, run_not_found,
  // invalid_argument, invalid_json.
  Result<void> mutate_graph(std::string_view run_id, const GraphMutation& mutation,
                            const MutationOptions& options = {});
  // Continues a run that has not ended on another definition of its workflow; a step that is parked
  // because its definition has a fault begins again there. Idempotent.
  // invalid_transition when the run could not have come to where it is on that definition: its
  // field "problems" says why. unknown_workflow when there is no such definition. terminal_run,
  // run_not_found.
  Result<void> migrate(std::string_view run_id, const MigrateOptions& options = {});
  // Repeats a run as a new run on the same definition, or on another one: completely, or from a
  // step on with the results of the steps before it. run_not_found; unsafe_replay when irreversible
  // steps would be repeated; invalid_transition, invalid_argument, invalid_payload.
  Result<StartedRun> replay(std::string_view run_id, const ReplayOptions& options = {});
  // Ends a run that has no open step and starts its successor with this input. The same key finds
  // the same successor. unsafe_continuation, conflicting_continuation, terminal_run.
  Result<StartedRun> continue_as_new(std::string_view run_id, std::string_view input,
                                     std::string_view key = "next");
  // changes: a JSON object; null removes an attribute. Also for runs that have ended.
  // idempotency_conflict, invalid_argument.
  Result<void> set_search_attributes(std::string_view run_id, std::string_view changes,
                                     std::string_view idempotency_key = "");
  // For runs that have ended. Idempotent. invalid_transition, invalid_argument.
  Result<void> archive(std::string_view run_id, std::string_view reason);
  Result<void> unarchive(std::string_view run_id);

  // Executes one step in this thread; empty when none became ready in this time. A failed step is
  // not an error. Registered handlers execute steps; http and exec steps need none.
  Result<std::optional<ExecutedStep>> execute_next(
      std::chrono::milliseconds wait_up_to = std::chrono::milliseconds(0));
  // Executes steps until the engine is idle. Returns their number.
  Result<std::uint64_t> drain(const DrainOptions& options = {});
  // Executes steps with this number of threads, including the calling one, until stop is requested
  // or the engine is closed. Steps that were claimed by then are still executed. Returns the error
  // that stopped the engine, if any.
  Result<void> work(std::size_t threads, const std::stop_token& stop);

  // The current state of a run, also after its end. run_not_found; invalid_argument when the text
  // is not a run id.
  Result<RunView> inspect(std::string_view run_id);
  // Waits until the run has ended, in any process, or until the timeout; RunView::terminal is true
  // if it has ended. In a handler, the wait occupies a worker thread.
  Result<RunView> wait(std::string_view run_id, std::chrono::milliseconds timeout);
  // The following queries read the journal. `at` selects a point: empty for now, 123 a position of
  // the log, r5 a revision of the run, 2026-11-16T14:02:00Z a time, 10m an age; the result is that
  // of the query at this point. invalid_argument when the point does not exist. docs/inspection.md
  // describes the JSON; values under keys that name secrets are redacted.

  // Why the run is in its state, and what would let it continue.
  Result<RunExplanation> explain(std::string_view run_id, std::string_view at = "");
  // RunView::json, at any point.
  Result<std::string> snapshot_json(std::string_view run_id, std::string_view at = "");
  // The steps and their connections; everything that happened; the changes between two points.
  Result<std::string> graph_json(std::string_view run_id, std::string_view at = "");
  Result<std::string> timeline_json(std::string_view run_id, std::string_view at = "");
  Result<std::string> diff_json(std::string_view run_id, std::string_view from,
                                std::string_view to = "");
  // Runs in the order of their start. Pages are stable while runs start and end. invalid_argument
  // when workflow, limit, cursor or a filter is invalid.
  Result<RunPage> list(const ListOptions& options = {});
  // The whole store: runs by status and queues; violations of invariants. Both load every run that
  // has not ended.
  Result<std::string> status_json(std::string_view at = "");
  Result<std::string> doctor_json(std::string_view at = "");
  Result<EngineStats> stats();

  // Stops taking work, completes writes in progress, and stores a checkpoint for a fast next start.
  void close();

 private:
  friend struct EngineAccess;  // the test kit
  class Impl;
  explicit Engine(std::unique_ptr<Impl> impl);
  // engine_stopped when it is closed or moved-from.
  [[nodiscard]] Result<Impl*> live() const;

  std::unique_ptr<Impl> impl_;
};

}  // namespace holdfast
