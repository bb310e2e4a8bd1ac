// TestEngine: the engine for unit tests of workflows and handlers. Time is virtual, steps can be
// replaced by stubs, and the engine can crash.
//
//   holdfast::testing::TestEngine engine;
//   engine.workflow(holdfast::Workflow("order")
//                       .step("charge", {.retry = {.max_attempts = 3, .delay = 10min}})
//                       .wait("grace", 24h, {.after = {"charge"}})
//                       .step("ship", {.after = {"grace"}}));
//   engine.stub("charge").fails(2).returns(R"({"paid":true})");
//   engine.handle("ship", ship);
//   auto run = engine.start("order", R"({"order":7})");
//   engine.crash_after("ship");
//   assert(run.finish().status == "completed");   // a day later, at once
//   engine.assert_called("ship", 2);
//
// It is the engine of holdfast/engine.h on a store in memory or in a file. Timers, retries, waits,
// timeouts, schedules and leases follow the virtual clock, which moves only when a test skips time,
// and never while a handler is running. Everything happens in the thread of the test, during calls;
// the same test makes the same ids, times and facts each time.
//
// A call that fails throws TestFailure, whose text says what happened and what to do; every test
// framework reports it. Use one thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "holdfast/engine.h"
#include "holdfast/run.h"
#include "holdfast/step.h"
#include "holdfast/workflow.h"

namespace holdfast::testing {

using Time = std::chrono::system_clock::time_point;

class TestFailure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// When the clock moves without a call of skip() or skip_to().
enum class TimeSkip : std::uint8_t {
  automatic,  // to the next timer of a run, when nothing else is left to do
  manual,     // never
};

struct TestOptions {
  TimeSkip skip = TimeSkip::automatic;
  Time start = Time(std::chrono::hours(24 * 365 * 56 + 24 * 14));  // 2026-01-01T00:00:00Z
  std::string store = "memory:";  // or the URL of another store, which the test removes
  std::uint64_t seed = 1;         // of run ids
  // Steps and timers of one call; a call that reaches it fails, because the run may never end.
  std::uint64_t max_steps = 10'000;
  // As in EngineOptions.
  std::function<std::optional<std::string>(std::string_view name)> credential = nullptr;
};

// A call of a handler or stub.
struct HandlerCall {
  std::string handler;
  StepInfo step;
  std::string input;
  Time at;
};

// Replaces a handler, or an http or exec step. Without further calls it returns {}.
class Stub {
 public:
  // The next call that has no result yet gets this one. Several calls make a script.
  Stub& once(StepResult result);
  // The same for a number of retryable failures.
  Stub& fails(std::uint32_t times, std::string_view code = "stubbed",
              std::string_view message = "the stub failed");
  // The result of every call after the script.
  Stub& returns(std::string json);
  // Calls a function after the script.
  Stub& runs(StepHandler handler);

 private:
  friend class TestEngine;
  StepResult call(StepContext& context, std::string_view input);

  std::deque<StepResult> script_;
  StepHandler always_;
};

class TestEngine;

// A run of a TestEngine, which must outlive it.
class TestRun {
 public:
  TestRun(TestEngine& engine, std::string run_id) : engine_(&engine), id_(std::move(run_id)) {}

  [[nodiscard]] const std::string& id() const { return id_; }
  // Executes steps, and skips time if that is automatic, until the run has ended. Fails when the
  // run waits for something else, and says for what.
  RunView finish();
  [[nodiscard]] RunView view() const;
  [[nodiscard]] std::string status() const { return view().status; }
  // Why the run is in its state, in one sentence.
  [[nodiscard]] std::string explain() const;
  // Everything that happened, as JSON.
  [[nodiscard]] std::string timeline() const;

  void approve(std::string_view actor, const DecisionOptions& options = {});
  void reject(std::string_view actor, const DecisionOptions& options = {});
  void resume(const DecisionOptions& options = {});
  void signal(std::string_view event, std::string_view payload = "{}",
              const SignalOptions& options = {});
  void cancel(const CancelOptions& options = {});

 private:
  TestEngine* engine_;
  std::string id_;
};

class TestEngine {
 public:
  explicit TestEngine(TestOptions options = {});
  ~TestEngine();
  TestEngine(const TestEngine&) = delete;
  TestEngine& operator=(const TestEngine&) = delete;

  // Workflows stay registered after a restart, as does everything in the store.
  void workflow(const Workflow& workflow);
  void workflow_yaml(std::string_view text, std::string_view name = "workflow");
  void workflow_file(const std::string& path);
  // Handlers and stubs are registered again after a restart. A stub has precedence over a handler
  // of the same name. name: of a handler; of stubs also of an http or exec step.
  void handle(std::string_view name, StepHandler handler);
  Stub& stub(std::string_view name);
  void remove_stub(std::string_view name);

  // Starts a run; executes nothing yet.
  TestRun start(std::string_view workflow, std::string_view input = "{}",
                const StartOptions& options = {});
  // The runs of a workflow, oldest first; empty: all. Runs of schedules and children are here too.
  std::vector<TestRun> runs(std::string_view workflow = "");

  // Executes everything that is due. If time skips automatically: until no run waits for time.
  void run_until_idle();
  // Moves the clock forward. Timers, retries and schedules on the way happen at their time.
  void skip(std::chrono::milliseconds time);
  void skip_to(Time time);
  [[nodiscard]] Time now() const;

  // The engine ends as by kill -9: what was not stored is gone, and claims are left to their
  // leases. Every other call fails until restart().
  void crash();
  // The next time the step or handler is called: crashes before the call, or after it and before
  // its result is stored. The engine restarts at once, and executes the step again when the lease
  // has ended.
  void crash_before(std::string_view name);
  void crash_after(std::string_view name);
  // Crashes when this many further commits are durable, before any caller gets its result; restarts
  // at once. A test that counts from 1 on visits every point at which a run can be interrupted.
  void crash_after_commits(std::uint64_t commits);
  // How often a planned crash has happened.
  [[nodiscard]] std::uint64_t crashes() const;
  // Opens the store again; a running engine is closed first.
  void restart();

  // The calls of a handler, a stub or a step, oldest first; empty: all.
  [[nodiscard]] std::vector<HandlerCall> calls(std::string_view name = "") const;
  // Fails unless it was called this often.
  void assert_called(std::string_view name, std::size_t times) const;
  // Fails unless a call had these members in its input, with these values.
  void assert_called_with(std::string_view name, std::string_view members) const;
  // The messages of log steps, oldest first. Those of a commit after which the engine crashed are
  // missing, as in a program.
  [[nodiscard]] std::vector<LogMessage> logs() const;

  // The engine itself, for everything else; its calls return errors instead of failing the test.
  Engine& engine();
  Engine* operator->() { return &engine(); }

 private:
  friend class TestRun;
  class Impl;

  std::unique_ptr<Impl> impl_;
};

}  // namespace holdfast::testing
