#include "holdfast/engine.h"

#include "apps/embed/engine_impl.h"
#include "apps/embed/run_wait.h"
#include "runs/api/public_requests.h"
#include "runs/api/workflow_builder.h"
#include "runs/language/yaml/check_workflow.h"
#include "runs/service/engine_handlers.h"
#include "runs/steps/step_outcome.h"

namespace holdfast {

Engine::Engine(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Engine::Engine(Engine&& other) noexcept = default;
Engine& Engine::operator=(Engine&& other) noexcept = default;
Engine::~Engine() = default;

Result<Engine::Impl*> Engine::live() const {
  if (impl_ == nullptr) {
    return Error{ErrorCode::engine_stopped, "this engine was moved from"};
  }
  HOLDFAST_CHECK(impl_->check_open());
  return impl_.get();
}

Result<Engine> Engine::open(std::string_view url, const EngineOptions& options) {
  HOLDFAST_TRY(auto impl, Impl::open(url, options));
  return Engine(std::move(impl));
}

Result<Engine> Engine::open(std::unique_ptr<LogStore> log, const EngineOptions& options) {
  HOLDFAST_TRY(auto impl, Impl::open(std::move(log), options));
  return Engine(std::move(impl));
}

Result<Engine> EngineAccess::open(EngineParts parts, const EngineOptions& options) {
  HOLDFAST_TRY(auto impl, Engine::Impl::open(std::move(parts), options));
  return Engine(std::move(impl));
}

TimesAhead EngineAccess::settle(Engine& engine) {
  const auto impl = engine.live();
  if (!impl.ok()) {
    return {};
  }
  const auto able = impl.value()->worker_skills();
  return able.ok() ? impl.value()->loop().settle(*able.value().skills) : TimesAhead{};
}

Result<void> Engine::register_workflow(const Workflow& workflow) {
  HOLDFAST_TRY(Impl* const impl, live());
  HOLDFAST_TRY(const auto definition, Definition::create(spec_of(workflow)));
  return impl->add_definition(definition);
}

Result<void> Engine::register_workflow(const WorkflowDefinition& workflow) {
  return register_workflow_json(workflow.json());
}

Result<void> Engine::register_workflow_json(std::string_view spec) {
  HOLDFAST_TRY(Impl* const impl, live());
  HOLDFAST_TRY(const auto definition, Definition::parse(spec));
  return impl->add_definition(definition);
}

Result<void> Engine::register_workflow_yaml(std::string_view text, std::string_view name) {
  HOLDFAST_TRY(Impl* const impl, live());
  HOLDFAST_TRY(const auto definition, load_workflow(text, name));
  return impl->add_definition(definition);
}

Result<void> Engine::register_workflow_file(const std::string& path) {
  HOLDFAST_TRY(const std::string text, read_workflow_file(path));
  return register_workflow_yaml(text, path);
}

Result<void> Engine::register_handler(std::string_view name, StepHandler handler) {
  HOLDFAST_TRY(Impl* const impl, live());
  return impl->add_handler(name, std::move(handler));
}

Result<StartedRun> Engine::start(std::string_view workflow, std::string_view input,
                                 const StartOptions& options) {
  HOLDFAST_TRY(Impl* const impl, live());
  return impl->start(workflow, input, options);
}

Result<std::vector<std::string>> Engine::close_circuit_breaker(std::string_view workflow,
                                                               std::string_view step,
                                                               const CloseCircuitOptions& options) {
  HOLDFAST_TRY(Impl* const impl, live());
  return impl->close_circuit_breaker(close_circuit_request(workflow, step, options));
}

Result<DeliveredRun> Engine::deliver_cron(std::string_view workflow, std::string_view trigger,
                                          const DeliverOptions& options) {
  HOLDFAST_TRY(Impl* const impl, live());
  return impl->deliver_cron(workflow, trigger, options);
}

Result<void> Engine::cancel(std::string_view run_id, const CancelOptions& options) {
  HOLDFAST_TRY(Impl* const impl, live());
  HOLDFAST_TRY(const RunId run, parse_run_id(run_id));
  return impl->cancel(run, options);
}

Result<void> Engine::resume(std::string_view run_id, const DecisionOptions& options) {
  HOLDFAST_TRY(Impl* const impl, live());
  HOLDFAST_TRY(const RunId run, parse_run_id(run_id));
  return impl->resolve(run, ManualAction::resumed, options);
}

Result<void> Engine::approve(std::string_view run_id, const DecisionOptions& options) {
  HOLDFAST_TRY(Impl* const impl, live());
  HOLDFAST_TRY(const RunId run, parse_run_id(run_id));
  return impl->resolve(run, ManualAction::approved, options);
}

Result<void> Engine::reject(std::string_view run_id, const DecisionOptions& options) {
  HOLDFAST_TRY(Impl* const impl, live());
  HOLDFAST_TRY(const RunId run, parse_run_id(run_id));
  return impl->resolve(run, ManualAction::rejected, options);
}

Result<void> Engine::retry(std::string_view run_id, const RetryStepOptions& options) {
  HOLDFAST_TRY(Impl* const impl, live());
  HOLDFAST_TRY(const RunId run, parse_run_id(run_id));
  return impl->retry(run, options);
}

Result<void> Engine::discard(std::string_view run_id, const DiscardStepOptions& options) {
  HOLDFAST_TRY(Impl* const impl, live());
  HOLDFAST_TRY(const RunId run, parse_run_id(run_id));
  return impl->discard(run, options);
}

Result<void> Engine::signal(std::string_view run_id, std::string_view event,
                            std::string_view payload, const SignalOptions& options) {
  HOLDFAST_TRY(Impl* const impl, live());
  HOLDFAST_TRY(const RunId run, parse_run_id(run_id));
  return impl->signal(run, event, payload, options);
}

Result<void> Engine::mutate_graph(std::string_view run_id, const GraphMutation& mutation,
                                  const MutationOptions& options) {
  HOLDFAST_TRY(Impl* const impl, live());
  HOLDFAST_TRY(const RunId run, parse_run_id(run_id));
  return impl->mutate_graph(run, mutation, options);
}

Result<void> Engine::migrate(std::string_view run_id, const MigrateOptions& options) {
  HOLDFAST_TRY(Impl* const impl, live());
  HOLDFAST_TRY(const RunId run, parse_run_id(run_id));
  return impl->migrate(run, options);
}

Result<StartedRun> Engine::replay(std::string_view run_id, const ReplayOptions& options) {
  HOLDFAST_TRY(Impl* const impl, live());
  HOLDFAST_TRY(const RunId run, parse_run_id(run_id));
  return impl->replay(run, options);
}

Result<StartedRun> Engine::continue_as_new(std::string_view run_id, std::string_view input,
                                           std::string_view key) {
  HOLDFAST_TRY(Impl* const impl, live());
  HOLDFAST_TRY(const RunId run, parse_run_id(run_id));
  return impl->continue_as_new(run, input, key);
}

Result<void> Engine::set_search_attributes(std::string_view run_id, std::string_view changes,
                                           std::string_view idempotency_key) {
  HOLDFAST_TRY(Impl* const impl, live());
  HOLDFAST_TRY(const RunId run, parse_run_id(run_id));
  return impl->set_search_attributes(run, changes, idempotency_key);
}

Result<void> Engine::archive(std::string_view run_id, std::string_view reason) {
  HOLDFAST_TRY(Impl* const impl, live());
  HOLDFAST_TRY(const RunId run, parse_run_id(run_id));
  return impl->archive(run, reason);
}

Result<void> Engine::unarchive(std::string_view run_id) {
  HOLDFAST_TRY(Impl* const impl, live());
  HOLDFAST_TRY(const RunId run, parse_run_id(run_id));
  return impl->unarchive(run);
}

Result<std::optional<ExecutedStep>> Engine::execute_next(std::chrono::milliseconds wait_up_to) {
  HOLDFAST_TRY(Impl* const impl, live());
  HOLDFAST_TRY(WorkerSkills skills, impl->worker_skills());
  StepRunner runner(impl->loop(), std::move(skills));
  HOLDFAST_TRY(const auto claimed, runner.next(std::nullopt, wait_up_to));
  if (!claimed.has_value()) {
    return std::optional<ExecutedStep>();
  }
  const StepReport report = runner.execute(*claimed);
  HOLDFAST_TRY(ReportedStep reported, runner.store(report));
  return std::optional(ExecutedStep{info_of(claimed->assignment), kind_of(*report.outcome),
                                    reported.counted, std::move(reported.run_status)});
}

Result<std::uint64_t> Engine::drain(const DrainOptions& options) {
  HOLDFAST_TRY(Impl* const impl, live());
  if (options.threads == 0) {
    return Error{ErrorCode::invalid_argument, "threads must be at least 1"}.with("field",
                                                                                 "threads");
  }
  HOLDFAST_TRY(const WorkerSkills skills, impl->worker_skills());
  return drain_steps(impl->loop(), skills, {options.threads, options.idle_for, options.max_steps});
}

Result<void> Engine::work(std::size_t threads, const std::stop_token& stop) {
  HOLDFAST_TRY(Impl* const impl, live());
  return impl->work(threads, stop);
}

Result<RunView> Engine::inspect(std::string_view run_id) {
  HOLDFAST_TRY(Impl* const impl, live());
  HOLDFAST_TRY(const RunId run, parse_run_id(run_id));
  return impl->inspect(run);
}

Result<RunView> Engine::wait(std::string_view run_id, std::chrono::milliseconds timeout) {
  HOLDFAST_TRY(Impl* const impl, live());
  HOLDFAST_TRY(const RunId run, parse_run_id(run_id));
  HOLDFAST_CHECK(wait_for_end(impl->loop(), run, timeout));
  return impl->inspect(run);
}

Result<RunExplanation> Engine::explain(std::string_view run_id, std::string_view at) {
  HOLDFAST_TRY(Impl* const impl, live());
  HOLDFAST_TRY(const RunId run, parse_run_id(run_id));
  return impl->explain(run, at);
}

Result<std::string> Engine::snapshot_json(std::string_view run_id, std::string_view at) {
  HOLDFAST_TRY(Impl* const impl, live());
  HOLDFAST_TRY(const RunId run, parse_run_id(run_id));
  HOLDFAST_TRY(const At point, At::parse(at));
  HOLDFAST_TRY(Inspector inspector, impl->inspector());
  HOLDFAST_TRY(const JsonText json, inspector.snapshot(run, point));
  return std::string(json.view());
}

Result<std::string> Engine::graph_json(std::string_view run_id, std::string_view at) {
  HOLDFAST_TRY(Impl* const impl, live());
  HOLDFAST_TRY(const RunId run, parse_run_id(run_id));
  HOLDFAST_TRY(const At point, At::parse(at));
  HOLDFAST_TRY(Inspector inspector, impl->inspector());
  HOLDFAST_TRY(const RunGraph graph, inspector.graph(run, point));
  return std::string(to_json(graph, true).view());
}

Result<std::string> Engine::timeline_json(std::string_view run_id, std::string_view at) {
  HOLDFAST_TRY(Impl* const impl, live());
  HOLDFAST_TRY(const RunId run, parse_run_id(run_id));
  HOLDFAST_TRY(const At point, At::parse(at));
  HOLDFAST_TRY(Inspector inspector, impl->inspector());
  HOLDFAST_TRY(const Timeline timeline, inspector.timeline(run, point));
  return std::string(to_json(timeline).view());
}

Result<std::string> Engine::diff_json(std::string_view run_id, std::string_view from,
                                      std::string_view to) {
  HOLDFAST_TRY(Impl* const impl, live());
  HOLDFAST_TRY(const RunId run, parse_run_id(run_id));
  HOLDFAST_TRY(const At first, At::parse(from));
  HOLDFAST_TRY(const At second, At::parse(to));
  HOLDFAST_TRY(Inspector inspector, impl->inspector());
  HOLDFAST_TRY(const auto difference, inspector.diff(run, first, second));
  return std::string(to_json(difference).view());
}

Result<RunPage> Engine::list(const ListOptions& options) {
  HOLDFAST_TRY(Impl* const impl, live());
  return impl->list(options);
}

Result<std::string> Engine::status_json(std::string_view at) {
  HOLDFAST_TRY(Impl* const impl, live());
  HOLDFAST_TRY(const At point, At::parse(at));
  HOLDFAST_TRY(Inspector inspector, impl->inspector());
  HOLDFAST_TRY(const StoreStatus status, inspector.status(point));
  return std::string(to_json(status).view());
}

Result<std::string> Engine::doctor_json(std::string_view at) {
  HOLDFAST_TRY(Impl* const impl, live());
  HOLDFAST_TRY(const At point, At::parse(at));
  HOLDFAST_TRY(Inspector inspector, impl->inspector());
  HOLDFAST_TRY(const Diagnosis diagnosis, inspector.doctor(point));
  return std::string(to_json(diagnosis).view());
}

Result<EngineStats> Engine::stats() {
  HOLDFAST_TRY(Impl* const impl, live());
  return impl->stats();
}

void Engine::close() {
  if (impl_ != nullptr) {
    impl_->close();
  }
}

}  // namespace holdfast
