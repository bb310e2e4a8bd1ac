// Engine: durable work inside a program. It keeps runs of workflows in a store and executes their
// steps by handlers of the program.
//
//   auto engine = holdfast::Engine::open("sqlite:work.db");
//
// Several engines, in one process or many, may share a store: each step is claimed by one of
// them. What a function has returned is durable. Every failure comes as an Error; no exception
// gets out. After close, or after the store failed, everything returns engine_stopped; so does
// every function of an engine that was moved from. A PostgreSQL store that cannot be reached is
// waited for: calls wait with it, and return unavailable after 30 s when nothing of them was
// written.
//
// All members are safe to call from any thread, but for moving and destroying.
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

#include "holdfast/log.h"
#include "holdfast/result.h"
#include "holdfast/run.h"
#include "holdfast/step.h"
#include "holdfast/workflow.h"

namespace holdfast {

// There is something to execute, from visible_at_ms on.
struct WorkNotice {
  std::string run_id;
  std::string runnable_key;
  std::string queue;
  std::string handler;
  std::int64_t visible_at_ms = 0;
};

// What a log step says.
struct LogMessage {
  std::string run_id;
  std::string workflow;
  std::string step;
  std::string level;  // debug, info, warning, error
  std::string message;
  std::int64_t at_ms = 0;
};

struct EngineOptions {
  // Where commands come from, for the record.
  std::string source = "embedded";
  bool create = true;  // makes the store if there is none; otherwise that is not_found
  // Where this engine looks for steps, beside "default" and what registered workflows name.
  std::vector<std::string> queues = {};
  bool all_queues = false;  // it looks in every queue there is
  // Tells workers elsewhere of new steps that no worker of this engine took at once. Called from
  // a thread of the engine's own, after they are durable; true when it was told. Only a hint: a
  // failure loses nothing, because the journal can always find the work again.
  std::function<bool(const WorkNotice&)> notify = nullptr;
  // Stores a live_wakeup_emitted for each notice that was told.
  bool record_notices = false;
  // Is told what log steps say, after it is durable, in order and by one thread at a time. Must
  // not block and not call the engine.
  std::function<void(const LogMessage&)> log = nullptr;
  // The secret that a credential name of an http step stands for; empty when there is none.
  std::function<std::optional<std::string>(std::string_view name)> credential = nullptr;
};

struct EngineStats {
  std::uint64_t live_runs = 0;  // have not ended
  std::uint64_t attempts = 0;   // of live runs, in memory
  std::uint64_t position = 0;   // of the newest batch in the log
  // Of this engine since it was opened.
  std::uint64_t commits = 0;
  std::uint64_t facts = 0;
  std::uint64_t conflicts = 0;
  std::uint64_t recovered = 0;  // things that others had left undone
  std::uint64_t claims = 0;
};

// What execute_next has done.
struct ExecutedStep {
  StepInfo step;
  StepResult::Kind result = StepResult::Kind::ok;
  bool counted = true;  // false: the claim was lost before the result was there
  std::string run_status;
};

struct DrainOptions {
  std::size_t threads = 1;
  // Idle means that nothing could be executed for this long: steps that are due within that time
  // are waited for.
  std::chrono::milliseconds idle_for{0};
  std::uint64_t max_steps = 0;  // 0: no limit
};

class Engine {
 public:
  // url: memory:, sqlite:PATH or postgres://... invalid_url, not_found, and what the store says.
  static Result<Engine> open(std::string_view url, const EngineOptions& options = {});
  // On a log that the program supplies (holdfast/log.h); options.create has no effect. The engine
  // owns the log. Several engines share a log when each has a handle of its own.
  static Result<Engine> open(std::unique_ptr<LogStore> log, const EngineOptions& options = {});
  Engine(Engine&& other) noexcept;
  Engine& operator=(Engine&& other) noexcept;
  // As close().
  ~Engine();

  // New runs of the workflow follow this definition. invalid_definition names every fault.
  Result<void> register_workflow(const Workflow& workflow);
  Result<void> register_workflow(const WorkflowDefinition& workflow);
  // The same from JSON: {"workflow":"order","version":"1","steps":[{"name":"charge",...}]}
  Result<void> register_workflow_json(std::string_view spec);
  // The same from YAML or JSON; `name` stands in front of each fault, with its line and column.
  Result<void> register_workflow_yaml(std::string_view text, std::string_view name = "workflow");
  // The same from a file. not_found, permission_denied, io_error.
  Result<void> register_workflow_file(const std::string& path);
  // A handler that has the name already is replaced. Work that is under way does not see it.
  Result<void> register_handler(std::string_view name, StepHandler handler);

  // input: a JSON object. unknown_workflow, invalid_json, invalid_argument; run_exists when
  // another run has the id, idempotency_conflict when the key was used with another input.
  Result<StartedRun> start(std::string_view workflow, std::string_view input = "{}",
                           const StartOptions& options = {});
  // Nothing of the run is executed any more; handlers that are at it learn it by their stop
  // token. Again: nothing happens. run_not_found; invalid_transition when it ended otherwise.
  Result<void> cancel(std::string_view run_id, const CancelOptions& options = {});

