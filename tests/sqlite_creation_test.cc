// Creating an SQLite store: many processes at once, and creators killed at any point.
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <functional>

#include "storage/log/sqlite_store.h"
#include "tests/support/fault_vfs.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_log.h"

namespace holdfast::sqlite_creation_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

Result<std::unique_ptr<Store>> open_at(const std::string& path, OpenMode mode,
                                       const std::string& vfs = "",
                                       milliseconds timeout = seconds(60)) {
  return open_sqlite_store(path, mode, new_origin(test_uuid(1)),
                           SqliteOptions{.vfs = vfs, .busy_timeout = timeout});
}

// Appends one batch after the batches of other processes.
Result<void> append_one(const std::string& path, const std::string& body, const std::string& vfs) {
  HOLDFAST_TRY(auto store, open_at(path, OpenMode::create, vfs));
  HOLDFAST_TRY(auto log, Log::open(std::move(store)));
  for (;;) {
    HOLDFAST_TRY(const StoreState state, log->refresh());
    const auto written = log->append(state.head, body);
    if (written.ok() || written.error().code() != ErrorCode::conflict) {
      return written.ok() ? Result<void>() : written.error();
    }
  }
}

// A process that does the work and exits with 0 on success.
pid_t start_process(const std::function<Result<void>()>& work) {
  const pid_t child = fork();
  if (child == 0) {
    const auto done = work();
    if (!done.ok()) {
      std::cerr << done.error().text() << std::endl;
    }
    _exit(done.ok() ? 0 : 1);
  }
  return child;
}

int exit_code_of(pid_t process) {
  int status = 0;
  EXPECT_EQ(waitpid(process, &status, 0), process);
  EXPECT_TRUE(WIFEXITED(status));
  return WEXITSTATUS(status);
}

// Each of several processes appends a batch, all at the same time.
void expect_all_append(const std::string& path, int processes, const std::string& vfs) {
  std::vector<pid_t> started;
  for (int i = 0; i < processes; ++i) {
    started.push_back(
        start_process([&] { return append_one(path, "from " + std::to_string(i), vfs); }));
  }
  for (const pid_t process : started) {
    EXPECT_EQ(exit_code_of(process), 0);
  }
}

// Both version bytes of the header.
std::string header_versions(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string header(20, '\0');
  file.read(header.data(), 20);
  return header.substr(18);
}

void expect_in_wal_mode(const std::string& path) {
  EXPECT_EQ(header_versions(path), std::string("\2\2"));
  EXPECT_FALSE(std::filesystem::exists(path + "-journal"));
}

std::size_t count_batches(const std::string& path) {
  const auto log = must(Log::open(must(open_at(path, OpenMode::read))));
  return bodies_from(*log, Position{1}).size();
}

