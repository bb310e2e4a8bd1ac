// Program threads that use one journal at the same time, and failures during a commit.
#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <functional>
#include <latch>
#include <map>
#include <thread>

#include "storage/journal/journal_history.h"
#include "storage/log/pass_through_store.h"
#include "tests/support/test_log.h"

namespace holdfast::journal_concurrency_test {
namespace {

// Forwards every call to a memory store; holds appends back until the gate is opened, and fails
// them on request.
class GatedStore final : public PassThroughStore {
 public:
  struct Gate {
    std::mutex mutex;
    std::condition_variable changed;
    bool open = true;
    int arrived = 0;  // appends that reached the gate
    std::optional<Error> fail_with;
    bool fail_reads_at_end = false;
    std::function<void()> after_append;  // runs before the journal learns that the batch is durable

    void close() {
      const std::scoped_lock lock(mutex);
      open = false;
    }
    void let_go() {
      const std::scoped_lock lock(mutex);
      open = true;
      changed.notify_all();
    }
    void wait_for_arrivals(int count) {
      std::unique_lock lock(mutex);
      changed.wait(lock, [&] { return arrived >= count; });
    }
  };

  GatedStore(std::unique_ptr<Store> inner, Gate* gate)
      : PassThroughStore(std::move(inner)), gate_(gate) {}

  Result<void> append(const RowView& row) override {
    std::unique_lock lock(gate_->mutex);
    ++gate_->arrived;
    gate_->changed.notify_all();
    gate_->changed.wait(lock, [&] { return gate_->open; });
    if (gate_->fail_with.has_value()) {
      return *gate_->fail_with;
    }
    lock.unlock();
    Result<void> appended = PassThroughStore::append(row);
    if (gate_->after_append != nullptr) {
      std::exchange(gate_->after_append, nullptr)();
    }
    return appended;
  }
  Result<std::vector<Row>> read(Position from, ReadLimit limit) override {
    auto rows = PassThroughStore::read(from, limit);
    if (gate_->fail_reads_at_end && rows.ok() && rows.value().empty()) {
      return Error{ErrorCode::unavailable, "the connection is gone"};
    }
    return rows;
  }

 private:
  Gate* gate_;
};

class JournalConcurrency : public testing::Test {
 protected:
  void open_gated() {
    auto store = must(open_memory_store(disk_, OpenMode::create, new_origin(test_uuid(1))));
    journal_ = must(
        Journal::open(must(Log::open(std::make_unique<GatedStore>(std::move(store), &gate_)))));
  }

