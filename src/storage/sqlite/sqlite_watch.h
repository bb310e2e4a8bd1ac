// Notification of commits to an SQLite file in WAL mode, in any process.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "holdfast/result.h"

namespace holdfast {

// Notifies watchers in all processes that a commit is visible. The writes of the commit itself
// come too early for that: they precede its sync. Opening and closing the WAL is an event that
// costs microseconds and changes nothing on disk; SQLite keeps its locks on other files.
void announce_sqlite_commit(const std::string& path);

// Receives announce_sqlite_commit of any process, through inotify.
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
