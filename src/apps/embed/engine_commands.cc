// The commands on runs.
#include "apps/embed/engine_impl.h"

namespace holdfast {

Result<void> Engine::Impl::carry_out(Question<Done> question) {
  const auto done = loop_->execute<Done>(std::move(question));
  return done.ok() ? Result<void>() : Result<void>(done.error());
}

Result<StartedRun> Engine::Impl::begin(Question<Started> question) {
  HOLDFAST_TRY(const Started started, loop_->execute<Started>(std::move(question)));
  return StartedRun{to_string(started.run_id), started.existed};
}

Result<StartedRun> Engine::Impl::start(std::string_view workflow, std::string_view input,
                                       const StartOptions& options) {
  HOLDFAST_TRY(auto start, questions_.start(workflow, input, options));
  return begin(std::move(start.question));
}

Result<void> Engine::Impl::cancel(const RunId& run, const CancelOptions& options) {
  return carry_out(questions_.cancel(run, options));
}

Result<void> Engine::Impl::resolve(const RunId& run, ManualAction action,
                                   const DecisionOptions& options) {
  HOLDFAST_TRY(auto question, questions_.resolve(run, action, options));
  return carry_out(std::move(question));
}

Result<void> Engine::Impl::signal(const RunId& run, std::string_view event,
                                  std::string_view payload, const SignalOptions& options) {
  HOLDFAST_TRY(auto question, questions_.signal(run, event, payload, options));
  return carry_out(std::move(question));
}

Result<StartedRun> Engine::Impl::replay(const RunId& run, const ReplayOptions& options) {
  HOLDFAST_TRY(auto replay, questions_.replay(run, options));
  return begin(std::move(replay.question));
}

Result<StartedRun> Engine::Impl::continue_as_new(const RunId& run, std::string_view input,
                                                 std::string_view key) {
  HOLDFAST_TRY(auto question, questions_.continue_as_new(run, input, key));
  HOLDFAST_CHECK(carry_out(std::move(question)));
  return StartedRun{to_string(successor_run_id(run, key)), false};
}

Result<void> Engine::Impl::set_search_attributes(const RunId& run, std::string_view changes,
                                                 std::string_view idempotency_key) {
  HOLDFAST_TRY(auto question, questions_.set_search_attributes(run, changes, idempotency_key));
  return carry_out(std::move(question));
}

Result<void> Engine::Impl::archive(const RunId& run, std::string_view reason) {
  return carry_out(RunQuestions::archive(run, reason));
}

Result<void> Engine::Impl::unarchive(const RunId& run) {
  return carry_out(RunQuestions::unarchive(run));
}

}  // namespace holdfast
