// The threads around the core: commands, notifications, workers, shutdown.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>

#include "runs/engine/worker_pool.h"
#include "tests/support/engine_support.h"
#include "tests/support/journal_audit.h"

namespace holdfast::engine_loop_test {
namespace {

using std::chrono::seconds;
using ::testing::Contains;
using ::testing::IsEmpty;
using ::testing::Not;

// Polls a condition until it is true or the deadline has passed.
bool eventually(const std::function<bool()>& condition) {
  const auto end = std::chrono::steady_clock::now() + seconds(20);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) {
      return false;
    }
    poll(nullptr, 0, 2);
  }
  return true;
}

class LoopTest : public testing::Test {
 protected:
  std::unique_ptr<Loop> open(const LoopOptions& options = {}) {
    return must(Loop::open(open_hooked_journal(disk_, hooks_), clock_, random_, options));
  }
  Result<Started> start(Loop& loop, int number, const std::shared_ptr<const Definition>& of) {
    const StartRun command = start_of(number, of);
    return loop.execute<Started>(
        [command](Turn& turn) { return start_run(turn, command, IdOrigin::given); });
  }
  static std::size_t live(Loop& loop) {
    return must(loop.execute<std::size_t>([](Turn& turn) { return turn.state().runs().count(); }));
  }
  Audit found() { return audit(open_memory_journal(disk_)->log()); }
  std::vector<std::string> kinds() { return kinds_from(*open_memory_journal(disk_), Position{1}); }

  std::shared_ptr<MemoryDisk> disk_ = std::make_shared<MemoryDisk>();
  std::shared_ptr<StoreHooks> hooks_ = std::make_shared<StoreHooks>();
  SystemClock clock_;
  SystemRandom random_;
  std::shared_ptr<const Definition> one_ = definition_of(kOneStep);
  std::shared_ptr<const Definition> two_ = definition_of(kTwoSteps, "pair");
};

// A pool with a thread to run it.
class RunningPool {
 public:
  RunningPool(Loop& loop, HandlerTable handlers, std::size_t threads = 1)
      : pool_(WorkerPool::create(loop, std::make_shared<const HandlerTable>(std::move(handlers)),
                                 {{SharedText(kDefaultQueue)}}, {.threads = threads})),
        thread_([this] { outcome_.emplace(pool_->run(stop_.get_token())); }) {}
  ~RunningPool() { static_cast<void>(stop()); }

  std::string stop() {
    stop_.request_stop();
    return join();
  }
  // The result of the pool, once it has ended without a stop.
  std::string join() {
    if (thread_.joinable()) {
      thread_.join();
    }
    return code_of(*outcome_);
  }

 private:
  std::shared_ptr<WorkerPool> pool_;
  std::stop_source stop_;
  std::optional<Result<void>> outcome_;
  std::thread thread_;
};

Handler completing(std::atomic<int>& executed) {
  return [&executed](const Assignment&, const std::stop_token&) -> AttemptOutcome {
    ++executed;
    return completion();
  };
}

class RecordingNotifier final : public DispatchNotifier {
 public:
  explicit RecordingNotifier(std::shared_ptr<MemoryDisk> disk, bool fails = false)
      : disk_(std::move(disk)), fails_(fails) {}

  Result<void> notify(const Wakeup& wakeup) override {
    const Audit found = audit(open_memory_journal(disk_)->log());
    const auto queue = found.queues.find(wakeup.queue);
    if (queue == found.queues.end() || queue->second->find(wakeup.runnable_key.view()) == nullptr) {
      ++early;
    }
    ++calls;
    return fails_ ? Result<void>(Error{ErrorCode::unavailable, "no process listens"})
                  : Result<void>();
  }
  std::atomic<int> calls = 0;
  std::atomic<int> early = 0;  // before the attempt was durable

 private:
  std::shared_ptr<MemoryDisk> disk_;
  bool fails_;
};

LoopOptions with(DispatchNotifier* notifier, bool record_wakeups = false) {
  LoopOptions options;
  options.notifier = notifier;
  options.record_wakeups = record_wakeups;
  return options;
}

