// The PostgreSQL store against a real server and real faults.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <thread>

#include "tests/support/postgres_fixture.h"
#include "tests/support/small_disk.h"
#include "tests/support/temp_dir.h"

namespace holdfast::postgres_test::postgres_fault_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::AnyOf;
using ::testing::Eq;
using ::testing::HasSubstr;

using PostgresFault = PostgresTest;

// Appends until the first failure and records the acknowledged batches.
class Writer {
 public:
  Writer(Log& log, std::uint64_t seed) : log_(log), thread_([this, seed] { work(seed); }) {}
  ~Writer() { join(); }

  void wait_for_acks(std::uint64_t count) {
    std::unique_lock lock(mutex_);
    ASSERT_TRUE(changed_.wait_for(
        lock, seconds(120), [&] { return acknowledged_.size() >= count || failure_.has_value(); }));
  }
  void join() {
    if (thread_.joinable()) {
      thread_.join();
    }
  }
  // Valid after join().
  [[nodiscard]] const std::vector<Batch>& acknowledged() const { return acknowledged_; }
  [[nodiscard]] const std::string& unacknowledged() const { return body_; }
  [[nodiscard]] const Error& failure() const { return *failure_; }

 private:
  void work(std::uint64_t seed) {
    SeededRandom random(seed);
    while (true) {
      // Mostly small; sometimes so large that the kill hits a partial write.
      body_ = random_text(random, 1 + random.below(random.below(4) == 0 ? 400'000 : 2'000));
      auto appended = log_.append(log_.head().position, body_);
      const std::scoped_lock lock(mutex_);
      if (appended.ok()) {
        acknowledged_.push_back(Batch{appended.value().position, body_, appended.value().chain});
      } else {
        failure_ = std::move(appended).error();
      }
      changed_.notify_all();
      if (failure_.has_value()) {
        return;
      }
    }
  }

  Log& log_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Batch> acknowledged_;
  std::string body_;
  std::optional<Error> failure_;
  std::thread thread_;
};

