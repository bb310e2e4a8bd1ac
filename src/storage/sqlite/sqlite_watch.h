// Notification of commits to an SQLite file in WAL mode, in any process.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "base/owned_fd.h"
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

  // Returns at a commit since the last call, or after the timeout.
  Result<void> wait(std::chrono::milliseconds timeout);

 private:
  SqliteFileWatch(OwnedFd events, std::string name)
      : fd_(std::move(events)), name_(std::move(name)) {}

  OwnedFd fd_;
  std::string name_;
};

}  // namespace holdfast