TEST_F(LoopTest, the_notifier_is_called_after_the_attempt_is_durable) {
  RecordingNotifier notifier(disk_);
  auto loop = open(with(&notifier));
  for (int i = 1; i <= 20; ++i) {
    must(start(*loop, i, one_));
  }
  EXPECT_TRUE(eventually([&] { return notifier.calls == 20; }));
  EXPECT_EQ(notifier.early, 0);
  loop->close();
  EXPECT_THAT(kinds(), Not(Contains("live_wakeup_emitted")));
}

TEST_F(LoopTest, successful_notifications_are_recorded_on_request) {
  RecordingNotifier notifier(disk_);
  auto loop = open(with(&notifier, true));
  must(start(*loop, 1, one_));
  EXPECT_TRUE(eventually([&] { return found().kinds["live_wakeup_emitted"] == 1; }));
  loop->close();
  EXPECT_THAT(found().anomalies(), IsEmpty());
}

TEST_F(LoopTest, a_notifier_that_fails_changes_nothing) {
  RecordingNotifier notifier(disk_, true);
  auto loop = open(with(&notifier, true));
  loop->add_definition(two_);
  must(start(*loop, 1, two_));
  EXPECT_TRUE(eventually([&] { return notifier.calls == 1; }));
  std::atomic<int> executed = 0;
  RunningPool pool(*loop, {{"a", completing(executed)}, {"b", completing(executed)}});
  EXPECT_TRUE(eventually([&] { return live(*loop) == 0; }));
  EXPECT_EQ(pool.stop(), "ok");
  loop->close();
  EXPECT_EQ(found().runs.at(run_no(1))->status(), RunStatus::completed);
  EXPECT_THAT(kinds(), Not(Contains("live_wakeup_emitted")));
}

class OrderedObserver final : public CommitObserver {
 public:
  void committed(const CommitReport& report) override {
    const std::scoped_lock lock(mutex_);
    positions_.push_back(report.position);
  }
  std::vector<Position> positions() {
    const std::scoped_lock lock(mutex_);
    return positions_;
  }

 private:
  std::mutex mutex_;
  std::vector<Position> positions_;
};

