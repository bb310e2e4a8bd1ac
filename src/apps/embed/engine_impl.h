// Engine::Impl: the loop, and the handlers of this process.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "apps/embed/engine_parts.h"
#include "apps/embed/step_runner.h"
#include "holdfast/engine.h"
#include "runs/engine/engine_loop.h"
#include "runs/inspect/inspector.h"
#include "runs/lease_adapter/lease_adapters.h"
#include "runs/service/dead_letters.h"
#include "runs/service/run_commands.h"

namespace holdfast {

class Engine::Impl {
 public:
  static Result<std::unique_ptr<Impl>> open(std::string_view url, const EngineOptions& options);
  static Result<std::unique_ptr<Impl>> open(std::unique_ptr<LogStore> log,
                                            const EngineOptions& options);
  static Result<std::unique_ptr<Impl>> open(EngineParts parts, const EngineOptions& options);

  Result<void> add_definition(const std::shared_ptr<const Definition>& definition);
  Result<void> add_handler(std::string_view name, StepHandler handler);
  Result<WorkerSkills> worker_skills();

  Result<StartedRun> start(std::string_view workflow, std::string_view input,
                           const StartOptions& options);
  Result<DeliveredRun> deliver_cron(std::string_view workflow, std::string_view trigger,
                                    const DeliverOptions& options);
  Result<std::vector<std::string>> close_circuit_breaker(const CloseCircuitRequest& request);
  Result<void> cancel(const RunId& run, const CancelOptions& options);
  Result<void> resolve(const RunId& run, ManualAction action, const DecisionOptions& options);
  Result<void> retry(const RunId& run, const RetryStepOptions& options);
  Result<void> discard(const RunId& run, const DiscardStepOptions& options);
  Result<DeadLetterPage> dead_letters(const DeadLetterQuery& query);
  Result<DeadLetterDecision> decide(DeadLetterAction action, const DeadLetterSelection& selection);
  Result<void> signal(const RunId& run, std::string_view event, std::string_view payload,
                      const SignalOptions& options);
  Result<void> mutate_graph(const RunId& run, const GraphMutation& mutation,
                            const MutationOptions& options);
  Result<void> migrate(const RunId& run, const MigrateOptions& options);
  Result<StartedRun> replay(const RunId& run, const ReplayOptions& options);
  Result<StartedRun> continue_as_new(const RunId& run, std::string_view input,
                                     std::string_view key);
  Result<void> set_search_attributes(const RunId& run, std::string_view changes,
                                     std::string_view idempotency_key);
  Result<void> archive(const RunId& run, std::string_view reason);
  Result<void> unarchive(const RunId& run);
  Result<void> work(std::size_t threads, const std::stop_token& stop);
  Result<RunView> inspect(const RunId& run);
  Result<RunExplanation> explain(const RunId& run, std::string_view at);
  Result<RunPage> list(const ListOptions& options);
  // engine_stopped, or the error that stopped the engine.
  Result<Inspector> inspector();
  Result<EngineStats> stats();
  void close();
  // engine_stopped once close() was called.
  Result<void> check_open();
  Loop& loop() { return *loop_; }

 private:
  Impl(const EngineOptions& options, std::unique_ptr<Random> random);
  Result<void> run_on(std::unique_ptr<Journal> journal, const EngineOptions& options,
                      LoopOptions loop);
  // http and exec steps for which a stub exists call it.
  void stub_built_in(const std::function<StepHandler(std::string_view step)>& find_stub);
  // Adds where the attempts of the run are, if backends carry any.
  RunExplanation with_backends(const RunId& run, Explanation explanation);

  AttemptOutcome call(const StepHandler& handler, const Assignment& assignment,
                      const std::stop_token& stop);
  Result<StartedRun> start_child(const Assignment& parent, std::string_view workflow,
                                 const StartChild& requested);
  // The view of a run that has not ended; empty when it has.
  template <typename View>
  Result<std::optional<View>> view_live(
      const RunId& run, std::function<Result<View>(const RunSource&, const FindRun&)> view);
  void set_skills();
  Result<void> execute(TurnFunction<Done> command);
  Result<StartedRun> execute_start(TurnFunction<Started> command);

  std::unique_ptr<Clock> clock_;
  std::unique_ptr<Random> random_;
  std::unique_ptr<DispatchNotifier> notifier_;  // these outlive the loop
  std::unique_ptr<CommitObserver> observer_;
  std::unique_ptr<LeaseObserver> lease_observer_;
  std::unique_ptr<Loop> loop_;
  std::unique_ptr<LeaseAdapters> leases_;  // nullptr: no queue is bound
  std::set<SharedText> bound_;             // queues that backends carry
  const bool all_queues_;
  RunCommands commands_;

  std::mutex mutex_;  // guards what follows
  std::set<SharedText> queues_;
  std::shared_ptr<const HandlerTable> handlers_;
  std::shared_ptr<const Skills> skills_;  // shared by workers with the same skills
  bool closed_ = false;
};

}  // namespace holdfast
