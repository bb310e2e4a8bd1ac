// The engine as an embedding program sees it, through public headers only.
#include <atomic>
#include <future>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "tests/support/embed_fixture.h"
#include "tests/support/temp_dir.h"

namespace holdfast::embed_test {
namespace {

// Opening

TEST(EmbedOpen, an_invalid_url_is_refused) {
  EXPECT_EQ(code_of(Engine::open("")), "invalid_url");
  EXPECT_EQ(code_of(Engine::open("file.db")), "invalid_url");
  EXPECT_EQ(code_of(Engine::open("redis://localhost")), "invalid_url");
}

TEST(EmbedOpen, a_workflow_file_that_cannot_be_read_is_an_error) {
  const TempDir folder;
  auto engine = open_engine("memory:");
  const auto directory = engine.register_workflow_file(folder.path());
  ASSERT_FALSE(directory.ok());
  EXPECT_EQ(directory.error().code(), ErrorCode::invalid_argument);
  EXPECT_NE(directory.error().message().find("Is a directory"), std::string::npos);
  const auto missing = engine.register_workflow_file(folder.file("order.yaml"));
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().code(), ErrorCode::not_found);
}

TEST(EmbedOpen, a_missing_store_is_created_only_on_request) {
  const TempDir folder;
  const std::string url = "sqlite:" + folder.file("work.db");
  EXPECT_EQ(code_of(Engine::open(url, {.create = false})), "not_found");
  open_engine(url).close();
  EXPECT_EQ(code_of(Engine::open(url, {.create = false})), "ok");
}

TEST(EmbedOpen, an_invalid_queue_name_is_refused) {
  EXPECT_EQ(code_of(Engine::open("memory:", {.queues = {"a b"}})), "invalid_argument");
}

TEST(EmbedOpen, an_engine_can_be_moved) {
  Engine first = open_engine();
  register_job(first, nothing);
  Engine second = std::move(first);
  const std::string run = start_job(second);
  EXPECT_EQ(must(second.drain()), 1U);
  EXPECT_EQ(inspect(second, run).status, "completed");
}

TEST(EmbedOpen,
     other_processes_are_notified_of_waiting_steps_and_a_failed_notification_loses_nothing) {
  std::promise<WorkNotice> notified;
  bool first = true;
  Engine engine = open_engine("memory:", {.notify = [&](const WorkNotice& notice) -> bool {
                                            if (!std::exchange(first, false)) {
                                              throw std::runtime_error("no process listens");
                                            }
                                            notified.set_value(notice);
                                            return true;
                                          },
                                          .record_notices = true});
  register_job(engine, nothing);
  const std::string run = start_job(engine);
  std::future<WorkNotice> notice = notified.get_future();
  ASSERT_EQ(notice.wait_for(kLong), std::future_status::ready);
  const WorkNotice given = notice.get();
  EXPECT_EQ(given.run_id, run);
  EXPECT_EQ(given.handler, "work");
  EXPECT_EQ(given.queue, "default");
  start_job(engine);
  EXPECT_EQ(must(engine.drain()), 2U);
}

// Registering

TEST(EmbedRegister, a_definition_with_faults_is_refused) {
  Engine engine = open_engine();
  EXPECT_EQ(code_of(engine.register_workflow(Workflow("empty"))), "invalid_definition");
  EXPECT_EQ(code_of(engine.register_workflow(Workflow("a b").step("x"))), "invalid_definition");
  EXPECT_EQ(code_of(engine.register_workflow(Workflow("w").step("x", {.after = {"y"}}))),
            "invalid_definition");
  EXPECT_EQ(code_of(engine.register_workflow(Workflow("w").step("x", {.lease = milliseconds(-1)}))),
            "invalid_definition");
  EXPECT_EQ(code_of(engine.register_workflow_json("{")), "invalid_definition");
}

TEST(EmbedRegister, a_definition_can_be_json) {
  Engine engine = open_engine();
  must(engine.register_workflow_json(
      R"({"workflow":"job","version":"2","steps":[{"name":"a"},{"name":"b","after":["a"]}]})"));
  must(engine.register_handler("a", nothing));
  must(engine.register_handler("b", nothing));
  const std::string run = start_job(engine);
  EXPECT_EQ(must(engine.drain()), 2U);
  EXPECT_EQ(inspect(engine, run).version, "2");
}

TEST(EmbedRegister, a_handler_needs_a_name_and_a_function) {
  Engine engine = open_engine();
  EXPECT_EQ(code_of(engine.register_handler("", nothing)), "invalid_argument");
  EXPECT_EQ(code_of(engine.register_handler("__timer__", nothing)), "invalid_argument");
  EXPECT_EQ(code_of(engine.register_handler("work", nullptr)), "invalid_argument");
}

TEST(EmbedRegister, without_handlers_only_built_in_steps_are_executed) {
  Engine engine = open_engine();
  must(engine.register_workflow_json(
      R"({"workflow":"mixed","steps":[{"name":"own","exec":["cat"]},{"name":"other"}]})"));
  must(engine.start("mixed"));
  EXPECT_EQ(must(engine.drain()), 1U);
  EXPECT_FALSE(must(engine.execute_next()).has_value());
}

TEST(EmbedRegister, a_run_keeps_the_definition_it_started_with) {
  Engine engine = open_engine();
  register_job(engine, nothing);
  const std::string old_run = start_job(engine);
  must(engine.register_workflow(Workflow("job").version("2").step("work").step("more")));
  must(engine.register_handler("more", nothing));
  const std::string new_run = start_job(engine);
  EXPECT_EQ(must(engine.drain()), 3U);
  EXPECT_EQ(inspect(engine, old_run).steps.size(), 1U);
  EXPECT_EQ(inspect(engine, new_run).steps.size(), 2U);
}

TEST(EmbedRegister, steps_without_a_local_handler_are_left_for_other_processes) {
  Engine engine = open_engine();
  must(engine.register_workflow(Workflow("job").step("work", {.handler = "elsewhere"})));
  must(engine.register_handler("work", nothing));
  const std::string run = start_job(engine);
  EXPECT_EQ(must(engine.drain()), 0U);
  EXPECT_EQ(inspect(engine, run).steps.at(0).status, "ready");
  must(engine.register_handler("elsewhere", nothing));
  EXPECT_EQ(must(engine.drain()), 1U);
}

// Starting

TEST(EmbedStart, invalid_input_is_refused_and_starts_nothing) {
  Engine engine = open_engine();
  register_job(engine, nothing);
  EXPECT_EQ(code_of(engine.start("other")), "unknown_workflow");
  EXPECT_EQ(code_of(engine.start("job", "{")), "invalid_json");
  EXPECT_EQ(code_of(engine.start("job", "")), "invalid_json");
  EXPECT_EQ(code_of(engine.start("job", R"({"a":1,"a":2})")), "invalid_json");
  EXPECT_EQ(code_of(engine.start("job", "[1]")), "invalid_argument");
  EXPECT_EQ(code_of(engine.start("job", "{}", {.run_id = "seven"})), "invalid_argument");
  EXPECT_EQ(code_of(engine.start("job", "{}", {.queue = "a b"})), "invalid_argument");
  EXPECT_EQ(code_of(engine.start("job", "{}", {.search_attributes = "[]"})), "invalid_argument");
  EXPECT_EQ(
      code_of(engine.start(
          "job", "{}", {.run_id = "0190b0a0-0000-7000-8000-000000000001", .idempotency_key = "k"})),
      "invalid_argument");
  EXPECT_EQ(must(engine.list()).runs.size(), 0U);
  EXPECT_EQ(must(engine.stats()).live_runs, 0U);
}

TEST(EmbedStart, a_run_id_is_started_once) {
  Engine engine = open_engine();
  register_job(engine, nothing);
  const StartOptions options{.run_id = "0190b0a0-0000-7000-8000-000000000001"};
  EXPECT_FALSE(must(engine.start("job", R"({"a":1})", options)).existed);
  EXPECT_TRUE(must(engine.start("job", R"({ "a": 1 })", options)).existed);
  EXPECT_EQ(code_of(engine.start("job", R"({"a":2})", options)), "run_exists");
  EXPECT_EQ(must(engine.drain()), 1U);
  EXPECT_TRUE(must(engine.start("job", R"({"a":1})", options)).existed);
  EXPECT_EQ(must(engine.drain()), 0U);
}

TEST(EmbedStart, an_idempotency_key_identifies_one_run_of_a_workflow) {
  Engine engine = open_engine();
  register_job(engine, nothing);
  must(engine.register_workflow(Workflow("other").step("work")));
  const StartOptions options{.idempotency_key = "order 7"};
  const auto first = must(engine.start("job", R"({"a":1})", options));
  EXPECT_FALSE(first.existed);
  const auto again = must(engine.start("job", R"({"a":1})", options));
  EXPECT_TRUE(again.existed);
  EXPECT_EQ(again.run_id, first.run_id);
  EXPECT_EQ(code_of(engine.start("job", R"({"a":2})", options)), "idempotency_conflict");
  EXPECT_NE(must(engine.start("other", R"({"a":1})", options)).run_id, first.run_id);
  // Also after the run ended and the workflow got a new version.
  must(engine.drain());
  must(engine.register_workflow(Workflow("job").version("2").step("work")));
  EXPECT_EQ(must(engine.start("job", R"({"a":1})", options)).run_id, first.run_id);
}

TEST(EmbedStart, many_threads_start_at_once) {
  Engine engine = open_engine();
  register_job(engine, nothing);
  std::vector<std::thread> threads;
  std::mutex mutex;
  std::set<std::string> ids;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int j = 0; j < 25; ++j) {
        const std::string run = start_job(engine);
        const std::scoped_lock lock(mutex);
        ids.insert(run);
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(ids.size(), 100U);
  EXPECT_EQ(must(engine.drain({.threads = 3})), 100U);
  EXPECT_EQ(must(engine.stats()).live_runs, 0U);
}

// Queries

TEST(EmbedInspect, unknown_runs_and_invalid_ids_are_errors) {
  Engine engine = open_engine();
  const std::string unknown = "0190b0a0-0000-7000-8000-000000000001";
  EXPECT_EQ(code_of(engine.inspect("seven")), "invalid_argument");
  EXPECT_EQ(code_of(engine.inspect(unknown)), "run_not_found");
  EXPECT_EQ(code_of(engine.wait("seven", kLong)), "invalid_argument");
  EXPECT_EQ(code_of(engine.wait(unknown, kLong)), "run_not_found");
  EXPECT_EQ(code_of(engine.cancel("seven")), "invalid_argument");
  EXPECT_EQ(code_of(engine.cancel(unknown)), "run_not_found");
}

TEST(EmbedInspect, a_snapshot_is_the_same_before_and_after_the_run_left_memory) {
  const TempDir folder;
  const std::string url = "sqlite:" + folder.file("work.db");
  std::string run;
  std::string json;
  {
    Engine engine = open_engine(url);
    must(engine.register_workflow(
        Workflow("job").step("a", {.retry = {.max_attempts = 2}}).step("b", {.after = {"a"}})));
    must(engine.register_handler("a", [](StepContext& context, std::string_view) {
      return context.attempt() == 1 ? StepResult::retry("busy", "x") : StepResult::ok(R"({"x":1})");
    }));
    run =
        must(engine.start("job", R"({"n":1})", {.search_attributes = R"({"city":"Bern"})"})).run_id;
    EXPECT_EQ(must(engine.drain()), 2U);
    const RunView live = inspect(engine, run);
    EXPECT_EQ(live.status, "running");
    EXPECT_EQ(live.steps.at(0).status, "completed");
    EXPECT_EQ(live.steps.at(0).attempts, 2U);
    EXPECT_EQ(live.steps.at(1).status, "ready");
    EXPECT_EQ(json_text(*json_value(live.json, "search_attributes"), "city"), "Bern");
    must(engine.register_handler("b", nothing));
    EXPECT_EQ(must(engine.drain()), 1U);
    json = inspect(engine, run).json;
  }
  Engine engine = open_engine(url);
  const RunView ended = inspect(engine, run);
  // Only the time of the query differs.
  EXPECT_EQ(ended.json.substr(0, ended.json.find(R"("revisions")")),
            json.substr(0, json.find(R"("revisions")")));
  EXPECT_EQ(ended.status, "completed");
  EXPECT_TRUE(ended.terminal);
  ASSERT_EQ(ended.steps.size(), 2U);
  EXPECT_EQ(ended.steps[0].status, "completed");
  EXPECT_EQ(ended.steps[0].attempts, 2U);
  EXPECT_EQ(json_value(ended.json, "anomalies"), "[]");
  EXPECT_EQ(json_value(ended.json, "pending_dispatches"), "[]");
  EXPECT_EQ(json_value(ended.json, "pending_results"), "[]");
  EXPECT_NE(json_value(ended.json, "attempts"), "[]");
}

TEST(EmbedInspect, a_snapshot_shows_the_owner_of_a_claim_but_not_its_fence) {
  Engine engine = open_engine();
  std::string json;
  register_job(engine, [&](StepContext& context, std::string_view) {
    const RunView view = inspect(engine, context.run_id());
    EXPECT_EQ(view.steps.at(0).status, "running");
    json = view.json;
    return StepResult::ok();
  });
  start_job(engine);
  must(engine.drain());
  EXPECT_NE(json.find("owner_id"), std::string::npos);
  EXPECT_EQ(json.find("token"), std::string::npos);
}

TEST(EmbedList, runs_are_listed_in_pages_in_either_order) {
  Engine engine = open_engine();
  register_job(engine, nothing);
  must(engine.register_workflow(Workflow("other").step("work")));
  std::vector<std::string> jobs;
  for (int i = 0; i < 5; ++i) {
    jobs.push_back(start_job(engine));
    must(engine.start("other"));
  }
  must(engine.drain({.max_steps = 4}));
  const auto ids = [&](ListOptions options) {
    std::vector<std::string> listed;
    for (;;) {
      const RunPage page = must(engine.list(options));
      EXPECT_LE(page.runs.size(), options.limit);
      for (const RunSummary& run : page.runs) {
        listed.push_back(run.run_id);
        EXPECT_EQ(run.status, inspect(engine, run.run_id).status);
        EXPECT_EQ(run.terminal, run.status == "completed");
      }
      if (page.next.empty()) {
        return listed;
      }
      options.cursor = page.next;
    }
  };
  EXPECT_EQ(ids({.workflow = "job", .order = ListOrder::oldest_first, .limit = 2}), jobs);
  EXPECT_EQ(ids({.workflow = "job", .limit = 2}),
            (std::vector<std::string>{jobs.rbegin(), jobs.rend()}));
  EXPECT_EQ(ids({.limit = 3}).size(), 10U);
  EXPECT_EQ(ids({.limit = 1000}).size(), 10U);
  EXPECT_EQ(ids({.workflow = "unknown"}).size(), 0U);
}

TEST(EmbedList, wrong_options_are_refused) {
  Engine engine = open_engine();
  EXPECT_EQ(code_of(engine.list({.workflow = "a b"})), "invalid_argument");
  EXPECT_EQ(code_of(engine.list({.limit = 0})), "invalid_argument");
  EXPECT_EQ(code_of(engine.list({.limit = 1001})), "invalid_argument");
  EXPECT_EQ(code_of(engine.list({.cursor = "x"})), "invalid_argument");
  EXPECT_EQ(code_of(engine.list({.cursor = "99"})), "invalid_argument");
}

TEST(EmbedStats, work_is_counted) {
  Engine engine = open_engine();
  register_job(engine, nothing);
  start_job(engine);
  EXPECT_EQ(must(engine.stats()).live_runs, 1U);
  EXPECT_EQ(must(engine.stats()).attempts, 1U);
  must(engine.drain());
  const EngineStats stats = must(engine.stats());
  EXPECT_EQ(stats.live_runs, 0U);
  EXPECT_EQ(stats.claims, 1U);
  EXPECT_EQ(stats.commits, stats.position);
  EXPECT_GT(stats.facts, stats.commits);
}

// Waiting

TEST(EmbedWait, a_wait_for_an_ended_run_returns_at_once) {
  Engine engine = open_engine();
  register_job(engine, nothing);
  const std::string run = start_job(engine);
  must(engine.drain());
  EXPECT_EQ(must(engine.wait(run, milliseconds(0))).status, "completed");
}

TEST(EmbedWait, after_the_timeout_a_wait_returns_the_current_state) {
  Engine engine = open_engine();
  register_job(engine, nothing);
  const std::string run = start_job(engine);
  EXPECT_FALSE(must(engine.wait(run, milliseconds(0))).terminal);
  EXPECT_FALSE(must(engine.wait(run, milliseconds(10))).terminal);
  EXPECT_FALSE(must(engine.wait(run, milliseconds(-10))).terminal);
}

TEST(EmbedWait, many_threads_wait_for_one_run) {
  Engine engine = open_engine();
  register_job(engine, nothing);
  const std::string run = start_job(engine);
  std::vector<std::future<Result<RunView>>> waits;
  for (int i = 0; i < 5; ++i) {
    waits.push_back(std::async(std::launch::async, [&] { return engine.wait(run, kLong); }));
  }
  must(engine.drain());
  for (auto& wait : waits) {
    EXPECT_EQ(must(wait.get()).status, "completed");
  }
}

TEST(EmbedWait, a_wait_ends_when_another_process_writes_the_end) {
  const TempDir folder;
  const std::string url = "sqlite:" + folder.file("work.db");
  Engine waiting = open_engine(url);
  Engine working = open_engine(url);
  register_job(waiting, nothing);
  register_job(working, nothing);
  const std::string run = start_job(waiting);
  auto wait = std::async(std::launch::async, [&] { return waiting.wait(run, kLong); });
  EXPECT_TRUE(must(working.execute_next(kLong)).has_value());
  EXPECT_EQ(must(wait.get()).status, "completed");
}

TEST(EmbedWait, waiting_callers_return_when_the_engine_is_closed) {
  Engine engine = open_engine();
  register_job(engine, nothing);
  const std::string run = start_job(engine);
  Gate entered;
  std::thread waiter([&] {
    entered.open();
    EXPECT_EQ(code_of(engine.wait(run, kLong)), "engine_stopped");
  });
  entered.wait();
  engine.close();
  waiter.join();
}

// Cancelling

TEST(EmbedCancel, a_cancelled_run_is_not_executed) {
  Engine engine = open_engine();
  register_job(engine, nothing);
  const std::string run = start_job(engine);
  must(engine.cancel(run, {.actor = "ann", .comment = "a mistake"}));
  must(engine.cancel(run));
  EXPECT_EQ(must(engine.drain()), 0U);
  const RunView view = inspect(engine, run);
  EXPECT_EQ(view.status, "cancelled");
  EXPECT_EQ(view.steps.at(0).status, "abandoned");
  EXPECT_NE(view.json.find("a mistake"), std::string::npos);
}

TEST(EmbedCancel, a_completed_or_failed_run_cannot_be_cancelled) {
  Engine engine = open_engine();
  register_job(engine, nothing);
  const std::string run = start_job(engine);
  must(engine.drain());
  EXPECT_EQ(code_of(engine.cancel(run)), "invalid_transition");
}

TEST(EmbedCancel, a_running_handler_is_requested_to_stop_and_its_result_does_not_count) {
  Engine engine = open_engine();
  Gate entered;
  register_job(engine,
               [&](StepContext& context, std::string_view) {
                 entered.open();
                 std::promise<void> stopped;
                 const std::stop_callback when_stopped(context.stop(),
                                                       [&] { stopped.set_value(); });
                 EXPECT_EQ(stopped.get_future().wait_for(kLong), std::future_status::ready);
                 return StepResult::ok();
               },
               {.lease = milliseconds(200)});
  const std::string run = start_job(engine);
  auto executed = std::async(std::launch::async, [&] { return engine.execute_next(); });
  entered.wait();
  must(engine.cancel(run));
  const auto step = must(executed.get());
  ASSERT_TRUE(step.has_value());
  EXPECT_FALSE(step->counted);
  EXPECT_EQ(step->run_status, "cancelled");
  EXPECT_EQ(inspect(engine, run).status, "cancelled");
}

TEST(EmbedCancel, a_handler_of_a_pool_is_requested_to_stop_too) {
  Engine engine = open_engine();
  Gate entered;
  register_job(engine,
               [&](StepContext& context, std::string_view) {
                 entered.open();
                 std::promise<void> stopped;
                 const std::stop_callback when_stopped(context.stop(),
                                                       [&] { stopped.set_value(); });
                 EXPECT_EQ(stopped.get_future().wait_for(kLong), std::future_status::ready);
                 return StepResult::ok();
               },
               {.lease = milliseconds(200)});
  const std::string run = start_job(engine);
  Pool pool(engine, 1);
  entered.wait();
  must(engine.cancel(run));
  must(pool.stop());
  EXPECT_EQ(inspect(engine, run).status, "cancelled");
}

TEST(EmbedLease, a_claim_is_kept_alive_while_its_handler_runs) {
  Engine engine = open_engine();
  std::atomic<int> calls = 0;
  register_job(
      engine,
      [&](StepContext& context, std::string_view) {
        ++calls;
        // Longer than the lease, while another thread requests work all the time.
        for (;;) {
          const RunView view = inspect(engine, context.run_id());
          const auto attempts = *json_value(view.json, "attempts");
          const auto claim = *json_value(attempts.substr(1, attempts.size() - 2), "claim");
          if (*json_integer(claim, "lease_until") > *json_integer(claim, "claimed_at") + 300) {
            return StepResult::ok();
          }
          EXPECT_FALSE(must(engine.execute_next(milliseconds(20))).has_value());
        }
      },
      {.lease = milliseconds(150)});
  const std::string run = start_job(engine);
  EXPECT_EQ(must(engine.drain()), 1U);
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(inspect(engine, run).status, "completed");
}

// Several engines; closing and reopening

TEST(EmbedShared, engines_on_one_file_share_the_work) {
  const TempDir folder;
  const std::string url = "sqlite:" + folder.file("work.db");
  std::vector<Engine> engines;
  std::atomic<int> calls = 0;
  for (int i = 0; i < 3; ++i) {
    engines.push_back(open_engine(url));
    Engine& engine = engines.back();
    must(engine.register_workflow(Workflow("job").step("work").step("more", {.after = {"work"}})));
    const auto count = [&](StepContext&, std::string_view) {
      ++calls;
      return StepResult::ok();
    };
    must(engine.register_handler("work", count));
    must(engine.register_handler("more", count));
  }
  std::vector<std::unique_ptr<Pool>> pools;
  for (Engine& engine : engines) {
    pools.push_back(std::make_unique<Pool>(engine, 2));
  }
  std::vector<std::string> runs;
  for (int i = 0; i < 30; ++i) {
    runs.push_back(start_job(engines[static_cast<std::size_t>(i) % engines.size()]));
  }
  for (std::size_t i = 0; i < runs.size(); ++i) {
    EXPECT_EQ(must(engines[(i + 1) % engines.size()].wait(runs[i], kLong)).status, "completed");
  }
  for (const auto& pool : pools) {
    must(pool->stop());
  }
  EXPECT_EQ(calls, 60);
  EXPECT_EQ(must(engines[0].list({.limit = 100})).runs.size(), 30U);
}

TEST(EmbedShared, a_run_that_another_engine_started_is_visible_at_once) {
  const TempDir folder;
  const std::string url = "sqlite:" + folder.file("work.db");
  Engine one = open_engine(url);
  Engine two = open_engine(url);
  register_job(one, nothing);
  register_job(two, nothing);
  const std::string run = start_job(one);
  EXPECT_EQ(inspect(two, run).status, "running");
  EXPECT_EQ(must(two.list()).runs.size(), 1U);
  EXPECT_EQ(must(two.drain()), 1U);
  EXPECT_EQ(inspect(one, run).status, "completed");
  EXPECT_EQ(must(one.drain()), 0U);
  EXPECT_EQ(code_of(one.cancel(run)), "invalid_transition");
}

TEST(EmbedClose, every_function_returns_engine_stopped_afterwards) {
  Engine engine = open_engine();
  register_job(engine, nothing);
  const std::string run = start_job(engine);
  engine.close();
  engine.close();
  EXPECT_EQ(code_of(engine.start("job")), "engine_stopped");
  EXPECT_EQ(code_of(engine.inspect(run)), "engine_stopped");
  EXPECT_EQ(code_of(engine.wait(run, kLong)), "engine_stopped");
  EXPECT_EQ(code_of(engine.cancel(run)), "engine_stopped");
  EXPECT_EQ(code_of(engine.list()), "engine_stopped");
  EXPECT_EQ(code_of(engine.stats()), "engine_stopped");
  EXPECT_EQ(code_of(engine.execute_next()), "engine_stopped");
  EXPECT_EQ(code_of(engine.drain({.threads = 2})), "engine_stopped");
}

TEST(EmbedClose, a_pool_ends_when_the_engine_is_closed) {
  Engine engine = open_engine();
  register_job(engine, nothing);
  auto worked = std::async(std::launch::async, [&] { return engine.work(2, {}); });
  must(engine.wait(start_job(engine), kLong));
  engine.close();
  must(worked.get());
}

TEST(EmbedClose, runs_continue_in_the_next_engine) {
  const TempDir folder;
  const std::string url = "sqlite:" + folder.file("work.db");
  std::string run;
  {
    Engine engine = open_engine(url);
    must(engine.register_workflow(Workflow("job").step("a").step("b", {.after = {"a"}})));
    must(engine.register_handler(
        "a", [](StepContext&, std::string_view) { return StepResult::ok(R"({"from":"a"})"); }));
    run = start_job(engine);
    EXPECT_EQ(must(engine.drain()), 1U);
    // Destroyed without close().
  }
  Engine engine = open_engine(url);
  std::string seen;
  must(engine.register_handler("b", [&](StepContext&, std::string_view input) {
    seen = *json_text(input, "from");
    return StepResult::ok();
  }));
  // The definition comes from the journal.
  EXPECT_EQ(must(engine.drain()), 1U);
  EXPECT_EQ(seen, "a");
  EXPECT_EQ(inspect(engine, run).status, "completed");
}

}  // namespace
}  // namespace holdfast::embed_test