  // The run goes on after a pause or an approval. approve and reject need an actor; rejecting is
  // the failure of the step. Again: nothing happens. run_not_found, terminal_run,
  // invalid_transition (it does not wait for this), stale_manual_resolution (it waits elsewhere),
  // idempotency_conflict, invalid_argument.
  Result<void> resume(std::string_view run_id, const DecisionOptions& options = {});
  Result<void> approve(std::string_view run_id, const DecisionOptions& options);
  Result<void> reject(std::string_view run_id, const DecisionOptions& options);
  // An event for an await_event step; kept when nothing waits for it yet. payload: a JSON object
  // of at most 1 MiB. run_not_found, terminal_run, idempotency_conflict, invalid_argument.
  Result<void> signal(std::string_view run_id, std::string_view event,
                      std::string_view payload = "{}", const SignalOptions& options = {});
  // Repeats a run as a new one, on the definition of the old one: whole, or from a step on with
  // what the steps before it gave. run_not_found; unsafe_replay when steps would be repeated that
  // cannot be undone; invalid_transition, invalid_argument, invalid_payload.
  Result<StartedRun> replay(std::string_view run_id, const ReplayOptions& options = {});
  // Ends a run in which nothing is open and starts its successor with this input; the same key
  // finds the same successor. unsafe_continuation, conflicting_continuation, terminal_run.
  Result<StartedRun> continue_as_new(std::string_view run_id, std::string_view input,
                                     std::string_view key = "next");
  // changes: a JSON object, null takes an attribute away. Also after the run ended.
  // idempotency_conflict, invalid_argument.
  Result<void> set_search_attributes(std::string_view run_id, std::string_view changes,
                                     std::string_view idempotency_key = "");
  // Only runs that have ended; again: nothing happens. invalid_transition, invalid_argument.
  Result<void> archive(std::string_view run_id, std::string_view reason);
  Result<void> unarchive(std::string_view run_id);

  // Executes one step in this thread; empty when there was none for this long. A failed step is
  // no error. Steps are executed by registered handlers; http and exec steps always.
  Result<std::optional<ExecutedStep>> execute_next(
      std::chrono::milliseconds wait_up_to = std::chrono::milliseconds(0));
  // Executes until there is nothing to do. Returns the number of steps.
  Result<std::uint64_t> drain(const DrainOptions& options = {});
  // Executes with so many threads, this one included, until stop is requested or the engine is
  // closed; what was claimed by then is still executed. The error is what stopped the engine.
  Result<void> work(std::size_t threads, const std::stop_token& stop);

  // The run as it is now, whether it has ended or not. run_not_found; invalid_argument when it
  // is no run id.
  Result<RunView> inspect(std::string_view run_id);
  // The same when the run has ended, by whichever process, or after the timeout: `terminal` tells.
  // A handler that waits keeps its thread from other work.
  Result<RunView> wait(std::string_view run_id, std::chrono::milliseconds timeout);
  // What follows looks at the journal and changes nothing. `at` names a point: empty is now, 123 a
  // position of the log, r5 a revision of the run, 2026-11-16T14:02:00Z a time, 10m an age. Each
  // gives what it would have given then. invalid_argument when there is no such point.
  // docs/inspection.md has the JSON; values under keys that name secrets are not in it.

  // Why the run is where it is, and what would move it.
  Result<RunExplanation> explain(std::string_view run_id, std::string_view at = "");
  // The same JSON as RunView::json, at any point.
  Result<std::string> snapshot_json(std::string_view run_id, std::string_view at = "");
  // Steps and what joins them; everything that happened; what changed between two points.
  Result<std::string> graph_json(std::string_view run_id, std::string_view at = "");
  Result<std::string> timeline_json(std::string_view run_id, std::string_view at = "");
  Result<std::string> diff_json(std::string_view run_id, std::string_view from,
                                std::string_view to = "");
  // In the order they were started; pages stay as they are while runs start and end.
  // invalid_argument when workflow, limit, cursor or a filter are not valid.
  Result<RunPage> list(const ListOptions& options = {});
  // The whole store: runs by status, queues; what is not as it should be. Both load every run that
  // has not ended.
  Result<std::string> status_json(std::string_view at = "");
  Result<std::string> doctor_json(std::string_view at = "");
  Result<EngineStats> stats();

  // No new work; what is being written is ended; a checkpoint makes the next start short.
  void close();

 private:
  class Impl;
  explicit Engine(std::unique_ptr<Impl> impl);
  // engine_stopped when it was closed or moved from.
  [[nodiscard]] Result<Impl*> live() const;

  std::unique_ptr<Impl> impl_;
};

}  // namespace holdfast