TEST_F(PostgresFault, killed_server_loses_no_acknowledged_batch) {
  SeededRandom random(20'240);
  std::vector<Batch> expected;
  for (std::uint64_t round = 0; round < 8; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    auto log = must(open_log_at(url()));
    ASSERT_EQ(log->head().position.value, expected.size());
    Writer writer(*log, random.next_u64());
    writer.wait_for_acks(1 + random.below(60));
    cluster_.kill_9();
    writer.join();

    EXPECT_EQ(writer.failure().code(), ErrorCode::io_error) << writer.failure().text();
    EXPECT_EQ(writer.failure().what_next(), WhatNext::in_doubt);
    EXPECT_THAT(writer.failure().text(), HasSubstr("unknown until the log is opened again"));
    const auto again = log->append(log->head().position, "x");
    ASSERT_FALSE(again.ok());
    EXPECT_EQ(again.error().code(), ErrorCode::log_stopped);

    must(cluster_.start());
    auto reopened = must(open_log_at(url(), OpenMode::write));
    const std::vector<Batch> found = read_all(*reopened);
    expected.insert(expected.end(), writer.acknowledged().begin(), writer.acknowledged().end());
    // The batch in doubt is stored completely or not at all.
    ASSERT_GE(found.size(), expected.size());
    ASSERT_LE(found.size(), expected.size() + 1);
    for (std::size_t at = 0; at < expected.size(); ++at) {
      ASSERT_EQ(found[at].chain, expected[at].chain);
      ASSERT_EQ(found[at].body, expected[at].body);
    }
    if (found.size() > expected.size()) {
      EXPECT_EQ(found.back().body, writer.unacknowledged());
      expected.push_back(found.back());
    }
    // The reopened log accepts appends.
    const auto next = must(reopened->append(reopened->head().position, "after the crash"));
    expected.push_back(Batch{next.position, "after the crash", next.chain});
  }
}

TEST_F(PostgresFault, reader_reconnects_after_a_restart_and_the_writer_does_not) {
  auto store = must(open_store_at(url()));
  const StoreState before = must(store->state());
  must(store->update({.puts = {{"key", "value"}}, .deletes = {}, .trim = {}}));
  for (int round = 0; round < 3; ++round) {
    round == 0 ? cluster_.stop() : cluster_.kill_9();
    const auto down = store->state();
    ASSERT_FALSE(down.ok());
    EXPECT_EQ(down.error().code(), ErrorCode::unavailable) << down.error().text();
    must(cluster_.start());
    EXPECT_EQ(must(store->state()).log_id, before.log_id);
    const std::string key = "key";
    EXPECT_EQ(must(store->get(std::span(&key, 1))).front(), "value");
  }
  const auto written = store->update({.puts = {{"key", "other"}}, .deletes = {}, .trim = {}});
  ASSERT_FALSE(written.ok());
  EXPECT_EQ(written.error().code(), ErrorCode::io_error);
  EXPECT_EQ(written.error().what_next(), WhatNext::in_doubt);
}

// The server commits with a warning when it stops waiting for its standby: the batch is visible,
// but would be lost with this server.
TEST_F(PostgresFault, commit_that_did_not_wait_for_its_standby_is_in_doubt_until_it_is_confirmed) {
  auto log = must(open_log_at(url()));
  must(cluster_.run_sql("ALTER SYSTEM SET synchronous_standby_names = 'absent'"));
  must(cluster_.run_sql("SELECT pg_reload_conf()"));
  ASSERT_EQ(must(cluster_.run_sql("SHOW synchronous_standby_names")), "absent");
  std::optional<Result<LogHead>> appended;
  std::thread writer([&] { appended.emplace(log->append(Position{0}, "body")); });
  const std::string cancel =
      "SELECT count(pg_cancel_backend(pid)) FROM pg_stat_activity WHERE wait_event = 'SyncRep'";
  const auto end = std::chrono::steady_clock::now() + seconds(60);
  while (must(cluster_.run_sql(cancel)) == "0" && std::chrono::steady_clock::now() < end) {
  }
  writer.join();
  must(cluster_.run_sql("ALTER SYSTEM RESET synchronous_standby_names"));
  must(cluster_.run_sql("SELECT pg_reload_conf()"));
  ASSERT_FALSE(appended->ok());
  EXPECT_EQ(appended->error().what_next(), WhatNext::in_doubt) << appended->error().text();
  const LogRecovery found = must(log->recover());
  EXPECT_EQ(found.append, LogRecovery::Append::landed);
  EXPECT_EQ(log->head().position, Position{1});
  must(log->append(Position{1}, "next"));
}

TEST_F(PostgresFault, log_recovers_in_place_after_the_server_was_killed) {
  auto log = must(open_log_at(url()));
  SeededRandom random(11);
  std::vector<Batch> expected;
  for (int round = 0; round < 4; ++round) {
    SCOPED_TRACE(round);
    Writer writer(*log, random.next_u64());
    writer.wait_for_acks(1 + random.below(40));
    cluster_.kill_9();
    writer.join();
    EXPECT_EQ(log->recover().error().code(), ErrorCode::unavailable);
    must(cluster_.start());
    const LogRecovery found = must(log->recover());
    EXPECT_EQ(found.append, LogRecovery::Append::landed) << "it was stored, or was written again";
    EXPECT_FALSE(found.rewound);
    expected.insert(expected.end(), writer.acknowledged().begin(), writer.acknowledged().end());
    expected.push_back(Batch{found.at.position, writer.unacknowledged(), found.at.chain});
    const std::vector<Batch> there = read_all(*log);
    ASSERT_EQ(there.size(), expected.size());
    for (std::size_t at = 0; at < expected.size(); ++at) {
      ASSERT_EQ(there[at].chain, expected[at].chain);
    }
  }
}

// Appends until it fails. Returns the chain values of the acknowledged batches.
std::vector<Digest> fill(const std::string& url) {
  auto log = must(open_log_at(url));
  std::vector<Digest> chains;
  SeededRandom random(7);
  while (chains.size() < 3000) {
    const auto appended = log->append(log->head().position, random_text(random, 100'000));
    if (!appended.ok()) {
      const Error& error = appended.error();
      EXPECT_THAT(error.code(), AnyOf(Eq(ErrorCode::disk_full), Eq(ErrorCode::io_error)))
          << error.text();
      EXPECT_EQ(error.what_next(), WhatNext::in_doubt);
      ::testing::Test::RecordProperty("failure", error.text());
      const auto again = log->append(log->head().position, "x");
      EXPECT_FALSE(again.ok());
      EXPECT_TRUE(again.ok() || again.error().code() == ErrorCode::log_stopped);
      return chains;
    }
    chains.push_back(appended.value().chain);
  }
  ADD_FAILURE() << "the disk does not fill up";
  return chains;
}

void expect_intact(Log& log, const std::vector<Digest>& chains) {
  const auto found = read_all(log);
  ASSERT_GE(found.size(), chains.size());
  ASSERT_LE(found.size(), chains.size() + 1);
  for (std::size_t at = 0; at < chains.size(); ++at) {
    ASSERT_EQ(found[at].chain, chains[at]);
  }
}

// With 1 MB segments the write-ahead log leaves space for the rest.
PostgresCluster::Options small_cluster(const std::string& parent) {
  return {.parent = parent,
          .initdb = {"--wal-segsize=1"},
          .settings = {"max_wal_size=8MB", "min_wal_size=2MB", "autovacuum=off"}};
}

TEST_F(PostgresFault, full_disk_stops_the_log_and_loses_nothing) {
  const TempDir directory;
  SmallDisk disk;
  ASSERT_EQ(disk.mount_at(directory.path(), "160m"), "");
  const auto cluster = must(PostgresCluster::create(small_cluster(directory.path())));
  const std::string ballast = directory.file("ballast");
  std::ofstream(ballast) << std::string(32U << 20U, 'b');
  const std::vector<Digest> chains = fill(cluster->url("full"));
  EXPECT_GT(chains.size(), 20U);

  std::filesystem::remove(ballast);
  // A server that could not write its log exits and is restarted by the operator.
  must(cluster->restart());
  auto log = must(open_log_at(cluster->url("full"), OpenMode::write));
  expect_intact(*log, chains);
  must(log->append(log->head().position, "there is space again"));
}

TEST_F(PostgresFault, files_that_cannot_grow_stop_the_log_and_lose_nothing) {
  const auto cluster = must(PostgresCluster::create(small_cluster("/tmp")));
  cluster->stop();
  cluster->limit_file_bytes(24U << 20U);
  must(cluster->start());
  const std::vector<Digest> chains = fill(cluster->url("full"));
  EXPECT_GT(chains.size(), 20U);
  cluster->limit_file_bytes(0);
  must(cluster->restart());
  auto log = must(open_log_at(cluster->url("full"), OpenMode::write));
  expect_intact(*log, chains);
  must(log->append(log->head().position, "there is space again"));
}

TEST_F(PostgresFault, server_without_fsync_is_refused) {
  must(open_store_at(url()));
  cluster_.stop();
  cluster_.set_settings({"fsync=off"});
  must(cluster_.start());
  for (const OpenMode mode : {OpenMode::create, OpenMode::write}) {
    const auto refused = open_store_at(url(), mode);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code(), ErrorCode::unsafe_store);
    EXPECT_THAT(refused.error().text(), HasSubstr("allow_fsync_off=1"));
  }
  EXPECT_TRUE(open_store_at(url(), OpenMode::read).ok());
  EXPECT_TRUE(open_store_at(url() + "&allow_fsync_off=1").ok());
  cluster_.stop();
}

TEST_F(PostgresFault, refused_server_gets_no_tables) {
  cluster_.stop();
  cluster_.set_settings({"fsync=off"});
  must(cluster_.start());
  EXPECT_FALSE(open_store_at(url()).ok());
  EXPECT_EQ(relations(schema()), "");
  cluster_.stop();
}

TEST_F(PostgresFault, commits_are_durable_despite_the_server_default) {
  cluster_.stop();
  cluster_.set_settings({"synchronous_commit=off"});
  must(cluster_.start());
  auto log = must(open_log_at(url()));
  for (int count = 0; count < 20; ++count) {
    must(log->append(log->head().position, "body"));
  }
  cluster_.kill_9();
  must(cluster_.start());
  EXPECT_EQ(must(open_log_at(url()))->head().position.value, 20U);
  cluster_.stop();
}

// Runs the work in several processes that start together. Returns what each one wrote.
std::vector<std::string> in_processes(int count, const std::function<std::string()>& work) {
  int gate[2];
  int answers[2];
  if (pipe2(gate, O_CLOEXEC) != 0 || pipe2(answers, O_CLOEXEC) != 0) {
    throw std::runtime_error("pipe");
  }
  std::vector<pid_t> children;
  for (int index = 0; index < count; ++index) {
    const pid_t child = fork();
    if (child == 0) {
      close(gate[1]);
      char byte = 0;
      if (read(gate[0], &byte, 1) != 0) {  // returns when the gate is closed
        _exit(1);
      }
      const std::string answer = work() + "\n";
      const bool written = write(answers[1], answer.data(), answer.size()) > 0;
      _exit(written ? 0 : 1);
    }
    children.push_back(child);
  }
  close(gate[0]);
  close(gate[1]);
  close(answers[1]);
  std::string all;
  char buffer[4096];
  for (ssize_t got = 0; (got = read(answers[0], buffer, sizeof buffer)) > 0;) {
    all.append(buffer, static_cast<std::size_t>(got));
  }
  close(answers[0]);
  for (const pid_t child : children) {
    waitpid(child, nullptr, 0);
  }
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < all.size();) {
    const std::size_t end = all.find('\n', at);
    lines.push_back(all.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

TEST_F(PostgresFault, processes_that_create_the_same_log_concurrently_share_it) {
  constexpr int kProcesses = 6;
  for (int round = 0; round < 8; ++round) {
    const std::string target = schema() + std::to_string(round);
    if (round % 2 == 1) {
      must(cluster_.run_sql("CREATE SCHEMA " + target));
    }
    const auto ids = in_processes(kProcesses, [&]() -> std::string {
      auto store = open_store_at(cluster_.url(target));
      if (!store.ok()) {
        return store.error().text();
      }
      auto state = store.value()->state();
      return state.ok() ? to_string(state.value().log_id) : state.error().text();
    });
    ASSERT_EQ(ids.size(), static_cast<std::size_t>(kProcesses));
    for (const std::string& id : ids) {
      EXPECT_EQ(id, ids.front()) << "round " << round;
    }
    EXPECT_EQ(ids.front().size(), 36U) << ids.front();
  }
}

TEST_F(PostgresFault, processes_that_append_concurrently_lose_nothing) {
  must(open_store_at(url()));
  constexpr int kProcesses = 4;
  constexpr int kAppends = 40;
  const auto answers = in_processes(kProcesses, [&]() -> std::string {
    auto log = must(open_log_at(url()));
    int conflicts = 0;
    for (int done = 0; done < kAppends;) {
      auto appended = log->append(log->head().position, std::to_string(getpid()));
      if (appended.ok()) {
        ++done;
      } else if (appended.error().code() == ErrorCode::conflict) {
        ++conflicts;
        must(log->refresh());
      } else {
        return appended.error().text();
      }
    }
    return "done";
  });
  EXPECT_EQ(answers, std::vector<std::string>(kProcesses, "done"));
  auto log = must(open_log_at(url(), OpenMode::read));
  std::map<std::string, int> counts;
  for (const Batch& batch : read_all(*log)) {
    ++counts[batch.body];
  }
  EXPECT_EQ(counts.size(), static_cast<std::size_t>(kProcesses));
  for (const auto& [process, count] : counts) {
    EXPECT_EQ(count, kAppends) << process;
  }
}

TEST_F(PostgresFault, waiting_ends_when_the_server_stops_and_works_after_a_restart) {
  auto store = must(open_store_at(url()));
  must(store->wait_for_change(Position{0}, milliseconds(1)));
  std::thread waiter([&] {
    const auto waited = store->wait_for_change(Position{0}, seconds(60));
    ASSERT_FALSE(waited.ok());
    EXPECT_EQ(waited.error().code(), ErrorCode::unavailable) << waited.error().text();
  });
  cluster_.kill_9();
  waiter.join();
  must(cluster_.start());
  std::thread second([&] { must(store->wait_for_change(Position{0}, seconds(60))); });
  must(must(open_log_at(url()))->append(Position{0}, "body"));
  second.join();
}

}  // namespace
}  // namespace holdfast::postgres_test::postgres_fault_test
