// Steps, child runs and the threads that execute them, in an embedded engine.
#include <atomic>
#include <future>
#include <stdexcept>
#include <vector>

#include "tests/support/embed_fixture.h"
#include "tests/support/temp_dir.h"

namespace holdfast::embed_step_test {
namespace {

// Steps

TEST(EmbedStep, a_handler_knows_its_step_and_sees_earlier_results) {
  Engine engine = open_engine();
  must(engine.register_workflow(
      Workflow("job").step("a").step("b", {.after = {"a"}, .handler = "second", .queue = "slow"})));
  must(engine.register_handler("a", [](StepContext&, std::string_view input) {
    return StepResult::ok(JsonObject().add("sum", *json_integer(input, "n") + 1).text());
  }));
  std::string seen;
  StepInfo info;
  must(engine.register_handler("second", [&](StepContext& context, std::string_view input) {
    seen = input;
    info = context.info();
    EXPECT_FALSE(context.stop().stop_requested());
    return StepResult::ok(R"({"n":5})");
  }));
  const std::string run = start_job(engine, R"({"n":3})");
  EXPECT_EQ(must(engine.drain()), 2U);
  EXPECT_EQ(json_integer(seen, "n"), 3);
  EXPECT_EQ(json_integer(seen, "sum"), 4);
  EXPECT_EQ(info.run_id, run);
  EXPECT_EQ(info.workflow, "job");
  EXPECT_EQ(info.step, "b");
  EXPECT_EQ(info.queue, "slow");
  EXPECT_EQ(info.attempt, 1U);
  EXPECT_FALSE(info.idempotency_key.empty());
  const RunView view = inspect(engine, run);
  EXPECT_EQ(json_integer(view.context, "n"), 5);
  EXPECT_EQ(view.steps.at(0).result, R"({"sum":4})");
}

TEST(EmbedStep, a_result_that_is_not_json_fails_the_step) {
  Engine engine = open_engine();
  register_job(engine, [](StepContext&, std::string_view) { return StepResult::ok("{oops"); },
               {.retry = {.max_attempts = 3}});
  const std::string run = start_job(engine);
  EXPECT_EQ(must(engine.drain()), 1U);
  const RunView view = inspect(engine, run);
  EXPECT_EQ(view.status, "failed");
  EXPECT_EQ(json_text(view.steps.at(0).error, "code"), "invalid_result");
}

TEST(EmbedStep, a_result_that_is_too_large_fails_the_step) {
  Engine engine = open_engine();
  register_job(engine, [](StepContext&, std::string_view) {
    return StepResult::ok(JsonObject().add("x", std::string(5U << 20U, 'x')).text());
  });
  const std::string run = start_job(engine);
  EXPECT_EQ(must(engine.drain()), 1U);
  EXPECT_EQ(json_text(inspect(engine, run).steps.at(0).error, "code"), "result_too_large");
}

TEST(EmbedStep, a_result_that_is_not_an_object_is_not_merged_into_the_context) {
  Engine engine = open_engine();
  register_job(engine, [](StepContext&, std::string_view) { return StepResult::ok("[1,2]"); });
  const std::string run = start_job(engine, R"({"n":1})");
  must(engine.drain());
  EXPECT_EQ(inspect(engine, run).steps.at(0).result, "[1,2]");
  EXPECT_EQ(inspect(engine, run).context, R"({"n":1})");
}

TEST(EmbedStep, options_delay_the_next_step) {
  Engine engine = open_engine();
  must(engine.register_workflow(Workflow("job").step("a").step("b", {.after = {"a"}})));
  must(engine.register_handler("a", [](StepContext&, std::string_view) {
    return StepResult::ok("{}", {.schedule_in = milliseconds(150)});
  }));
  must(engine.register_handler("b", nothing));
  const std::string run = start_job(engine);
  EXPECT_EQ(must(engine.drain()), 1U);
  const RunView view = inspect(engine, run);
  EXPECT_EQ(view.steps.at(1).status, "scheduled");
  EXPECT_GE(*json_integer(view.json, "next_visible_at"), view.started_at_ms + 150);
  EXPECT_EQ(must(engine.drain({.idle_for = kLong, .max_steps = 1})), 1U);
  const RunView end = inspect(engine, run);
  EXPECT_EQ(end.status, "completed");
  EXPECT_GE(end.ended_at_ms, end.started_at_ms + 150);
}

TEST(EmbedStep, a_retry_follows_the_policy_of_the_step) {
  Engine engine = open_engine();
  std::vector<std::uint32_t> attempts;
  register_job(engine,
               [&](StepContext& context, std::string_view) {
                 attempts.push_back(context.attempt());
                 return context.attempt() < 3 ? StepResult::retry("busy", "later")
                                              : StepResult::ok();
               },
               {.retry = {.max_attempts = 3, .delay = milliseconds(5)}});
  const std::string run = start_job(engine);
  EXPECT_EQ(must(engine.drain({.idle_for = kLong, .max_steps = 3})), 3U);
  EXPECT_EQ(attempts, (std::vector<std::uint32_t>{1, 2, 3}));
  const RunView view = inspect(engine, run);
  EXPECT_EQ(view.status, "completed");
  EXPECT_EQ(view.steps.at(0).attempts, 3U);
}

TEST(EmbedStep, a_failure_after_the_last_retry_fails_the_run) {
  Engine engine = open_engine();
  register_job(engine,
               [](StepContext&, std::string_view) { return StepResult::retry("busy", "no"); },
               {.retry = {.max_attempts = 2}});
  const std::string run = start_job(engine);
  EXPECT_EQ(must(engine.drain()), 2U);
  const RunView view = inspect(engine, run);
  EXPECT_EQ(view.status, "failed");
  EXPECT_EQ(json_text(view.error, "code"), "busy");
  EXPECT_EQ(view.steps.at(0).status, "failed");
  EXPECT_EQ(view.steps.at(0).attempts, 2U);
}

TEST(EmbedStep, retry_after_sets_the_time_of_the_retry) {
  Engine engine = open_engine();
  register_job(engine,
               [](StepContext& context, std::string_view) {
                 return context.attempt() == 1
                            ? StepResult::retry_after("busy", "later", milliseconds(100'000))
                            : StepResult::ok();
               },
               {.retry = {.max_attempts = 2, .delay = milliseconds(1)}});
  const std::string run = start_job(engine);
  const auto executed = must(engine.execute_next());
  ASSERT_TRUE(executed.has_value());
  EXPECT_EQ(executed->result, StepResult::Kind::retry_after);
  EXPECT_EQ(must(engine.drain()), 0U);
  const RunView view = inspect(engine, run);
  EXPECT_EQ(view.steps.at(0).status, "scheduled");
  EXPECT_GE(*json_integer(view.json, "next_visible_at"), view.started_at_ms + 100'000);
}

TEST(EmbedStep, a_deferred_step_is_executed_later_as_the_same_attempt) {
  Engine engine = open_engine();
  int calls = 0;
  register_job(engine, [&](StepContext& context, std::string_view) {
    EXPECT_EQ(context.attempt(), 1U);
    return ++calls < 3 ? StepResult::defer("not yet", milliseconds(5)) : StepResult::ok();
  });
  const std::string run = start_job(engine);
  const auto first = must(engine.execute_next());
  ASSERT_TRUE(first.has_value());
  EXPECT_EQ(first->result, StepResult::Kind::defer);
  EXPECT_EQ(first->run_status, "running");
  EXPECT_EQ(must(engine.drain({.idle_for = kLong, .max_steps = 2})), 2U);
  EXPECT_EQ(inspect(engine, run).status, "completed");
}

TEST(EmbedStep, a_final_failure_ends_the_run_despite_the_retry_policy) {
  Engine engine = open_engine();
  register_job(
      engine,
      [](StepContext&, std::string_view) { return StepResult::fail("broken", "it \"is\""); },
      {.retry = {.max_attempts = 5}});
  const std::string run = start_job(engine);
  const auto executed = must(engine.execute_next());
  ASSERT_TRUE(executed.has_value());
  EXPECT_EQ(executed->result, StepResult::Kind::fail);
  EXPECT_TRUE(executed->counted);
  EXPECT_EQ(executed->run_status, "failed");
  const RunView view = inspect(engine, run);
  EXPECT_EQ(json_text(view.error, "code"), "broken");
  EXPECT_EQ(json_text(view.error, "message"), "it \"is\"");
}

TEST(EmbedStep, an_exception_is_a_failure_with_its_message) {
  Engine engine = open_engine();
  register_job(engine, [](StepContext&, std::string_view) -> StepResult {
    throw std::out_of_range("no item 7");
  });
  const std::string run = start_job(engine);
  EXPECT_EQ(must(engine.drain()), 1U);
  const RunView view = inspect(engine, run);
  EXPECT_EQ(view.status, "failed");
  EXPECT_EQ(json_text(view.error, "code"), "step_exception");
  EXPECT_NE(json_text(view.error, "message")->find("out_of_range: no item 7"), std::string::npos);
}

TEST(EmbedStep, an_exception_of_any_type_is_a_failure) {
  Engine engine = open_engine();
  register_job(engine, [](StepContext&, std::string_view) -> StepResult { throw 7; });
  const std::string run = start_job(engine);
  EXPECT_EQ(must(engine.drain()), 1U);
  EXPECT_NE(json_text(inspect(engine, run).error, "message")->find("int"), std::string::npos);
}

TEST(EmbedStep, progress_is_shown_while_the_handler_runs) {
  Engine engine = open_engine();
  Gate gate;
  register_job(engine, [&](StepContext& context, std::string_view) {
    context.progress("no JSON");
    context.progress(R"({"done":3,"password":"geheim"})");
    context.progress('"' + std::string(65536, 'x') + '"');
    gate.wait();
    return StepResult::ok();
  });
  const std::string run = start_job(engine);
  Pool pool(engine, 1);
  const auto deadline = std::chrono::steady_clock::now() + kLong;
  const auto shown = [&] { return inspect(engine, run).json.find("\"progress\":{\"done\":3"); };
  while (shown() == std::string::npos && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::yield();
  }
  EXPECT_NE(shown(), std::string::npos);
  EXPECT_EQ(inspect(engine, run).json.find("geheim"), std::string::npos);
  const RunExplanation why = must(engine.explain(run));
  EXPECT_NE(why.summary.find("progress {\"done\":3"), std::string::npos) << why.summary;
  gate.open();
  EXPECT_TRUE(must(engine.wait(run, kLong)).terminal);
  must(pool.stop());
}

TEST(EmbedStep, the_next_owner_of_an_attempt_receives_the_last_progress) {
  const TempDir folder;
  const std::string url = "sqlite:" + folder.file("work.db");
  Gate said;
  Gate gate;
  Engine first = open_engine(url);
  register_job(first,
               [&](StepContext& context, std::string_view) {
                 EXPECT_EQ(context.previous_progress(), "");
                 context.progress(R"({"done":7})");
                 said.open();
                 gate.wait();
                 return StepResult::ok();
               },
               {.lease = milliseconds(300)});
  const std::string run = start_job(first);
  Pool pool(first, 1);
  said.wait();
  const auto deadline = std::chrono::steady_clock::now() + kLong;
  while (inspect(first, run).json.find("\"done\":7") == std::string::npos &&
         std::chrono::steady_clock::now() < deadline) {
    std::this_thread::yield();
  }
  first.close();  // like a process that was lost: it reports nothing more
  std::string previous;
  Engine second = open_engine(url);
  register_job(second, [&](StepContext& context, std::string_view) {
    previous = context.previous_progress();
    return StepResult::ok();
  });
  EXPECT_TRUE(must(second.execute_next(kLong)).has_value());
  EXPECT_EQ(previous, R"({"done":7})");
  gate.open();
  static_cast<void>(pool.stop().ok());
}

TEST(EmbedStep, a_step_context_of_a_test_starts_no_children) {
  StepContext context({.run_id = "r", .step = "s"});
  EXPECT_EQ(code_of(context.start_child("job", "k")), "invalid_argument");
}

// Children

TEST(EmbedChild, a_step_starts_a_child_once_however_often_it_is_retried) {
  Engine engine = open_engine();
  must(engine.register_workflow(Workflow("job").step("work", {.retry = {.max_attempts = 2}})));
  must(engine.register_workflow(Workflow("part").step("piece")));
  must(engine.register_handler("piece", nothing));
  std::vector<StartedRun> children;
  must(engine.register_handler("work", [&](StepContext& context, std::string_view) {
    children.push_back(must(context.start_child("part", "one", R"({"n":1})")));
    EXPECT_EQ(code_of(context.start_child("part", "one", R"({"n":2})")), "conflicting_child_run");
    EXPECT_EQ(code_of(context.start_child("part", "", "{}")), "invalid_argument");
    EXPECT_EQ(code_of(context.start_child("part", "two", "[]")), "invalid_argument");
    EXPECT_EQ(code_of(context.start_child("part", "two", "{")), "invalid_json");
    EXPECT_EQ(code_of(context.start_child("unknown", "two")), "unknown_workflow");
    return context.attempt() == 1 ? StepResult::retry("again", "") : StepResult::ok();
  }));
  const std::string run = start_job(engine);
  EXPECT_EQ(must(engine.drain()), 3U);
  ASSERT_EQ(children.size(), 2U);
  EXPECT_FALSE(children[0].existed);
  EXPECT_TRUE(children[1].existed);
  EXPECT_EQ(children[0].run_id, children[1].run_id);
  EXPECT_EQ(inspect(engine, run).children, std::vector{children[0].run_id});
  const RunView child = inspect(engine, children[0].run_id);
  EXPECT_EQ(child.parent_run_id, run);
  EXPECT_EQ(child.status, "completed");
}

// Executing

TEST(EmbedExecute, one_step_at_a_time_in_the_order_of_the_graph) {
  Engine engine = open_engine();
  must(engine.register_workflow(Workflow("job").step("a").step("b", {.after = {"a"}})));
  must(engine.register_handler("a", nothing));
  must(engine.register_handler("b", nothing));
  EXPECT_FALSE(must(engine.execute_next()).has_value());
  start_job(engine);
  const auto a = must(engine.execute_next());
  const auto b = must(engine.execute_next());
  ASSERT_TRUE(a.has_value() && b.has_value());
  EXPECT_EQ(a->step.step, "a");
  EXPECT_EQ(a->run_status, "running");
  EXPECT_EQ(b->step.step, "b");
  EXPECT_EQ(b->run_status, "completed");
  EXPECT_FALSE(must(engine.execute_next()).has_value());
}

TEST(EmbedExecute, execute_next_waits_for_work_to_appear) {
  Engine engine = open_engine();
  register_job(engine, nothing);
  auto executed = std::async(std::launch::async, [&] { return engine.execute_next(kLong); });
  start_job(engine);
  EXPECT_TRUE(must(executed.get()).has_value());
  EXPECT_FALSE(must(engine.execute_next(milliseconds(10))).has_value());
}

TEST(EmbedExecute, drain_with_threads_executes_a_fan_out_and_its_join) {
  Engine engine = open_engine();
  Workflow workflow("job");
  workflow.step("begin");
  std::vector<std::string> parts;
  for (int i = 0; i < 8; ++i) {
    parts.push_back("part" + std::to_string(i));
    workflow.step(parts.back(), {.after = {"begin"}, .handler = "part"});
  }
  workflow.step("end", {.after = parts});
  must(engine.register_workflow(workflow));
  std::atomic<int> done = 0;
  must(engine.register_handler("begin", nothing));
  must(engine.register_handler("part", [&](StepContext&, std::string_view) {
    ++done;
    return StepResult::ok();
  }));
  must(engine.register_handler("end", [&](StepContext&, std::string_view) {
    EXPECT_EQ(done.exchange(0), 8);
    return StepResult::ok();
  }));
  for (int i = 0; i < 20; ++i) {
    const std::string run = start_job(engine);
    EXPECT_EQ(must(engine.drain({.threads = 4})), 10U);
    EXPECT_EQ(inspect(engine, run).status, "completed");
  }
}

TEST(EmbedExecute, drain_stops_at_its_limit_of_steps) {
  Engine engine = open_engine();
  register_job(engine, nothing);
  for (int i = 0; i < 10; ++i) {
    start_job(engine);
  }
  EXPECT_EQ(must(engine.drain({.threads = 3, .max_steps = 4})), 4U);
  EXPECT_EQ(must(engine.stats()).live_runs, 6U);
  EXPECT_EQ(must(engine.drain({.threads = 3, .max_steps = 100})), 6U);
  EXPECT_EQ(code_of(engine.drain({.threads = 0})), "invalid_argument");
}

TEST(EmbedExecute, a_pool_works_until_it_is_stopped) {
  Engine engine = open_engine();
  register_job(engine, nothing);
  EXPECT_EQ(code_of(engine.work(0, {})), "invalid_argument");
  Pool pool(engine, 2);
  std::vector<std::string> runs;
  for (int i = 0; i < 50; ++i) {
    runs.push_back(start_job(engine));
  }
  for (const std::string& run : runs) {
    EXPECT_EQ(must(engine.wait(run, kLong)).status, "completed");
  }
  must(pool.stop());
}

TEST(EmbedExecute, a_stopped_pool_reports_its_claimed_attempts_before_it_returns) {
  for (int i = 0; i < 50; ++i) {
    Engine engine = open_engine();
    std::stop_source stop;
    register_job(engine, [&](StepContext&, std::string_view) {
      stop.request_stop();
      return StepResult::ok();
    });
    const std::string run = start_job(engine);
    must(engine.work(1, stop.get_token()));
    ASSERT_EQ(inspect(engine, run).status, "completed");
  }
}

TEST(EmbedExecute, a_pool_that_is_stopped_before_it_starts_returns) {
  Engine engine = open_engine();
  register_job(engine, nothing);
  std::stop_source stop;
  stop.request_stop();
  must(engine.work(3, stop.get_token()));
}

TEST(EmbedExecute, other_queues_than_the_default_must_be_named) {
  Engine engine = open_engine("memory:", {.queues = {"nightly"}});
  register_job(engine, nothing);
  start_job(engine, "{}", {.queue = "nightly"});
  const std::string other = start_job(engine, "{}", {.queue = "weekly"});
  EXPECT_EQ(must(engine.drain()), 1U);
  const RunView view = inspect(engine, other);
  EXPECT_EQ(view.queue, "weekly");
  EXPECT_EQ(view.status, "running");
}

TEST(EmbedExecute, an_engine_with_all_of_its_queues_bound_serves_none) {
  EngineOptions options;
  options.queues = {"nightly"};
  options.backends = {{"default", memory_lease_backend()}, {"nightly", memory_lease_backend()}};
  Engine engine = open_engine("memory:", options);
  register_job(engine, nothing);
  const std::string other = start_job(engine, "{}", {.queue = "weekly"});
  EXPECT_EQ(must(engine.drain()), 0U);
  EXPECT_FALSE(must(engine.execute_next()).has_value());
  EXPECT_EQ(inspect(engine, other).status, "running");
  register_job(engine, nothing, {.queue = "weekly"});
  EXPECT_EQ(must(engine.drain()), 1U) << "the queue of a registered workflow is its own";
}

}  // namespace
}  // namespace holdfast::embed_step_test
