// Several processes, and several loops in one process, share one queue of one journal.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "runs/engine/worker_pool.h"
#include "tests/support/engine_crash.h"

namespace holdfast::engine_processes_test {
namespace {

using std::chrono::seconds;

void replace_again_and_again(CrashSite& site, std::uint64_t seed) {
  SeededRandom random(seed);
  std::vector<std::unique_ptr<WorkerProcess>> workers;
  for (int i = 0; i < 3; ++i) {
    workers.push_back(site.worker("start", 2, 60));
  }
  // More replacements where workers are so slow that most die before they acknowledge anything.
  const auto enough = [&] { return CrashSite::lines(site.acks).size() > 10; };
  for (int i = 0; (i < 20 || (i < 400 && !enough())) && !testing::Test::HasFailure(); ++i) {
    SCOPED_TRACE("replacement " + std::to_string(i));
    auto& unlucky = workers[random.below(workers.size())];
    EXPECT_TRUE(unlucky->runs_for(Milliseconds(20 + random.below(280))))
        << "the worker ended before it was killed";
    unlucky->kill_9();
    unlucky = site.worker("start", 2, 60);
  }
  for (const auto& worker : workers) {
    worker->request_stop();
  }
  for (const auto& worker : workers) {
    EXPECT_EQ(worker->wait_for_exit(seconds(30)), 0);
  }
  site.drain();
  expect_exactly_once(site);
  EXPECT_TRUE(enough());
}

// An idle process detects a run that another process starts.
void detect_runs_of_other_processes(CrashSite& site) {
  auto idle = site.worker("work");
  ASSERT_EQ(idle->wait_for_lines(1, seconds(30)), 1U) << "the idle worker is not ready";
  std::size_t expected = 1;
  for (int round = 0; round < 5; ++round) {
    auto other = site.worker("only", 1, 1);
    ASSERT_EQ(other->wait_for_exit(seconds(30)), 0);
    expected += 6;  // a repeated attempt at d may add one more
    EXPECT_GE(idle->wait_for_lines(expected, seconds(30)), expected) << "round " << round;
  }
  idle->request_stop();
  EXPECT_EQ(idle->wait_for_exit(seconds(30)), 0);
  site.drain();
  expect_exactly_once(site);
}

TEST(EngineProcesses, on_sqlite_take_over_from_killed_processes) {
  CrashSite site;
  replace_again_and_again(site, 3);
}

TEST(EngineProcesses, on_postgres_take_over_from_killed_processes) {
  CrashSite site(PostgresCluster::shared().url("engine_processes"));
  replace_again_and_again(site, 4);
}

TEST(EngineProcesses, on_sqlite_detect_writes_of_other_processes_at_once) {
  CrashSite site;
  detect_runs_of_other_processes(site);
}

TEST(EngineProcesses, on_postgres_detect_writes_of_other_processes_at_once) {
  CrashSite site(PostgresCluster::shared().url("engine_notice"));
  detect_runs_of_other_processes(site);
}

TEST(EngineProcesses, two_loops_of_one_process_share_a_journal) {
  CrashSite site;
  constexpr int kRuns = 100;
  const auto workflow = must(Definition::parse(
      R"({"workflow":"pair","version":"1","steps":[{"name":"a"},{"name":"b","after":["a"]}]})"));
  std::atomic<int> executed = 0;
  std::stop_source stop;
  auto handlers = std::make_shared<HandlerTable>();
  for (const char* step : {"a", "b"}) {
    (*handlers)[step] = [&](const Assignment&, const std::stop_token&) -> AttemptOutcome {
      if (++executed == 2 * 2 * kRuns) {
        stop.request_stop();
      }
      Completion done;
      done.result = Payload::trusted("{}");
      return done;
    };
  }
  const auto work = [&] {
    auto loop = must(Loop::open(site.open(), site.clock, site.random));
    loop->add_definition(workflow);
    std::thread starter([&] {
      for (int i = 0; i < kRuns; ++i) {
        StartRun command;
        command.run_id = RunId{make_uuid(site.clock.now(), site.random)};
        command.definition = workflow;
        must(loop->execute<Started>(
            [command](Turn& turn) { return start_run(turn, command, IdOrigin::given); }));
      }
    });
    const auto pool =
        WorkerPool::create(*loop, handlers, {{SharedText(kDefaultQueue)}}, {.threads = 2});
    must(pool->run(stop.get_token()));
    starter.join();
    loop->close();
  };
  std::thread other(work);
  work();
  other.join();
  auto journal = site.open();
  const Audit found = audit(journal->log());
  EXPECT_THAT(found.anomalies(), testing::IsEmpty());
  EXPECT_EQ(found.runs.size(), 2U * kRuns);
  for (const auto& [id, run] : found.runs) {
    EXPECT_EQ(run->status(), RunStatus::completed);
  }
  EXPECT_EQ(found.kinds.at("attempt_completed"), 4U * kRuns);
  EXPECT_EQ(executed, 4 * kRuns);
}

}  // namespace
}  // namespace holdfast::engine_processes_test