class Connection {
 public:
  explicit Connection(const std::string& path) {
    HOLDFAST_ASSERT(sqlite3_open(path.c_str(), &db_) == SQLITE_OK);
  }
  ~Connection() { sqlite3_close(db_); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  void exec(const char* sql) {
    ASSERT_EQ(sqlite3_exec(db_, sql, nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(db_);
  }

 private:
  sqlite3* db_ = nullptr;
};

TEST(SqliteCreation, processes_that_create_a_store_at_the_same_time_all_succeed) {
  const std::string vfs = fault_vfs();
  slow_down_locks(milliseconds(10));
  for (int round = 0; round < 3; ++round) {
    SCOPED_TRACE(round);
    const TempDir dir;
    const std::string path = dir.file("log.db");
    if (round == 1) {
      std::ofstream(path).flush();  // an empty file, as left by a creator that died early
    }
    expect_all_append(path, 4, vfs);
    expect_in_wal_mode(path);
    EXPECT_EQ(count_batches(path), 4U);
  }
  slow_down_locks(milliseconds(0));
}

// What may happen to the files between the death of the creator and the next process.
enum class Aftermath : std::uint8_t { nothing, read_first, power_cut };

class KilledCreator : public testing::TestWithParam<Aftermath> {
 protected:
  // Returns whether it was killed before it had finished.
  static bool create_and_die(const std::string& path, int countdown) {
    const std::string vfs = fault_vfs();
    const pid_t creator = start_process([&]() -> Result<void> {
      arm_fault(DiskFault::crash, countdown);
      HOLDFAST_CHECK(open_at(path, OpenMode::create, vfs));
      return {};
    });
    return exit_code_of(creator) == kCrashExitCode;
  }
  // A reader finds no journal or an empty one; so does a writer that may not create one.
  static void expect_settled(const std::string& path) {
    const auto read = open_at(path, OpenMode::read);
    EXPECT_TRUE(read.ok() || code_of(read) == "not_found") << code_of(read);
    EXPECT_EQ(code_of(open_at(path, OpenMode::write)), code_of(read));
    if (read.ok()) {
      expect_in_wal_mode(path);
    }
  }
  // The pages of an unfinished first transaction may never have reached the disk. The rollback
  // journal starts with 8 magic bytes; byte 16 holds the previous number of pages.
  static void lose_unsynced_pages(const std::string& path) {
    std::ifstream journal(path + "-journal", std::ios::binary);
    std::string header(20, '\0');
    const bool first = journal.read(header.data(), 20) && header.front() != '\0' &&
                       header.substr(16) == std::string(4, '\0');
    if (first) {
      const auto size = std::filesystem::file_size(path);
      std::ofstream(path, std::ios::binary) << std::string(size, '\0');
    }
  }
};

TEST_P(KilledCreator, leaves_a_store_that_the_next_writers_complete) {
  for (int countdown = 1;; ++countdown) {
    SCOPED_TRACE(countdown);
    const TempDir dir;
    const std::string path = dir.file("log.db");
    if (!create_and_die(path, countdown)) {
      EXPECT_GT(countdown, 30);
      break;
    }
    if (GetParam() == Aftermath::read_first) {
      expect_settled(path);
    } else if (GetParam() == Aftermath::power_cut) {
      lose_unsynced_pages(path);
    }
    expect_all_append(path, 2, "");
    expect_in_wal_mode(path);
    EXPECT_EQ(count_batches(path), 2U);
  }
}

INSTANTIATE_TEST_SUITE_P(Alone, KilledCreator, testing::Values(Aftermath::nothing));
INSTANTIATE_TEST_SUITE_P(Read, KilledCreator, testing::Values(Aftermath::read_first));
INSTANTIATE_TEST_SUITE_P(PowerCut, KilledCreator, testing::Values(Aftermath::power_cut));

TEST(SqliteCreation, a_journal_that_is_not_in_wal_mode_is_read_and_converted_by_a_writer) {
  for (const OpenMode mode : {OpenMode::create, OpenMode::write}) {
    const TempDir dir;
    const std::string path = dir.file("log.db");
    must(append_one(path, "kept", ""));
    Connection(path).exec("PRAGMA journal_mode = DELETE");
    ASSERT_EQ(header_versions(path), std::string("\1\1"));
    EXPECT_EQ(count_batches(path), 1U);
    EXPECT_EQ(header_versions(path), std::string("\1\1")) << "reading changes nothing";
    must(open_at(path, mode));
    expect_in_wal_mode(path);
    EXPECT_EQ(count_batches(path), 1U);
  }
}

TEST(SqliteCreation, readers_and_writers_wait_while_another_process_creates_the_store) {
  const TempDir dir;
  const std::string path = dir.file("log.db");
  Connection creator(path);
  creator.exec("BEGIN EXCLUSIVE");
  for (const OpenMode mode : {OpenMode::read, OpenMode::write, OpenMode::create}) {
    EXPECT_EQ(code_of(open_at(path, mode, "", milliseconds(50))), "busy");
  }
  creator.exec("ROLLBACK");
  EXPECT_EQ(code_of(open_at(path, OpenMode::read)), "not_found");
  EXPECT_EQ(code_of(open_at(path, OpenMode::create)), "ok");
}

TEST(SqliteCreation, a_blank_file_without_a_rollback_journal_is_not_overwritten) {
  const TempDir dir;
  const std::string path = dir.file("log.db");
  std::ofstream(path, std::ios::binary) << std::string(8192, '\0');
  EXPECT_EQ(code_of(open_at(path, OpenMode::create)), "not_a_journal");
  EXPECT_EQ(code_of(open_at(path, OpenMode::read)), "not_a_journal");
}

TEST(SqliteCreation, a_link_works_before_and_after_the_store_exists) {
  const TempDir dir;
  const std::string link = dir.file("link.db");
  std::filesystem::create_directory(dir.file("far"));
  std::filesystem::create_symlink("far/log.db", link);
  EXPECT_EQ(code_of(open_at(link, OpenMode::read)), "not_found");
  const auto through_link = must(open_at(link, OpenMode::create));
  const auto log = must(Log::open(must(open_at(dir.file("far/log.db"), OpenMode::write))));
  must(log->append(Position{0}, "x"));
  EXPECT_EQ(must(through_link->state()).head, Position{1});
  EXPECT_EQ(must(through_link->size_bytes()), must(log->size_bytes())) << "including the WAL";
  EXPECT_TRUE(std::filesystem::is_symlink(link));
}

}  // namespace
}  // namespace holdfast::sqlite_creation_test
