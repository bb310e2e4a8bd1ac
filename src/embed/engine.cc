#include "holdfast/engine.h"

#include "embed/engine_impl.h"
#include "embed/listing.h"
#include "embed/run_wait.h"
#include "embed/step_outcome.h"

namespace holdfast {

namespace {

Backoff backoff_of(RetryBackoff backoff) {
  switch (backoff) {
    case RetryBackoff::fixed:
      return Backoff::fixed;
    case RetryBackoff::linear:
      return Backoff::linear;
    case RetryBackoff::exponential:
      break;
  }
  return Backoff::exponential;
}

// Negative times become longer than any that is allowed, so the definition is refused.
std::uint64_t time_of(std::chrono::milliseconds time) {
  return static_cast<std::uint64_t>(time.count());
}

StepSpec spec_of(const Workflow::Step& step) {
  StepSpec spec;
  spec.name = step.name;
  spec.handler = step.settings.handler;
  spec.queue = step.settings.queue;
  spec.after.assign(step.settings.after.begin(), step.settings.after.end());
  spec.lease_ms = time_of(step.settings.lease);
  spec.retry.max_attempts = step.settings.retry.max_attempts;
  spec.retry.delay_ms = time_of(step.settings.retry.delay);
  spec.retry.max_delay_ms = time_of(step.settings.retry.max_delay);
  spec.retry.backoff = backoff_of(step.settings.retry.backoff);
  return spec;
}

}  // namespace

Engine::Engine(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Engine::Engine(Engine&& other) noexcept = default;
Engine& Engine::operator=(Engine&& other) noexcept = default;
Engine::~Engine() = default;

Result<Engine> Engine::open(std::string_view url, const EngineOptions& options) {
  HOLDFAST_TRY(auto impl, Impl::open(url, options));
  return Engine(std::move(impl));
}

Result<void> Engine::register_workflow(const Workflow& workflow) {
  WorkflowSpec spec;
  spec.workflow = workflow.name();
  spec.version = workflow.version();
  for (const Workflow::Step& step : workflow.steps()) {
    spec.steps.push_back(spec_of(step));
  }
  HOLDFAST_TRY(const auto definition, Definition::create(spec));
  return impl_->add_definition(definition);
}

Result<void> Engine::register_workflow_json(std::string_view spec) {
  HOLDFAST_TRY(const auto definition, Definition::parse(spec));
  return impl_->add_definition(definition);
}

Result<void> Engine::register_handler(std::string_view name, StepHandler handler) {
  return impl_->add_handler(name, std::move(handler));
}

Result<StartedRun> Engine::start(std::string_view workflow, std::string_view input,
                                 const StartOptions& options) {
  return impl_->start(workflow, input, options);
}

Result<void> Engine::cancel(std::string_view run_id, const CancelOptions& options) {
  HOLDFAST_TRY(const RunId run, parse_run_id(run_id));
  return impl_->cancel(run, options);
}

Result<std::optional<ExecutedStep>> Engine::execute_next(std::chrono::milliseconds wait_up_to) {
  HOLDFAST_TRY(Hands hands, impl_->hands());
  StepRunner runner(impl_->loop(), std::move(hands));
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
  if (options.threads == 0) {
    return Error{ErrorCode::invalid_argument, "nothing is executed without threads"}.with(
        "field", "threads");
  }
  HOLDFAST_TRY(const Hands hands, impl_->hands());
  return drain_steps(impl_->loop(), hands, {options.threads, options.idle_for, options.max_steps});
}

Result<void> Engine::work(std::size_t threads, const std::stop_token& stop) {
  return impl_->work(threads, stop);
}

Result<RunView> Engine::inspect(std::string_view run_id) {
  HOLDFAST_TRY(const RunId run, parse_run_id(run_id));
  return impl_->inspect(run);
}

Result<RunView> Engine::wait(std::string_view run_id, std::chrono::milliseconds timeout) {
  HOLDFAST_TRY(const RunId run, parse_run_id(run_id));
  HOLDFAST_CHECK(wait_for_end(impl_->loop(), run, timeout));
  return impl_->inspect(run);
}

Result<RunPage> Engine::list(const ListOptions& options) {
  return list_runs(impl_->loop(), options);
}

Result<EngineStats> Engine::stats() { return impl_->stats(); }

void Engine::close() { impl_->close(); }

}  // namespace holdfast
