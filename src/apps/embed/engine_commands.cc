// The commands on runs.
#include "apps/embed/engine_impl.h"
#include "runs/api/public_requests.h"
#include "runs/service/circuit_commands.h"

namespace holdfast {

Result<void> Engine::Impl::execute(TurnFunction<Done> command) {
  const auto done = loop_->execute<Done>(std::move(command));
  return done.ok() ? Result<void>() : Result<void>(done.error());
}

Result<StartedRun> Engine::Impl::execute_start(TurnFunction<Started> command) {
  HOLDFAST_TRY(const Started started, loop_->execute<Started>(std::move(command)));
  return StartedRun{to_string(started.run_id), started.existed};
}

Result<StartedRun> Engine::Impl::start(std::string_view workflow, std::string_view input,
                                       const StartOptions& options) {
  HOLDFAST_TRY(const StartRequest request, start_request(workflow, input, options));
  HOLDFAST_TRY(auto start, commands_.start(request));
  return execute_start(std::move(start.decide));
}

Result<DeliveredRun> Engine::Impl::deliver_cron(std::string_view workflow, std::string_view trigger,
                                                const DeliverOptions& options) {
  HOLDFAST_TRY(auto deliver, commands_.deliver(workflow, trigger, deliver_request(options)));
  HOLDFAST_TRY(const Delivered delivered, loop_->execute<Delivered>(std::move(deliver)));
  return delivered_run(deliver_response(delivered));
}

Result<std::vector<std::string>> Engine::Impl::close_circuit_breaker(
    const CloseCircuitRequest& request) {
  HOLDFAST_TRY(CloseCircuitResponse response,
               loop_->execute<CloseCircuitResponse>(close_circuit(request)));
  return std::move(response.closed);
}

Result<void> Engine::Impl::cancel(const RunId& run, const CancelOptions& options) {
  return execute(commands_.cancel(run, cancel_request(options)));
}

Result<void> Engine::Impl::resolve(const RunId& run, ManualAction action,
                                   const DecisionOptions& options) {
  HOLDFAST_TRY(const DecisionRequest request, decision_request(options));
  return execute(commands_.resolve(run, action, request));
}

Result<void> Engine::Impl::retry(const RunId& run, const RetryStepOptions& options) {
  HOLDFAST_TRY(const RetryRequest request, retry_request(options));
  return execute(commands_.retry(run, request));
}

Result<void> Engine::Impl::discard(const RunId& run, const DiscardStepOptions& options) {
  return execute(commands_.discard(run, discard_request(options)));
}

Result<void> Engine::Impl::signal(const RunId& run, std::string_view event,
                                  std::string_view payload, const SignalOptions& options) {
  HOLDFAST_TRY(const SignalRequest request, signal_request(event, payload, options));
  return execute(commands_.signal(run, request));
}

Result<void> Engine::Impl::mutate_graph(const RunId& run, const GraphMutation& mutation,
                                        const MutationOptions& options) {
  HOLDFAST_TRY(const MutateRequest request, mutate_request(mutation, options));
  return execute(commands_.mutate_graph(run, request));
}

Result<void> Engine::Impl::migrate(const RunId& run, const MigrateOptions& options) {
  return execute(commands_.migrate(run, migrate_request(options)));
}

Result<StartedRun> Engine::Impl::replay(const RunId& run, const ReplayOptions& options) {
  HOLDFAST_TRY(const ReplayRequest request, replay_request(options));
  HOLDFAST_TRY(auto replay, commands_.replay(run, request));
  return execute_start(std::move(replay.decide));
}

Result<StartedRun> Engine::Impl::continue_as_new(const RunId& run, std::string_view input,
                                                 std::string_view key) {
  HOLDFAST_TRY(const ContinueRequest request, continue_request(input, key));
  HOLDFAST_CHECK(execute(RunCommands::continue_as_new(run, request)));
  return StartedRun{to_string(successor_run_id(run, key)), false};
}

Result<void> Engine::Impl::set_search_attributes(const RunId& run, std::string_view changes,
                                                 std::string_view idempotency_key) {
  HOLDFAST_TRY(const AttributesRequest request, attributes_request(changes, idempotency_key));
  return execute(commands_.set_attributes(run, request));
}

Result<void> Engine::Impl::archive(const RunId& run, std::string_view reason) {
  return execute(RunCommands::archive(run, {std::string(reason)}));
}

Result<void> Engine::Impl::unarchive(const RunId& run) {
  return execute(RunCommands::unarchive(run));
}

}  // namespace holdfast
