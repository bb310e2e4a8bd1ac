// Disks that fail, fill up or corrupt data under an SQLite log.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <functional>

#include "storage/journal/journal_verify.h"
#include "storage/log/sqlite_store.h"
#include "tests/support/fault_vfs.h"
#include "tests/support/small_disk.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_log.h"

namespace holdfast::sqlite_fault_test {
namespace {

bool long_run() { return std::getenv("HOLDFAST_LONG") != nullptr; }

std::unique_ptr<Log> open_log_at(const std::string& path, const std::string& vfs = "") {
  return must(Log::open(
      must(open_sqlite_store(path, OpenMode::create, new_origin(test_uuid(1)),
                             SqliteOptions{.vfs = vfs, .busy_timeout = std::chrono::seconds(5)}))));
}

std::string body_of(std::uint64_t position) {
  return std::to_string(position) + ":" + std::string(3000, static_cast<char>('a' + position % 26));
}

// Every stored batch must be complete; at least `acknowledged` of them must exist.
void expect_intact(const std::string& path, std::uint64_t acknowledged) {
  const auto log = open_log_at(path);
  const auto bodies = bodies_from(*log, Position{1});
  EXPECT_GE(bodies.size(), acknowledged);
  for (std::size_t i = 0; i < bodies.size(); ++i) {
    EXPECT_EQ(bodies[i], body_of(i + 1));
  }
  must(log->append(log->head().position, body_of(log->head().position.value + 1)));
}

class DiskFaults : public testing::TestWithParam<DiskFault> {};

// Fails the 1st, 2nd, 3rd... operation until all appends succeed.
TEST_P(DiskFaults, no_failed_operation_loses_an_acknowledged_batch) {
  int faults_met = 0;
  for (int fail_at = 1;; ++fail_at) {
    SCOPED_TRACE(fail_at);
    ASSERT_LT(fail_at, 20'000);
    const TempDir dir;
    const std::string path = dir.file("log.db");
    std::uint64_t acknowledged = 0;
    std::optional<Error> failure;
    {
      const auto log = open_log_at(path, fault_vfs());
      arm_fault(GetParam(), fail_at);
      // Enough to fill the WAL, so that checkpoints into the file are hit too.
      for (std::uint64_t i = 1; i <= 260 && !failure.has_value(); ++i) {
        auto written = log->append(Position{i - 1}, body_of(i));
        if (written.ok()) {
          acknowledged = i;
        } else {
          failure = std::move(written).error();
        }
      }
      // A checkpoint follows a commit; its error is reported by the next write.
      if (!failure.has_value()) {
        const auto written = log->append(Position{acknowledged}, body_of(acknowledged + 1));
        if (written.ok()) {
          ++acknowledged;
        } else {
          failure = written.error();
        }
      }
      if (failure.has_value()) {
        EXPECT_TRUE(failure->code() == ErrorCode::io_error ||
                    failure->code() == ErrorCode::disk_full)
            << failure->text();
        EXPECT_EQ(failure->what_next(), WhatNext::in_doubt);
        EXPECT_EQ(code_of(log->append(log->head().position, "x")), "log_stopped");
        EXPECT_EQ(code_of(log->update(SideUpdate{})), "log_stopped");
      }
      if (!disarm_fault()) {
        break;
      }
      ++faults_met;
      // A checkpoint without space is retried.
      EXPECT_TRUE(failure.has_value() || GetParam() == DiskFault::disk_full)
          << "a failed operation was swallowed";
    }
    expect_intact(path, acknowledged);
    // The early operations one by one, then at growing intervals.
    fail_at += fail_at / (long_run() ? 100 : 10);
  }
  EXPECT_GT(faults_met, 30);
}

INSTANTIATE_TEST_SUITE_P(WriteError, DiskFaults, testing::Values(DiskFault::write_error));
INSTANTIATE_TEST_SUITE_P(SyncError, DiskFaults, testing::Values(DiskFault::sync_error));
INSTANTIATE_TEST_SUITE_P(DiskFull, DiskFaults, testing::Values(DiskFault::disk_full));

// The child runs `work` and exits at the countdown-th operation. Returns whether it did.
template <typename Work>
bool crashes(int countdown, Work work) {
  const pid_t child = fork();
  if (child == 0) {
    arm_fault(DiskFault::crash, countdown);
    work();
    _exit(0);
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  return WEXITSTATUS(status) == kCrashExitCode;
}

TEST(SqliteFaults, a_crash_at_any_operation_of_a_commit_leaves_it_atomic) {
  const std::string vfs = fault_vfs();
  for (int countdown = 1;; ++countdown) {
    SCOPED_TRACE(countdown);
    const TempDir dir;
    const std::string path = dir.file("log.db");
    {
      const auto log = open_log_at(path);
      must(log->append(Position{0}, body_of(1)));
    }
    const bool died = crashes(countdown, [&] {
      const auto log = open_log_at(path, vfs);
      SideUpdate update;
      update.puts = {{"a", std::string(20'000, 'a')}, {"b", std::string(20'000, 'b')}};
      must(log->append(Position{1}, body_of(2)));
      must(log->append(Position{2}, body_of(3)));
      update.trim = Trim{Position{1}, Position{1}, {}};
      must(log->update(update));
    });
    const auto log = open_log_at(path);
    EXPECT_EQ(must(log->get("a")).has_value(), must(log->get("b")).has_value());
    EXPECT_TRUE(died || must(log->get("b")).has_value());
    expect_intact(path, died ? 1 : 3);
    if (!died) {
      EXPECT_GT(countdown, 10);
      break;
    }
  }
}

TEST(SqliteFaults, reading_leaves_no_files_behind) {
  const TempDir dir;
  const std::string path = dir.file("log.db");
  must(open_log_at(path)->append(Position{0}, body_of(1)));
  const auto files = [&] {
    return std::distance(std::filesystem::directory_iterator(dir.path()), {});
  };
  EXPECT_EQ(files(), 1);
  {
    const auto log = must(Log::open(must(open_sqlite_store(path, OpenMode::read, {}))));
    EXPECT_EQ(bodies_from(*log, Position{1}).size(), 1U);
  }
  EXPECT_EQ(files(), 1);
}

TEST(SqliteFaults, a_failing_side_update_changes_nothing_and_stops_the_log) {
  const TempDir dir;
  const std::string path = dir.file("log.db");
  {
    const auto log = open_log_at(path, fault_vfs());
    must(log->append(Position{0}, body_of(1)));
    SideUpdate update;
    update.puts.push_back({"key", std::string(50'000, 'v')});
    arm_fault(DiskFault::write_error, 2);
    EXPECT_EQ(code_of(log->update(update)), "io_error");
    disarm_fault();
    EXPECT_EQ(code_of(log->append(Position{1}, body_of(2))), "log_stopped");
  }
  EXPECT_EQ(must(open_log_at(path)->get("key")), std::nullopt);
  expect_intact(path, 1);
}

// In a child with its own mount, so that nothing is left behind in any case.
void on_small_disk(const std::string& size, const std::function<void(const std::string&)>& work) {
  const TempDir dir;
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    SmallDisk disk;
    EXPECT_EQ(disk.mount_at(dir.path(), size), "");
    try {
      if (!testing::Test::HasFailure()) {
        work(dir.path());
      }
    } catch (const std::exception&) {
      _exit(1);  // must not continue with the other tests in this process
    }
    _exit(testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "see the messages above";
}

// A file that takes all space but the given number of bytes.
void leave_space(const std::string& ballast, std::size_t bytes) {
  struct statvfs space {};
  std::ofstream(ballast).flush();
  ASSERT_EQ(statvfs(ballast.c_str(), &space), 0);
  const std::size_t free = space.f_bavail * space.f_bsize;
  ASSERT_GT(free, bytes);
  std::ofstream(ballast) << std::string(free - bytes, 'b');
}

TEST(SqliteFaults, a_full_disk_is_reported_and_loses_nothing) {
  on_small_disk("1500k", [](const std::string& folder) {
    const std::string path = folder + "/log.db";
    const std::string ballast = folder + "/ballast";
    std::ofstream(ballast) << std::string(300'000, 'b');
    std::uint64_t acknowledged = 0;
    {
      const auto log = open_log_at(path);
      for (;;) {
        auto written = log->append(Position{acknowledged}, body_of(acknowledged + 1));
        if (!written.ok()) {
          EXPECT_EQ(code_of(written), "disk_full") << written.error().text();
          EXPECT_EQ(code_of(log->append(Position{acknowledged}, "x")), "log_stopped");
          break;
        }
        ++acknowledged;
        ASSERT_LT(acknowledged, 10'000U);
      }
    }
    std::filesystem::remove(ballast);
    EXPECT_GT(acknowledged, 10U);
    expect_intact(path, acknowledged);
  });
}

TEST(SqliteFaults, opening_a_log_on_a_full_disk_reports_it) {
  on_small_disk("1500k", [](const std::string& folder) {
    const std::string path = folder + "/log.db";
    must(open_log_at(path)->append(Position{0}, body_of(1)));
    leave_space(folder + "/ballast", 0);
    const auto opened = open_sqlite_store(path, OpenMode::write, {});
    EXPECT_EQ(code_of(opened), "disk_full");
    EXPECT_EQ(code_of(open_sqlite_store(folder + "/new.db", OpenMode::create, {})), "disk_full");
    std::filesystem::remove(folder + "/ballast");
    expect_intact(path, 1);
  });
}

// A log on a disk where the next commits fit into the WAL, but the WAL does not fit into the file.
class FullCheckpoint {
 public:
  explicit FullCheckpoint(const std::string& folder)
      : path(folder + "/log.db"), ballast(folder + "/ballast"), log(open_log_at(path)) {
    append_until_wal_has(4'000'000);
    leave_space(ballast, 350'000);
    append_until_wal_has(kCheckpointBytes);
  }
  // Every commit is acknowledged, also the last one, which is followed by a failing checkpoint.
  void append_until_wal_has(std::uintmax_t bytes) {
    while (std::filesystem::file_size(path + "-wal") < bytes) {
      must(log->append(Position{acknowledged}, body_of(acknowledged + 1)));
      ++acknowledged;
    }
  }
  Result<LogHead> append_next() {
    return log->append(Position{acknowledged}, body_of(acknowledged + 1));
  }

  static constexpr std::uintmax_t kCheckpointBytes = 512 * (8192 + 24) + 32;
  const std::string path;
  const std::string ballast;
  std::uint64_t acknowledged = 0;
  std::unique_ptr<Log> log;
};

TEST(SqliteFaults,
     a_checkpoint_without_space_fails_no_commit_and_the_next_write_reports_disk_full) {
  on_small_disk("6m", [](const std::string& folder) {
    FullCheckpoint full(folder);
    const auto refused = full.append_next();
    EXPECT_EQ(code_of(refused), "disk_full");
    {
      const auto reader = must(Log::open(must(open_sqlite_store(full.path, OpenMode::read, {}))));
      EXPECT_EQ(bodies_from(*reader, Position{1}).size(), full.acknowledged);
    }
    full.log.reset();
    std::filesystem::remove(full.ballast);
    expect_intact(full.path, full.acknowledged);
  });
}

TEST(SqliteFaults, a_log_continues_after_space_was_freed) {
  on_small_disk("6m", [](const std::string& folder) {
    FullCheckpoint full(folder);
    std::filesystem::remove(full.ballast);
    must(full.append_next());
    ++full.acknowledged;
    full.log.reset();
    expect_intact(full.path, full.acknowledged);
  });
}

class DamagedFile : public testing::Test {
 protected:
  // A closed journal file with sealed and unsealed batches.
  void SetUp() override {
    const auto journal = must(Journal::open(open_log_at(path_)));
    for (int i = 0; i < 30; ++i) {
      must(journal->append(thread("run:" + std::to_string(i % 3)),
                           {entry("fact", R"({"n":)" + std::to_string(i) + R"(,"pad":")" +
                                              std::string(500, 'p') + "\"}")}));
    }
    must(journal->seal({.below = Position{15}}));
    good_ = bodies_from(journal->log(), Position{15});
  }

  // Reads everything; whatever is returned must be a prefix of what was written. Returns whether
  // damage was reported.
  bool read_checked() {
    auto store = open_sqlite_store(path_, OpenMode::read, new_origin(test_uuid(1)));
    if (!store.ok()) {
      return true;
    }
    auto log = Log::open(std::move(store).value());
    if (!log.ok()) {
      return true;
    }
    auto reader = log.value()->read(Position{15});
    std::size_t served = 0;
    while (reader.ok()) {
      auto batches = reader.value().next();
      if (!batches.ok()) {
        return true;
      }
      if (batches.value().empty()) {
        break;
      }
      for (const Batch& batch : batches.value()) {
        EXPECT_LT(served, good_.size());
        EXPECT_EQ(batch.body, good_[served++]);
      }
    }
    return !reader.ok() || served < good_.size() || !verify_journal(*log.value()).ok();
  }

  std::string slurp() {
    std::ifstream file(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void overwrite(const std::string& bytes) {
    std::filesystem::remove(path_ + "-wal");
    std::filesystem::remove(path_ + "-shm");
    std::ofstream(path_, std::ios::binary | std::ios::trunc) << bytes;
  }

  TempDir dir_;
  std::string path_ = dir_.file("log.db");
  std::vector<std::string> good_;
};

TEST_F(DamagedFile, an_intact_file_is_read_completely) { EXPECT_FALSE(read_checked()); }

TEST_F(DamagedFile, a_truncated_file_is_reported_at_every_length) {
  const std::string bytes = slurp();
  for (std::size_t length = 1; length < bytes.size(); length += 1 + bytes.size() / 97) {
    overwrite(bytes.substr(0, length));
    EXPECT_TRUE(read_checked()) << "cut to " << length << " of " << bytes.size();
  }
}

TEST_F(DamagedFile, a_flipped_bit_never_changes_what_is_read) {
  const std::string bytes = slurp();
  SeededRandom random(11);
  int reported = 0;
  const int flips = long_run() ? 5'000 : 1'000;
  for (int i = 0; i < flips; ++i) {
    std::string rotten = bytes;
    const std::uint64_t bit = random.below(bytes.size() * 8);
    rotten[bit / 8] = static_cast<char>(rotten[bit / 8] ^ (1 << (bit % 8)));
    overwrite(rotten);
    reported += read_checked() ? 1 : 0;
  }
  EXPECT_GT(reported, flips / 10);
}

}  // namespace
}  // namespace holdfast::sqlite_fault_test
