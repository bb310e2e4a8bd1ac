// A store becomes unavailable and returns: the core waits, determines the outcome of the open
// write, and continues.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>

#include <chrono>
#include <thread>

#include "runs/engine/worker_pool.h"
#include "tests/support/core_fixture.h"
#include "tests/support/journal_audit.h"

namespace holdfast::engine_store_outage_test {
namespace {

using std::chrono::seconds;

Error lost_connection() {
  return Error{ErrorCode::io_error, "the connection was lost"}.with(WhatNext::in_doubt);
}

class StoreOutage : public CoreTest {
 protected:
  TestCore& open_recoverable(const CoreOptions& options = {}) {
    TestCore& core = open(options);
    core.hooks->can_reconnect = true;
    return core;
  }
  // The next write is stored, but its reply is lost.
  static void lose_answer(TestCore& core) {
    core.hooks->after_append = [] { return Result<void>(lost_connection()); };
  }
  // The next write is lost, and its outcome is unknown.
  static void lose_write(TestCore& core) {
    core.hooks->before_append = [] { return Result<void>(lost_connection()); };
  }
  std::string return_store(TestCore& core) {
    const auto found = core.journal->recover();
    if (!found.ok()) {
      return code_of(found);
    }
    core.core.store_returned(found.value(), clock_.now());
    core.settle();
    return found.value().open.has_value() ? std::string(code_of(*found.value().open))
                                          : "nothing open";
  }
};

TEST_F(StoreOutage, a_stored_write_is_acknowledged_after_it_was_read_back) {
  TestCore& core = open_recoverable();
  const auto started = core.start(start_of(1, one_));
  core.decide();
  lose_answer(core);
  core.write();
  ASSERT_TRUE(core.core.outage().has_value());
  EXPECT_FALSE(core.core.stopped().has_value());
  EXPECT_EQ(started->settled, 0);
  EXPECT_EQ(return_store(core), "ok");
  EXPECT_EQ(started->code(), "ok");
  EXPECT_EQ(started->decided, 1);
  EXPECT_EQ(batches(), 1U);
  EXPECT_EQ(core.core.stats().recoveries, 1U);
  core.start(start_of(2, one_));
  core.settle();
  EXPECT_EQ(core.core.state().encode(), folded_anew());
}

TEST_F(StoreOutage, a_lost_write_is_repeated_at_the_same_position) {
  TestCore& core = open_recoverable();
  const auto started = core.start(start_of(1, one_));
  core.decide();
  lose_write(core);
  core.write();
  EXPECT_EQ(started->settled, 0);
  EXPECT_EQ(return_store(core), "ok");
  EXPECT_EQ(started->code(), "ok");
  EXPECT_EQ(started->decided, 1);
  EXPECT_EQ(batches(), 1U);
}

TEST_F(StoreOutage, a_commit_that_lands_after_the_read_is_found) {
  TestCore& core = open_recoverable();
  const auto started = core.start(start_of(1, one_));
  core.decide();
  lose_write(core);
  core.write();
  // The same batch arrives over the lost connection between the read and the second append.
  core.hooks->after_append = [] {
    return Result<void>(Error{ErrorCode::conflict, "another writer was first"});
  };
  EXPECT_EQ(return_store(core), "ok");
  EXPECT_EQ(started->code(), "ok");
  EXPECT_EQ(started->decided, 1);
  EXPECT_EQ(batches(), 1U);
}

TEST_F(StoreOutage, a_position_taken_by_another_writer_is_an_ordinary_conflict) {
  TestCore& mine = open_recoverable();
  TestCore& other = open();
  const auto started = mine.start(start_of(1, one_));
  mine.decide();
  lose_write(mine);
  mine.write();
  other.start(start_of(2, one_));
  other.settle();
  EXPECT_EQ(return_store(mine), "conflict");
  EXPECT_EQ(started->code(), "ok");
  EXPECT_EQ(started->decided, 2);
  EXPECT_EQ(batches(), 2U);
  EXPECT_EQ(mine.core.state().encode(), folded_anew());
}

TEST_F(StoreOutage, unwritten_commands_are_refused_after_a_while) {
  CoreOptions options;
  options.store_patience_ms = 5000;
  TestCore& core = open_recoverable(options);
  const auto open = core.start(start_of(1, one_));
  core.decide();
  lose_answer(core);
  core.write();
  const auto waiting = core.start(start_of(2, one_));
  core.decide();
  EXPECT_EQ(waiting->settled, 0) << "the store may return soon";
  EXPECT_FALSE(core.core.has_work(clock_.now()));
  clock_.advance_ms(5000);
  EXPECT_TRUE(core.core.has_work(clock_.now()));
  core.decide();
  EXPECT_EQ(waiting->code(), "unavailable");
  EXPECT_EQ(waiting->result->error().what_next(), WhatNext::retry);
  const auto late = core.start(start_of(3, one_));
  EXPECT_EQ(late->code(), "unavailable");
  EXPECT_EQ(open->settled, 0) << "it may be stored; only a read determines that";
  EXPECT_EQ(return_store(core), "ok");
  EXPECT_EQ(open->code(), "ok");
  EXPECT_EQ(batches(), 1U);
}

TEST_F(StoreOutage, results_of_workers_wait_for_the_whole_outage) {
  TestCore& core = open_recoverable();
  core.hooks->down = true;
  core.core.check_for_changes();
  core.decide();
  ASSERT_TRUE(core.core.outage().has_value());
  int settled = 0;
  core.core.post(std::make_shared<FunctionCommand<Done>>(
      [](Turn&) -> Result<Done> { return Done{}; }, [&](const Result<Done>&) { ++settled; },
      Patience::unbounded));
  clock_.advance_ms(3'600'000);
  core.decide();
  EXPECT_EQ(settled, 0);
  EXPECT_EQ(return_store(core), "unavailable");
  core.hooks->down = false;
  EXPECT_EQ(return_store(core), "nothing open");
  EXPECT_EQ(settled, 1);
}

TEST_F(StoreOutage, commands_beyond_the_limit_are_refused_at_once) {
  CoreOptions options;
  options.max_waiting_commands = 2;
  TestCore& core = open_recoverable(options);
  core.hooks->down = true;
  core.core.check_for_changes();
  core.decide();
  const auto first = core.start(start_of(1, one_));
  const auto second = core.start(start_of(2, one_));
  const auto third = core.start(start_of(3, one_));
  EXPECT_EQ(first->settled + second->settled, 0);
  EXPECT_EQ(third->code(), "unavailable");
  core.hooks->down = false;
  EXPECT_EQ(return_store(core), "nothing open");
  EXPECT_EQ(first->code(), "ok");
  EXPECT_EQ(second->code(), "ok");
}

TEST_F(StoreOutage, an_engine_that_stops_during_the_outage_leaves_the_open_write_in_doubt) {
  TestCore& core = open_recoverable();
  const auto open = core.start(start_of(1, one_));
  core.decide();
  core.hooks->before_append = [] {
    return Result<void>(Error{ErrorCode::unavailable, "a standby"});
  };
  core.write();
  const auto waiting = core.start(start_of(2, one_));
  core.core.stop(Error{ErrorCode::engine_stopped, "closed"});
  core.decide();
  EXPECT_EQ(open->result->error().what_next(), WhatNext::in_doubt);
  EXPECT_EQ(waiting->code(), "engine_stopped");
}

TEST_F(StoreOutage, lost_acknowledged_batches_are_always_detected) {
  TestCore& core = open_recoverable();
  core.start(start_of(1, one_));
  core.settle();
  core.start(start_of(2, one_));
  core.settle();
  // A failover to a server without the second batch.
  disk_->rows.erase(Position{2});
  disk_->state->head = Position{1};
  disk_->state->head_chain = disk_->rows.at(Position{1}).chain;
  core.hooks->down = true;
  core.core.check_for_changes();
  core.decide();
  core.hooks->down = false;
  EXPECT_EQ(return_store(core), "diverged");
}

TEST_F(StoreOutage, unacknowledged_batches_of_other_writers_may_be_lost) {
  TestCore& mine = open_recoverable();
  TestCore& other = open();
  mine.start(start_of(1, one_));
  mine.settle();
  other.start(start_of(2, two_));
  other.settle();
  mine.core.check_for_changes();
  mine.settle();
  ASSERT_EQ(mine.core.position(), Position{2});
  const auto started = mine.start(start_of(3, one_));
  mine.decide();
  lose_write(mine);
  mine.write();
  disk_->rows.erase(Position{2});
  disk_->state->head = Position{1};
  disk_->state->head_chain = disk_->rows.at(Position{1}).chain;
  EXPECT_EQ(return_store(mine), "conflict");
  EXPECT_EQ(started->code(), "ok");
  EXPECT_FALSE(mine.core.state().runs().is_live(run_no(2)));
  EXPECT_EQ(mine.core.position(), Position{2});
  EXPECT_EQ(mine.core.state().encode(), folded_anew());
}

TEST_F(StoreOutage, an_outage_while_batches_of_other_writers_are_read_repeats_the_read) {
  TestCore& mine = open_recoverable();
  TestCore& other = open();
  for (int run = 1; run <= 5; ++run) {
    other.start(start_of(run, two_));
    other.settle();
  }
  // The journal has read them; the core has not applied them.
  mine.hooks->after_read = [&] { mine.hooks->after_read = [&] { mine.hooks->down = true; }; };
  mine.core.check_for_changes();
  mine.decide();
  mine.hooks->down = true;
  mine.core.check_for_changes();
  mine.decide();
  mine.hooks->down = false;
  if (mine.core.outage().has_value()) {
    EXPECT_EQ(return_store(mine), "nothing open");
  }
  mine.settle();
  EXPECT_EQ(mine.core.position(), Position{5});
  EXPECT_EQ(mine.core.state().encode(), folded_anew());
}

TEST_F(StoreOutage, a_store_without_reconnect_stops_the_engine) {
  TestCore& core = open();
  const auto started = core.start(start_of(1, one_));
  core.decide();
  lose_answer(core);
  core.write();
  EXPECT_TRUE(core.core.stopped().has_value());
  EXPECT_EQ(started->code(), "io_error");
}

// The threads around the core.
class LoopOutage : public testing::Test {
 protected:
  static bool eventually(const std::function<bool()>& condition) {
    const auto end = std::chrono::steady_clock::now() + seconds(20);
    while (!condition()) {
      if (std::chrono::steady_clock::now() > end) {
        return false;
      }
      poll(nullptr, 0, 2);
    }
    return true;
  }
  std::unique_ptr<Loop> open(const LoopOptions& options = {}) {
    hooks_->can_reconnect = true;
    return must(Loop::open(open_hooked_journal(disk_, hooks_), clock_, random_, options));
  }
  Result<Started> start(Loop& loop, int number) {
    const StartRun command = start_of(number, one_);
    return loop.execute<Started>(
        [command](Turn& turn) { return start_run(turn, command, IdOrigin::given); });
  }

