#include <fmt/format.h>

#include "apps/testkit/test_engine_impl.h"
#include "base/json_value.h"
#include "holdfast/json.h"
#include "runs/language/data/canonical_json.h"

namespace holdfast::testing {

namespace {

bool has_members(std::string_view input, const Json& members, std::string_view text) {
  for (std::size_t i = 0; i < members.size(); ++i) {
    const auto expected = json_value(text, members.member(i).first);
    const auto actual = json_value(input, members.member(i).first);
    if (!actual.has_value() || canonical_json(*actual) != canonical_json(*expected)) {
      return false;
    }
  }
  return true;
}

std::string text_of(const std::vector<HandlerCall>& calls) {
  std::string text = calls.empty() ? "it was not called" : "its calls:";
  for (const HandlerCall& call : calls) {
    text += fmt::format("\n  {} attempt {} of step \"{}\": {}", format_time(time_ms(call.at)),
                        call.step.attempt, call.step.step, call.input);
  }
  return text;
}

}  // namespace

TestEngine::TestEngine(TestOptions options) : impl_(std::make_unique<Impl>(std::move(options))) {}
TestEngine::~TestEngine() = default;

void TestEngine::workflow(const Workflow& workflow) {
  impl_->must("cannot register the workflow",
              [&](Engine& engine) { return engine.register_workflow(workflow); });
}

void TestEngine::workflow_yaml(std::string_view text, std::string_view name) {
  impl_->must("cannot register the workflow",
              [&](Engine& engine) { return engine.register_workflow_yaml(text, name); });
}

void TestEngine::workflow_file(const std::string& path) {
  impl_->must("cannot register the workflow",
              [&](Engine& engine) { return engine.register_workflow_file(path); });
}

void TestEngine::handle(std::string_view name, StepHandler handler) {
  impl_->handle(name, std::move(handler));
}
Stub& TestEngine::stub(std::string_view name) { return impl_->stub(name); }
void TestEngine::remove_stub(std::string_view name) { impl_->remove_stub(name); }

TestRun TestEngine::start(std::string_view workflow, std::string_view input,
                          const StartOptions& options) {
  return {*this, impl_->start(workflow, input, options)};
}

std::vector<TestRun> TestEngine::runs(std::string_view workflow) {
  std::vector<TestRun> runs;
  for (std::string& id : impl_->runs(workflow)) {
    runs.emplace_back(*this, std::move(id));
  }
  return runs;
}

void TestEngine::run_until_idle() {
  impl_->run_until([] { return false; });
}
void TestEngine::skip(std::chrono::milliseconds time) {
  impl_->skip_to(TimeMs{impl_->now().value + time.count()});
}
void TestEngine::skip_to(Time time) { impl_->skip_to(time_ms(time)); }
Time TestEngine::now() const { return time_of(impl_->now()); }

void TestEngine::crash() { impl_->crash(); }
void TestEngine::crash_before(std::string_view name) {
  impl_->plan_crash(name, Impl::Crash::before);
}
void TestEngine::crash_after(std::string_view name) { impl_->plan_crash(name, Impl::Crash::after); }
void TestEngine::crash_after_commits(std::uint64_t commits) {
  impl_->plan_crash_after_commits(commits);
}
std::uint64_t TestEngine::crashes() const { return impl_->crashes(); }
void TestEngine::restart() { impl_->restart(); }

std::vector<HandlerCall> TestEngine::calls(std::string_view name) const {
  return impl_->calls(name);
}

void TestEngine::assert_called(std::string_view name, std::size_t times) const {
  const std::vector<HandlerCall> found = calls(name);
  if (found.size() != times) {
    Impl::fail(fmt::format("\"{}\" was called {} times instead of {}; {}", name, found.size(),
                           times, text_of(found)));
  }
}

void TestEngine::assert_called_with(std::string_view name, std::string_view members) const {
  const auto expected = Json::parse(members);
  if (!expected.ok() || expected.value().kind() != Json::Kind::object) {
    Impl::fail(fmt::format("assert_called_with() needs a JSON object, not {}", members));
  }
  const std::vector<HandlerCall> found = calls(name);
  for (const HandlerCall& call : found) {
    if (has_members(call.input, expected.value(), members)) {
      return;
    }
  }
  Impl::fail(fmt::format("\"{}\" was not called with {}; {}", name, members, text_of(found)));
}

std::vector<LogMessage> TestEngine::logs() const { return impl_->logs(); }
Engine& TestEngine::engine() { return impl_->live(); }

}  // namespace holdfast::testing
