// The SQLite file of a log: recognising one, making one, and being told when it changes.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "base/result.h"
#include "log/sqlite_db.h"
#include "log/store.h"

namespace holdfast {

// The folder that a path is in: "." when it names none.
std::string folder_of(const std::string& path);

enum class SqliteFileKind : std::uint8_t { missing, empty, journal };

// Looks at the header bytes only and changes nothing. not_a_journal, newer_format,
// permission_denied or io_error when it is none of the three kinds.
Result<SqliteFileKind> inspect_sqlite_file(const std::string& path);

// Makes the tables of an empty log, in one transaction. If another process was first, its log
// stays as it is.
Result<void> create_sqlite_log(const std::string& path, const StoreOrigin& origin,
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
