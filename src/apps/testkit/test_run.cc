#include <fmt/format.h>

#include "apps/testkit/test_engine_impl.h"

namespace holdfast::testing {

namespace {

// A key under which a signal that a crash interrupted is sent again.
constexpr std::string_view kSignalKey = "test-signal-";

}  // namespace

Stub& Stub::once(StepResult result) {
  script_.push_back(std::move(result));
  return *this;
}

Stub& Stub::fails(std::uint32_t times, std::string_view code, std::string_view message) {
  for (std::uint32_t i = 0; i < times; ++i) {
    once(StepResult::retry(std::string(code), std::string(message)));
  }
  return *this;
}

Stub& Stub::returns(std::string json) {
  return runs(
      [json = std::move(json)](StepContext&, std::string_view) { return StepResult::ok(json); });
}

Stub& Stub::runs(StepHandler handler) {
  always_ = std::move(handler);
  return *this;
}

StepResult Stub::call(StepContext& context, std::string_view input) {
  if (!script_.empty()) {
    StepResult result = std::move(script_.front());
    script_.pop_front();
    return result;
  }
  const StepHandler called = always_;  // it may change the stub
  return called ? called(context, input) : StepResult::ok();
}

RunView TestRun::finish() {
  TestEngine::Impl& engine = *engine_->impl_;
  engine.run_until([&] { return view().terminal; });
  RunView run = view();
  if (!run.terminal) {
    const bool waits_for_test = engine.time_skip() == TimeSkip::manual;
    TestEngine::Impl::fail(fmt::format(
        "run {} of workflow \"{}\" has not ended: {}{}", id_, run.workflow, explain(),
        waits_for_test ? " Time does not skip by itself (TimeSkip::manual): call skip()." : ""));
  }
  return run;
}

RunView TestRun::view() const {
  return engine_->impl_->must("cannot read run " + id_,
                              [&](Engine& engine) { return engine.inspect(id_); });
}

std::string TestRun::explain() const {
  return engine_->impl_
      ->must("cannot explain run " + id_, [&](Engine& engine) { return engine.explain(id_); })
      .summary;
}

std::string TestRun::timeline() const {
  return engine_->impl_->must("cannot read run " + id_,
                              [&](Engine& engine) { return engine.timeline_json(id_); });
}

void TestRun::approve(std::string_view actor, const DecisionOptions& options) {
  DecisionOptions decision = options;
  decision.actor = actor;
  engine_->impl_->must("cannot approve run " + id_,
                       [&](Engine& engine) { return engine.approve(id_, decision); });
}

void TestRun::reject(std::string_view actor, const DecisionOptions& options) {
  DecisionOptions decision = options;
  decision.actor = actor;
  engine_->impl_->must("cannot reject run " + id_,
                       [&](Engine& engine) { return engine.reject(id_, decision); });
}

void TestRun::resume(const DecisionOptions& options) {
  engine_->impl_->must("cannot resume run " + id_,
                       [&](Engine& engine) { return engine.resume(id_, options); });
}

void TestRun::signal(std::string_view event, std::string_view payload,
                     const SignalOptions& options) {
  SignalOptions signal = options;
  if (signal.idempotency_key.empty()) {
    signal.idempotency_key = std::string(kSignalKey) + engine_->impl_->new_key();
  }
  engine_->impl_->must(fmt::format("cannot send \"{}\" to run {}", event, id_),
                       [&](Engine& engine) { return engine.signal(id_, event, payload, signal); });
}

void TestRun::cancel(const CancelOptions& options) {
  engine_->impl_->must("cannot cancel run " + id_,
                       [&](Engine& engine) { return engine.cancel(id_, options); });
}

}  // namespace holdfast::testing
