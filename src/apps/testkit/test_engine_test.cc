// The test kit, as a user's test sees it.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "holdfast/json.h"
#include "holdfast/testing.h"
#include "tests/support/temp_dir.h"

namespace holdfast::test_engine_test {
namespace {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace)
using holdfast::testing::TestEngine;
using holdfast::testing::TestFailure;
using holdfast::testing::TestOptions;
using holdfast::testing::TestRun;
using holdfast::testing::Time;
using holdfast::testing::TimeSkip;

Workflow order() {
  return Workflow("order")
      .step("charge", {.lease = 1min, .retry = {.max_attempts = 3, .delay = 10min}})
      .wait("grace", 24h, {.after = {"charge"}})
      .step("ship", {.after = {"grace"}, .lease = 1min});
}

// An engine with the workflow above and a stub for each step.
void prepare(TestEngine& engine) {
  engine.workflow(order());
  engine.stub("charge").returns(R"({"paid":true})");
  engine.stub("ship").returns(R"({"shipped":true})");
}

// The text of the failure that the call throws.
template <typename Call>
std::string failure_of(Call call) {
  try {
    call();
  } catch (const TestFailure& failure) {
    return failure.what();
  }
  return "no failure";
}

std::chrono::milliseconds since_start(Time time) {
  return std::chrono::floor<std::chrono::milliseconds>(time - TestOptions{}.start);
}

TEST(TestEngineTime, waits_and_retries_take_virtual_time_only) {
  TestEngine engine;
  prepare(engine);
  engine.stub("charge").fails(2);
  auto run = engine.start("order", R"({"order":7})");
  EXPECT_EQ(run.finish().status, "completed");
  EXPECT_EQ(since_start(engine.now()), 24h + 20min);
  EXPECT_EQ(since_start(engine.calls("charge").at(1).at), 10min);
  EXPECT_EQ(run.view().result, R"({"order":7,"paid":true,"shipped":true})");
}

TEST(TestEngineTime, a_manual_clock_moves_only_on_request) {
  TestEngine engine({.skip = TimeSkip::manual});
  prepare(engine);
  auto run = engine.start("order");
  engine.run_until_idle();
  engine.assert_called("charge", 1);
  EXPECT_EQ(since_start(engine.now()), 0ms);
  EXPECT_NE(failure_of([&] { run.finish(); }).find("call skip()"), std::string::npos);
  engine.skip(24h - 1ms);
  engine.assert_called("ship", 0);
  engine.skip(1ms);
  engine.assert_called("ship", 1);
  EXPECT_EQ(run.status(), "completed");
}

TEST(TestEngineTime, timers_on_the_way_happen_at_their_time) {
  TestEngine engine({.skip = TimeSkip::manual});
  prepare(engine);
  auto run = engine.start("order");
  engine.skip(72h);
  EXPECT_EQ(since_start(engine.calls("ship").at(0).at), 24h);
  EXPECT_EQ(since_start(engine.now()), 72h);
  EXPECT_EQ(run.view().ended_at_ms, run.view().started_at_ms + 24 * 3'600'000);
}

TEST(TestEngineTime, the_clock_cannot_be_set_back) {
  TestEngine engine;
  EXPECT_NE(failure_of([&] { engine.skip_to(engine.now() - 1h); }).find("cannot be set back"),
            std::string::npos);
}

TEST(TestEngineTime, time_cannot_be_skipped_while_a_handler_runs) {
  TestEngine engine;
  prepare(engine);
  engine.stub("charge").runs([&](StepContext&, std::string_view) {
    engine.skip(1h);
    return StepResult::ok();
  });
  auto run = engine.start("order");
  EXPECT_EQ(failure_of([&] { run.finish(); }),
            "skip() cannot be called while handler \"charge\" is running");
}

TEST(TestEngineTime, a_schedule_starts_runs_at_its_times) {
  TestEngine engine;
  engine.workflow(Workflow("report")
                      .cron("nightly", {.expression = "30 2 * * *", .timezone = "Europe/Berlin"})
                      .step("write"));
  engine.stub("write");
  engine.run_until_idle();  // a schedule alone does not move the clock
  EXPECT_EQ(since_start(engine.now()), 0ms);
  engine.skip(3 * 24h);
  const auto runs = engine.runs("report");
  ASSERT_EQ(runs.size(), 3U);
  for (const TestRun& run : runs) {
    EXPECT_EQ(run.status(), "completed");
  }
  EXPECT_EQ(since_start(engine.calls("write").at(0).at), 90min);
  EXPECT_EQ(since_start(engine.calls("write").at(1).at), 24h + 90min);
}

TEST(TestEngineTime, a_run_that_never_ends_is_reported) {
  TestEngine engine({.max_steps = 50});
  engine.workflow(Workflow("poll").step("look"));
  engine.stub("look").runs(
      [](StepContext&, std::string_view) { return StepResult::defer("not yet", 1h); });
  auto run = engine.start("poll");
  EXPECT_NE(failure_of([&] { run.finish(); }).find("max_steps"), std::string::npos);
}

TEST(TestEngineStubs, a_script_comes_before_the_lasting_result) {
  TestEngine engine;
  engine.workflow(Workflow("job").step("work", {.retry = {.max_attempts = 9}}));
  engine.stub("work")
      .once(StepResult::retry("first", "1"))
      .fails(1, "second", "2")
      .once(StepResult::defer("third", 5min))
      .returns(R"({"done":1})");
  EXPECT_EQ(engine.start("job").finish().result, R"({"done":1})");
  engine.assert_called("work", 4);
  EXPECT_EQ(engine.start("job").finish().status, "completed");
  engine.assert_called("work", 5);
}

TEST(TestEngineStubs, a_stub_replaces_a_handler_until_it_is_removed) {
  TestEngine engine;
  engine.workflow(Workflow("job").step("work"));
  engine.handle(
      "work", [](StepContext&, std::string_view) { return StepResult::ok(R"({"by":"handler"})"); });
  engine.stub("work").returns(R"({"by":"stub"})");
  EXPECT_EQ(engine.start("job").finish().result, R"({"by":"stub"})");
  engine.remove_stub("work");
  EXPECT_EQ(engine.start("job").finish().result, R"({"by":"handler"})");
}

TEST(TestEngineStubs, an_http_or_exec_step_can_be_stubbed_by_its_name) {
  TestEngine engine;
  engine.workflow_yaml(R"(
workflow: fetch
steps:
  - name: page
    http: {method: GET, url: "https://nowhere.invalid/", allowed_hosts: [nowhere.invalid]}
    output: page
  - name: save
    after: page
    exec: ["false"]
)");
  engine.stub("page").returns(R"({"status":200})");
  engine.stub("save").returns(R"({"saved":true})");
  EXPECT_EQ(engine.start("fetch").finish().result, R"({"page":{"status":200},"saved":true})");
  engine.remove_stub("save");
  EXPECT_EQ(engine.start("fetch").finish().status, "failed");  // "false" itself
}

TEST(TestEngineStubs, a_missing_handler_is_named) {
  TestEngine engine;
  engine.workflow(order());
  auto run = engine.start("order");
  EXPECT_NE(failure_of([&] { run.finish(); }).find("charge"), std::string::npos);
}

TEST(TestEngineStubs, calls_can_be_compared) {
  TestEngine engine;
  prepare(engine);
  engine.start("order", R"({"order":7,"lines":[1,2]})").finish();
  engine.assert_called_with("charge", R"({"lines":[1, 2]})");
  engine.assert_called_with("ship", R"({"order":7.0,"paid":true})");
  const auto with = [&](std::string_view members) {
    return failure_of([&] { engine.assert_called_with("charge", members); });
  };
  EXPECT_NE(with(R"({"order":8})").find(R"("charge" was not called with {"order":8})"),
            std::string::npos);
  EXPECT_NE(with(R"({"order":7,"paid":true})").find(R"({"order":7,"lines":[1,2]})"),
            std::string::npos);
  EXPECT_NE(with("7").find("JSON object"), std::string::npos);
  EXPECT_NE(failure_of([&] { engine.assert_called("charge", 2); }).find("1 times instead of 2"),
            std::string::npos);
}

TEST(TestEngineCrash, a_crash_after_a_handler_repeats_the_step_with_the_same_key) {
  TestEngine engine;
  prepare(engine);
  engine.crash_after("ship");
  auto run = engine.start("order");
  EXPECT_EQ(run.finish().status, "completed");
  EXPECT_EQ(engine.crashes(), 1U);
  engine.assert_called("charge", 1);
  engine.assert_called("ship", 2);
  const auto calls = engine.calls("ship");
  EXPECT_EQ(calls.at(0).step.idempotency_key, calls.at(1).step.idempotency_key);
  EXPECT_EQ(calls.at(1).at - calls.at(0).at, 1min);  // its lease
}

TEST(TestEngineCrash, a_crash_before_a_handler_calls_it_once) {
  TestEngine engine;
  prepare(engine);
  engine.crash_before("charge");
  EXPECT_EQ(engine.start("order").finish().status, "completed");
  EXPECT_EQ(engine.crashes(), 1U);
  engine.assert_called("charge", 1);
  EXPECT_EQ(since_start(engine.calls("charge").at(0).at), 1min);
}

TEST(TestEngineCrash, a_run_continues_after_a_crash_and_a_restart) {
  const TempDir folder;
  for (const std::string& store : {std::string("memory:"), "sqlite:" + folder.file("test.db")}) {
    TestEngine engine({.skip = TimeSkip::manual, .store = store});
    prepare(engine);
    auto run = engine.start("order");
    engine.run_until_idle();
    engine.crash();
    EXPECT_EQ(failure_of([&] { engine.run_until_idle(); }),
              "the engine has crashed; call restart() first");
    EXPECT_EQ(failure_of([&] { engine.start("order"); }),
              "the engine has crashed; call restart() first");
    engine.restart();
    engine.skip(24h);
    EXPECT_EQ(run.status(), "completed");
    engine.restart();
    EXPECT_EQ(run.status(), "completed");
    engine.assert_called("charge", 1);
    engine.assert_called("ship", 1);
  }
}

TEST(TestEngineCrash, every_commit_may_be_the_last_one) {
  for (std::uint64_t commits = 1; commits < 100; ++commits) {
    TestEngine engine;
    prepare(engine);
    engine.stub("charge").fails(1);
    engine.crash_after_commits(commits);
    auto run = engine.start("order", R"({"order":7})");
    const RunView ended = run.finish();
    EXPECT_EQ(ended.status, "completed") << commits;
    EXPECT_EQ(ended.result, R"({"order":7,"paid":true,"shipped":true})") << commits;
    EXPECT_EQ(engine.runs().size(), 1U) << commits;
    if (engine.crashes() == 0) {
      EXPECT_GT(commits, 5U);
      return;
    }
  }
  FAIL() << "every number of commits led to a crash";
}

TEST(TestEngineCommands, people_and_events_decide) {
  TestEngine engine;
  engine.workflow(Workflow("leave")
                      .approval("review", "May she?")
                      .await_event("signed", "signed", {.after = {"review"}})
                      .log("done", "{name} is absent", {.after = {"signed"}}));
  auto run = engine.start("leave", R"({"name":"Ann"})");
  EXPECT_NE(failure_of([&] { run.finish(); }).find("review"), std::string::npos);
  run.approve("bob");
  run.signal("signed", R"({"by":"carol"})");
  EXPECT_EQ(run.finish().status, "completed");
  ASSERT_EQ(engine.logs().size(), 1U);
  EXPECT_EQ(engine.logs().at(0).message, "Ann is absent");
  EXPECT_EQ(failure_of([&] { run.reject("bob"); }).rfind("cannot reject run " + run.id(), 0), 0U);
}

TEST(TestEngineCommands, a_command_that_a_crash_interrupts_takes_effect_once) {
  TestEngine engine;
  engine.workflow(Workflow("pair")
                      .await_event("first", "paid")
                      .await_event("second", "paid", {.after = {"first"}}));
  auto run = engine.start("pair");
  engine.run_until_idle();
  engine.crash_after_commits(1);
  run.signal("paid");
  EXPECT_EQ(engine.crashes(), 1U);
  EXPECT_NE(failure_of([&] { run.finish(); }).find("second"), std::string::npos);
  run.signal("paid");
  EXPECT_EQ(run.finish().status, "completed");
}

TEST(TestEngineCommands, errors_are_failures_unless_the_engine_is_called) {
  TestEngine engine;
  EXPECT_NE(failure_of([&] { engine.start("nothing"); }).find("\"nothing\""), std::string::npos);
  EXPECT_EQ(engine->start("nothing").error().code(), ErrorCode::unknown_workflow);
  EXPECT_NE(failure_of([&] { engine.workflow(Workflow("empty")); }).find("cannot register"),
            std::string::npos);
  EXPECT_NE(failure_of([&] { TestEngine other({.store = "nothing:"}); }).find("TestOptions::store"),
            std::string::npos);
}

std::string history(std::uint64_t seed) {
  TestEngine engine({.seed = seed});
  prepare(engine);
  engine.stub("charge").fails(1);
  engine.crash_after("ship");
  auto run = engine.start("order", R"({"order":7})");
  run.finish();
  return run.timeline();
}

TEST(TestEngineHistory, the_same_test_gives_the_same_history) {
  EXPECT_EQ(history(1), history(1));
  EXPECT_NE(history(1), history(2));
}

}  // namespace
}  // namespace holdfast::test_engine_test