  GatedStore::Gate gate_;
  std::shared_ptr<MemoryDisk> disk_ = std::make_shared<MemoryDisk>();
  std::unique_ptr<Journal> journal_;
};

TEST_F(JournalConcurrency, nothing_is_visible_before_it_is_durable) {
  open_gated();
  gate_.close();
  std::thread writer([&] { must(journal_->append(thread("run:1"), {entry("a")})); });
  gate_.wait_for_arrivals(1);
  EXPECT_EQ(must(journal_->revision(thread("run:1"))), Revision{0});
  EXPECT_TRUE(must(journal_->load(thread("run:1"))).empty());
  gate_.let_go();
  writer.join();
  EXPECT_EQ(must(journal_->revision(thread("run:1"))), Revision{1});
}

TEST_F(JournalConcurrency, an_io_error_stops_the_journal_and_acknowledges_nothing) {
  open_gated();
  must(journal_->append(thread("run:1"), {entry("good")}));
  gate_.close();
  std::thread writer([&] {
    const auto failed = journal_->append(thread("run:1"), {entry("lost")});
    EXPECT_EQ(code_of(failed), "io_error");
    EXPECT_EQ(failed.error().what_next(), WhatNext::in_doubt);
  });
  gate_.wait_for_arrivals(2);
  std::thread behind(
      [&] { EXPECT_EQ(code_of(journal_->append(thread("run:2"), {entry("b")})), "log_stopped"); });
  gate_.fail_with = Error{ErrorCode::io_error, "the disk is on fire"};
  gate_.let_go();
  writer.join();
  behind.join();
  gate_.fail_with.reset();
  const auto refused = journal_->append(thread("run:1"), {entry("more")});
  EXPECT_EQ(code_of(refused), "log_stopped");
  EXPECT_NE(refused.error().text().find("on fire"), std::string::npos);
  EXPECT_EQ(must(journal_->load(thread("run:1"))).size(), 1U);
  open_gated();
  EXPECT_EQ(must(journal_->append(thread("run:1"), {entry("again")})), Revision{2});
}

TEST_F(JournalConcurrency, a_failure_while_catching_up_lets_no_commit_take_a_used_number) {
  open_gated();
  const auto other = open_memory_journal(disk_);
  must(other->append(thread("run:1"), {entry("theirs"), entry("theirs")}));
  gate_.fail_reads_at_end = true;
  EXPECT_EQ(code_of(journal_->catch_up()), "unavailable");
  gate_.fail_reads_at_end = false;
  EXPECT_EQ(code_of(journal_->append(thread("run:1"), {entry("stale")}, Revision{1})), "conflict");
  EXPECT_EQ(must(journal_->append(thread("run:1"), {entry("mine")})), Revision{3});
  EXPECT_EQ(must(open_memory_journal(disk_)->load(thread("run:1"))).size(), 3U);
}

TEST_F(JournalConcurrency, reads_see_what_others_wrote_while_a_write_is_blocked) {
  open_gated();
  const auto other = open_memory_journal(disk_);
  gate_.close();
  std::thread writer(
      [&] { EXPECT_EQ(must(journal_->append(thread("run:1"), {entry("mine")})), Revision{2}); });
  gate_.wait_for_arrivals(1);
  EXPECT_EQ(must(journal_->catch_up()), Position{0}) << "without waiting";
  must(other->append(thread("run:1"), {entry("theirs")}));
  EXPECT_EQ(must(journal_->catch_up()), Position{1});
  EXPECT_EQ(must(journal_->load(thread("run:1"))).size(), 1U);
  gate_.let_go();
  writer.join();
  EXPECT_EQ(must(open_memory_journal(disk_)->load(thread("run:1"))).size(), 2U);
}

TEST_F(JournalConcurrency, a_blocked_commit_conflicts_with_what_another_process_wrote_meanwhile) {
  open_gated();
  const auto other = open_memory_journal(disk_);
  gate_.close();
  std::thread writer([&] {
    EXPECT_EQ(code_of(journal_->append(thread("run:1"), {entry("stale")}, Revision{0})),
              "conflict");
  });
  gate_.wait_for_arrivals(1);
  must(other->append(thread("run:1"), {entry("theirs")}));
  gate_.let_go();
  writer.join();
  EXPECT_EQ(must(open_memory_journal(disk_)->load(thread("run:1"))).size(), 1U);
}

TEST_F(JournalConcurrency, a_batch_that_a_reader_has_seen_before_its_writer_counts_once) {
  open_gated();
  const auto other = open_memory_journal(disk_);
  must(journal_->append(thread("run:1"), {entry("a")}));
  gate_.after_append = [&] {
    EXPECT_EQ(must(journal_->catch_up()), Position{2});
    EXPECT_EQ(must(journal_->revision(thread("run:1"))), Revision{2});
  };
  EXPECT_EQ(must(journal_->append(thread("run:1"), {entry("b")}, Revision{1})), Revision{2});
  EXPECT_EQ(must(journal_->append(thread("run:1"), {entry("c")}, Revision{2})), Revision{3});

  // Also if another process has written after it.
  gate_.after_append = [&] {
    must(other->catch_up());
    must(other->append(thread("run:1"), {entry("theirs")}));
    EXPECT_EQ(must(journal_->catch_up()), Position{5});
  };
  EXPECT_EQ(must(journal_->append(thread("run:1"), {entry("d")}, Revision{3})), Revision{4});
  EXPECT_EQ(code_of(journal_->append(thread("run:1"), {entry("stale")}, Revision{4})), "conflict");
  EXPECT_EQ(must(journal_->append(thread("run:1"), {entry("f")})), Revision{6});
  EXPECT_EQ(must(open_memory_journal(disk_)->load(thread("run:1"))).size(), 6U);
}

TEST_F(JournalConcurrency, damage_met_while_catching_up_stops_the_journal) {
  open_gated();
  must(journal_->append(thread("run:1"), {entry("a")}));
  const auto other = open_memory_log(disk_);
  must(other->append(Position{1}, R"([{"thread":"run:1","seq":9,"kind":"x","at":1,"data":{}}])"));
  EXPECT_EQ(code_of(journal_->catch_up()), "invalid_journal_entry");
  EXPECT_EQ(code_of(journal_->append(thread("run:1"), {entry("b")})), "log_stopped");
  EXPECT_EQ(must(journal_->load(thread("run:1"))).size(), 1U);
}

TEST_F(JournalConcurrency, a_busy_store_fails_the_commit_but_does_not_stop_the_journal) {
  open_gated();
  gate_.fail_with = Error{ErrorCode::busy, "locked"};
  EXPECT_EQ(code_of(journal_->append(thread("run:1"), {entry("a")}, Revision{0})), "busy");
  gate_.fail_with.reset();
  EXPECT_EQ(must(journal_->revision(thread("run:1"))), Revision{0});
  EXPECT_EQ(must(journal_->append(thread("run:1"), {entry("a")}, Revision{0})), Revision{1});
}

TEST_F(JournalConcurrency, many_threads_append_and_every_acknowledged_entry_is_stored_once) {
  constexpr int kThreads = 16;
  constexpr int kEach = 200;
  journal_ = open_memory_journal(disk_);
  std::vector<std::thread> appenders;
  std::latch start(kThreads);
  for (int t = 0; t < kThreads; ++t) {
    appenders.emplace_back([&, t] {
      start.arrive_and_wait();
      const ThreadId own = thread("run:" + std::to_string(t));
      for (int i = 0; i < kEach; ++i) {
        Commit commit;
        commit.push_back({own, Revision{static_cast<std::uint64_t>(i)}, {entry("own")}});
        commit.push_back({thread("dispatch:all"), std::nullopt, {entry("shared")}});
        EXPECT_EQ(must(journal_->commit(commit)).revisions.front().value,
                  static_cast<std::uint64_t>(i) + 1);
      }
    });
  }
  std::thread sealer([&] {
    for (int i = 0; i < 20; ++i) {
      must(journal_->seal());
    }
  });
  for (std::thread& appender : appenders) {
    appender.join();
  }
  sealer.join();
  EXPECT_EQ(must(journal_->load(thread("dispatch:all"))).size(), std::size_t{kThreads * kEach});
  for (int t = 0; t < kThreads; ++t) {
    EXPECT_EQ(must(journal_->load(thread("run:" + std::to_string(t)))).size(), std::size_t{kEach});
  }
  EXPECT_EQ(must(open_memory_journal(disk_)->load(thread("dispatch:all"))).size(),
            std::size_t{kThreads * kEach});
}

TEST_F(JournalConcurrency, contended_expected_revisions_let_exactly_one_win) {
  constexpr int kThreads = 8;
  constexpr std::uint64_t kRounds = 100;
  journal_ = open_memory_journal(disk_);
  const auto other = open_memory_journal(disk_);
  std::atomic<std::uint64_t> wins = 0;
  std::vector<std::thread> appenders;
  for (int t = 0; t < kThreads; ++t) {
    appenders.emplace_back([&, t] {
      Journal& mine = t % 2 == 0 ? *journal_ : *other;
      for (std::uint64_t round = 0; round < kRounds;) {
        auto written = mine.append(thread("run:1"), {entry("a")}, Revision{round});
        if (written.ok()) {
          ++wins;
          ++round;
        } else {
          ASSERT_EQ(written.error().code(), ErrorCode::conflict);
          must(mine.catch_up());
          round = must(mine.revision(thread("run:1"))).value;
        }
      }
    });
  }
  for (std::thread& appender : appenders) {
    appender.join();
  }
  const std::size_t length = must(open_memory_journal(disk_)->load(thread("run:1"))).size();
  EXPECT_EQ(length, wins.load());
  EXPECT_GE(length, kRounds);
  EXPECT_LT(length, kRounds + kThreads);
}

}  // namespace
}  // namespace holdfast::journal_concurrency_test