  std::shared_ptr<MemoryDisk> disk_ = std::make_shared<MemoryDisk>();
  std::shared_ptr<StoreHooks> hooks_ = std::make_shared<StoreHooks>();
  SystemClock clock_;
  SystemRandom random_;
  std::shared_ptr<const Definition> one_ = definition_of(kOneStep);
};

TEST_F(LoopOutage, it_reconnects_to_the_store_and_reports_its_health) {
  class Observer final : public CommitObserver {
   public:
    void committed(const CommitReport&) override {}
    void store_unavailable(const Error&) override { ++unavailable; }
    void store_returned(std::chrono::milliseconds) override { ++returned; }
    std::atomic<int> unavailable = 0;
    std::atomic<int> returned = 0;
  } observer;
  LoopOptions options;
  options.observer = &observer;
  const auto loop = open(options);
  EXPECT_EQ(loop->health().state, LoopHealth::State::ready);
  hooks_->after_append = [this]() -> Result<void> {
    hooks_->down = true;
    return lost_connection();
  };
  std::optional<Result<Started>> started;
  std::thread caller([&] { started.emplace(start(*loop, 1)); });
  ASSERT_TRUE(eventually([&] { return loop->health().state == LoopHealth::State::recovering; }));
  EXPECT_TRUE(loop->health().why.has_value());
  EXPECT_FALSE(loop->failure().has_value());
  hooks_->down = false;
  caller.join();
  EXPECT_EQ(code_of(*started), "ok");
  EXPECT_EQ(loop->health().state, LoopHealth::State::ready);
  EXPECT_EQ(code_of(start(*loop, 2)), "ok");
  EXPECT_EQ(hooks_->appends, 2U) << "nothing is written twice";
  ASSERT_TRUE(eventually([&] { return observer.returned == 1; }));
  EXPECT_EQ(observer.unavailable, 1);
}

TEST_F(LoopOutage, a_caller_gets_unavailable_when_its_command_stays_unwritten) {
  LoopOptions options;
  options.core.store_patience_ms = 100;
  const auto loop = open(options);
  hooks_->down = true;
  loop->submit(CheckForChanges{});
  ASSERT_TRUE(eventually([&] { return loop->health().state == LoopHealth::State::recovering; }));
  EXPECT_EQ(code_of(start(*loop, 1)), "unavailable");
  hooks_->down = false;
  ASSERT_TRUE(eventually([&] { return loop->health().state == LoopHealth::State::ready; }));
  EXPECT_EQ(code_of(start(*loop, 1)), "ok");
}

TEST_F(LoopOutage, it_can_be_closed_during_an_outage) {
  auto loop = open();
  hooks_->after_append = [this]() -> Result<void> {
    hooks_->down = true;
    return lost_connection();
  };
  std::optional<Result<Started>> started;
  std::thread caller([&] { started.emplace(start(*loop, 1)); });
  ASSERT_TRUE(eventually([&] { return loop->health().state == LoopHealth::State::recovering; }));
  loop->close();
  caller.join();
  EXPECT_EQ(started->error().what_next(), WhatNext::in_doubt);
}

TEST_F(LoopOutage, a_history_that_lost_acknowledged_batches_stops_it) {
  const auto loop = open();
  ASSERT_EQ(code_of(start(*loop, 1)), "ok");
  hooks_->before_append = [this]() -> Result<void> {
    const std::scoped_lock lock(disk_->mutex);
    disk_->rows.clear();
    disk_->state->head = Position{0};
    disk_->state->head_chain = disk_->state->anchor;
    return lost_connection();
  };
  EXPECT_FALSE(start(*loop, 2).ok());
  ASSERT_TRUE(eventually([&] { return loop->failure().has_value(); }));
  EXPECT_EQ(loop->health().state, LoopHealth::State::stopped);
}

}  // namespace
}  // namespace holdfast::engine_store_outage_test
