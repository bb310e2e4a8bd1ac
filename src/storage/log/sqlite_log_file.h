// The SQLite file of a log: recognising one and creating one.
#pragma once

#include <chrono>
#include <string>

#include "holdfast/result.h"
#include "storage/log/store.h"

namespace holdfast {

enum class SqliteFileKind : std::uint8_t {
  missing,
  empty,       // nothing in it: made by hand, or by a process that is creating a journal
  unfinished,  // a journal that is not in WAL mode: its creator is at work, or was killed
  journal,
};

// Reads the header bytes, looks for a rollback journal, and changes nothing. not_a_journal,
// newer_format, permission_denied or io_error if the file is not of one of these kinds.
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

}  // namespace holdfast
