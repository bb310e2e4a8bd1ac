// The SQLite file of a log: recognising one, making one, and being told when it changes.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "holdfast/result.h"
#include "storage/log/sqlite_db.h"
#include "storage/log/store.h"

namespace holdfast {

// The folder that a path is in: "." when it names none.
std::string folder_of(const std::string& path);

bool file_exists(const std::string& path);

// The file that a path leads to: symbolic links are followed, also to a file that does not exist
// yet. SQLite keeps its side files beside that one.
std::string real_file(const std::string& path);

enum class SqliteFileKind : std::uint8_t {
  missing,
  empty,       // nothing in it: made by hand, or by a process that is creating a journal
  unfinished,  // a journal that is not in WAL mode: its creator is at work, or was killed
  journal,
};

// Looks at the header bytes and for a rollback journal, and changes nothing. not_a_journal,
// newer_format, permission_denied or io_error when it is none of these kinds.
Result<SqliteFileKind> inspect_sqlite_file(const std::string& path);

// Waits until a process that is creating the journal has finished, and undoes what a creator that
// was killed has left half written. busy after the timeout. Returns what the file is then.
Result<SqliteFileKind> settle_sqlite_file(const std::string& path, const std::string& vfs,
                                          std::chrono::milliseconds busy_timeout);

// Creates the log, or completes what a creator that was killed has begun: the tables in one
// transaction, then WAL mode. Processes that do this at the same time wait for each other; the
// first one creates, and its log stays as it is. Without an origin nothing new is created:
// not_found when there are no tables.
Result<void> create_sqlite_log(const std::string& path, const StoreOrigin* origin,
                               const std::string& vfs, std::chrono::milliseconds busy_timeout);

// Tells watchers in all processes that a commit is visible. The writes of the commit itself
// come too early for that: they precede its sync. Opening and closing the WAL is an event that
// costs microseconds and changes nothing on disk; SQLite keeps its locks on other files.
void announce_sqlite_commit(const std::string& path);

// Hears announce_sqlite_commit in any process, by inotify.
class SqliteFileWatch {
 public:
  static Result<std::unique_ptr<SqliteFileWatch>> create(const std::string& path);
  ~SqliteFileWatch();
  SqliteFileWatch(const SqliteFileWatch&) = delete;
  SqliteFileWatch& operator=(const SqliteFileWatch&) = delete;

  // Returns at a commit since the last call, or after the timeout.
  Result<void> wait(std::chrono::milliseconds timeout);

 private:
  SqliteFileWatch(int descriptor, std::string name) : fd_(descriptor), name_(std::move(name)) {}

  int fd_;
  std::string name_;
};

}  // namespace holdfast