TEST_F(LoopTest, the_observer_is_notified_of_every_commit_in_order) {
  OrderedObserver observer;
  LoopOptions options;
  options.observer = &observer;
  auto loop = open(options);
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      for (int i = 1; i <= 50; ++i) {
        must(start(*loop, thread * 100 + i, one_));
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  loop->close();
  const auto positions = observer.positions();
  EXPECT_EQ(positions.size(), hooks_->appends);
  EXPECT_TRUE(std::is_sorted(positions.begin(), positions.end()));
  EXPECT_EQ(positions.back().value, hooks_->appends);
}

TEST_F(LoopTest, closing_while_steps_are_in_progress_loses_nothing) {
  for (int round = 0; round < 20; ++round) {
    SCOPED_TRACE(round);
    disk_ = std::make_shared<MemoryDisk>();
    auto loop = open();
    loop->add_definition(two_);
    std::atomic<int> executed = 0;
    RunningPool pool(*loop, {{"a", completing(executed)}, {"b", completing(executed)}}, 2);
    std::mutex mutex;
    std::vector<int> acknowledged;
    std::vector<std::thread> askers;
    for (int asker = 0; asker < 3; ++asker) {
      askers.emplace_back([&, asker] {
        for (int i = 1; i < 1000; ++i) {
          const int number = asker * 1000 + i;
          const auto started = start(*loop, number, two_);
          if (!started.ok()) {
            EXPECT_EQ(code_of(started), "engine_stopped");
            return;
          }
          const std::scoped_lock lock(mutex);
          acknowledged.push_back(number);
        }
      });
    }
    EXPECT_TRUE(eventually([&] { return executed > round * 5; }));
    loop->close();
    for (std::thread& asker : askers) {
      asker.join();
    }
    EXPECT_EQ(pool.join(), "engine_stopped");
    const Audit journal = found();
    EXPECT_THAT(journal.anomalies(), IsEmpty());
    for (const int number : acknowledged) {
      EXPECT_TRUE(journal.runs.contains(run_no(number)));
    }
  }
}

TEST_F(LoopTest, after_closing_every_request_is_refused) {
  auto loop = open();
  must(start(*loop, 1, one_));
  loop->close();
  loop->close();
  EXPECT_EQ(code_of(start(*loop, 2, one_)), "engine_stopped");
  std::optional<Result<Done>> later;
  loop->submit<Done>([](Turn&) -> Result<Done> { return Done{}; },
                     [&](Result<Done> result) { later.emplace(std::move(result)); });
  ASSERT_TRUE(later.has_value());
  EXPECT_EQ(code_of(*later), "engine_stopped");
  std::atomic<int> executed = 0;
  RunningPool pool(*loop, {{"a", completing(executed)}});
  EXPECT_EQ(pool.join(), "engine_stopped");
  EXPECT_EQ(executed, 0);
  ASSERT_TRUE(loop->failure().has_value());
  EXPECT_EQ(found().runs.size(), 1U);
}

TEST_F(LoopTest, closing_leaves_a_checkpoint_for_the_next_start) {
  auto loop = open();
  must(start(*loop, 1, one_));
  loop->close();
  EXPECT_TRUE(disk_->side.contains("checkpoint/engine:live"));
  auto next = open();
  EXPECT_EQ(live(*next), 1U);
}

TEST_F(LoopTest, a_store_failure_stops_the_engine_and_its_workers) {
  auto loop = open();
  loop->add_definition(one_);
  std::atomic<int> executed = 0;
  RunningPool pool(*loop, {{"a", completing(executed)}}, 3);
  must(start(*loop, 1, one_));
  EXPECT_TRUE(eventually([&] { return live(*loop) == 0; }));
  const auto failed = loop->execute<Done>([&](Turn& turn) -> Result<Done> {
    hooks_->before_append = [] { return Error{ErrorCode::io_error, "the disk was removed"}; };
    HOLDFAST_TRY(const Started started, start_run(turn, start_of(2, one_), IdOrigin::given));
    static_cast<void>(started);
    return Done{};
  });
  EXPECT_EQ(code_of(failed), "io_error");
  EXPECT_EQ(pool.join(), "engine_stopped");
  EXPECT_EQ(code_of(start(*loop, 3, one_)), "engine_stopped");
  ASSERT_TRUE(loop->failure().has_value());
  loop->close();
}

TEST_F(LoopTest, a_chain_costs_one_commit_for_each_step_and_one_for_its_start) {
  auto loop = open();
  const auto chain =
      definition_of(R"([{"name":"a"},{"name":"b","after":["a"]},{"name":"c","after":["b"]},)"
                    R"({"name":"d","after":["c"]}])");
  loop->add_definition(chain);
  std::atomic<int> executed = 0;
  HandlerTable handlers;
  for (const char* step : {"a", "b", "c", "d"}) {
    handlers[step] = completing(executed);
  }
  RunningPool pool(*loop, handlers);
  must(start(*loop, 1, chain));  // a worker waits from now on
  EXPECT_TRUE(eventually([&] { return live(*loop) == 0; }));
  const std::uint64_t before = hooks_->appends;
  must(start(*loop, 2, chain));
  EXPECT_TRUE(eventually([&] { return live(*loop) == 0; }));
  EXPECT_EQ(hooks_->appends - before, 4U + 1U);
  EXPECT_EQ(pool.stop(), "ok");
  EXPECT_EQ(executed, 8);
}

TEST_F(LoopTest, a_pool_that_returns_has_reported_everything) {
  for (int round = 0; round < 50; ++round) {
    SCOPED_TRACE(round);
    disk_ = std::make_shared<MemoryDisk>();
    auto loop = open();
    loop->add_definition(one_);
    must(start(*loop, 1, one_));
    std::stop_source stop;
    auto handlers = std::make_shared<HandlerTable>();
    (*handlers)["a"] = [&](const Assignment&, const std::stop_token&) -> AttemptOutcome {
      stop.request_stop();
      return completion();
    };
    must(WorkerPool::create(*loop, handlers, {{SharedText(kDefaultQueue)}}, {.threads = 2})
             ->run(stop.get_token()));
    handlers.reset();
    EXPECT_EQ(found().runs.at(run_no(1))->status(), RunStatus::completed)
        << "the result was not reported";
    EXPECT_EQ(live(*loop), 0U);
    loop->close();
  }
}

TEST_F(LoopTest, a_handler_that_throws_fails_its_step) {
  auto loop = open();
  loop->add_definition(one_);
  RunningPool pool(*loop, {{"a", [](const Assignment&, const std::stop_token&) -> AttemptOutcome {
                              throw std::runtime_error("no luck");
                            }}});
  must(start(*loop, 1, one_));
  EXPECT_TRUE(eventually([&] { return live(*loop) == 0; }));
  EXPECT_EQ(found().runs.at(run_no(1))->status(), RunStatus::failed);
}

TEST_F(LoopTest, a_handler_of_a_cancelled_run_is_requested_to_stop) {
  auto loop = open();
  const auto quick = definition_of(R"([{"name":"a","lease_ms":300}])");
  loop->add_definition(quick);
  std::atomic<bool> running = false;
  std::atomic<bool> stop_seen = false;
  RunningPool pool(*loop,
                   {{"a", [&](const Assignment&, const std::stop_token& stop) -> AttemptOutcome {
                       running = true;
                       stop_seen = eventually([&] { return stop.stop_requested(); });
                       return completion();
                     }}});
  must(start(*loop, 1, quick));
  EXPECT_TRUE(eventually([&] { return running.load(); }));
  must(loop->execute<Done>([](Turn& turn) { return cancel_run(turn, run_no(1)); }));
  EXPECT_EQ(pool.stop(), "ok");
  EXPECT_TRUE(stop_seen);
  EXPECT_EQ(found().runs.at(run_no(1))->status(), RunStatus::cancelled);
  EXPECT_THAT(found().anomalies(), IsEmpty());
}

TEST_F(LoopTest, a_long_handler_keeps_its_claim) {
  auto loop = open();
  const auto quick = definition_of(R"([{"name":"a","lease_ms":150}])");
  loop->add_definition(quick);
  std::atomic<int> executed = 0;
  RunningPool pool(
      *loop,
      {{"a",
        [&](const Assignment&, const std::stop_token& stop) -> AttemptOutcome {
          ++executed;
          EXPECT_TRUE(eventually([&] { return found().kinds["attempt_heartbeat"] >= 5; }));
          EXPECT_FALSE(stop.stop_requested());
          return completion();
        }}},
      2);
  must(start(*loop, 1, quick));
  EXPECT_TRUE(eventually([&] { return live(*loop) == 0; }));
  EXPECT_EQ(pool.stop(), "ok");
  EXPECT_EQ(executed, 1);
  EXPECT_EQ(found().runs.at(run_no(1))->status(), RunStatus::completed);
}

TEST_F(LoopTest, a_retry_is_executed_at_its_time_without_further_commands) {
  auto loop = open();
  const auto stubborn = definition_of(R"([{"name":"a","retry":{"max_attempts":3,"delay_ms":60}}])");
  loop->add_definition(stubborn);
  std::atomic<int> executed = 0;
  std::atomic<std::int64_t> last_at = 0;
  RunningPool pool(*loop,
                   {{"a", [&](const Assignment& given, const std::stop_token&) -> AttemptOutcome {
                       ++executed;
                       last_at = clock_.now().value;
                       return given.attempt_number < 3 ? AttemptOutcome(failure())
                                                       : AttemptOutcome(completion());
                     }}});
  const std::int64_t begin = clock_.now().value;
  must(start(*loop, 1, stubborn));
  EXPECT_TRUE(eventually([&] { return executed == 3; }));
  EXPECT_EQ(pool.stop(), "ok");
  EXPECT_GE(last_at - begin, 120);
  EXPECT_EQ(found().runs.at(run_no(1))->status(), RunStatus::completed);
}

TEST_F(LoopTest, an_idle_loop_detects_writes_of_another_loop) {
  auto idle = open();
  idle->add_definition(two_);
  std::atomic<int> executed = 0;
  RunningPool pool(*idle, {{"a", completing(executed)}, {"b", completing(executed)}});
  hooks_ = std::make_shared<StoreHooks>();
  auto other = open();
  for (int i = 1; i <= 20; ++i) {
    must(start(*other, i, two_));
    EXPECT_TRUE(eventually([&] { return executed == 2 * i; }));
  }
  EXPECT_EQ(pool.stop(), "ok");
  EXPECT_THAT(found().anomalies(), IsEmpty());
}

}  // namespace
}  // namespace holdfast::engine_loop_test
