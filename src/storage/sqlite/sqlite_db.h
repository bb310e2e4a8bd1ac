// A thin typed layer over the SQLite C API: a connection and prepared statements, errors as
// Error. One thread at a time per connection.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "holdfast/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace holdfast {

enum class SqliteAccess : std::uint8_t { create, read_write, read_only, immutable };

class SqliteDb;

// A prepared statement, used repeatedly. Bound texts and blobs must outlive the step.
class SqliteStatement {
 public:
  SqliteStatement& bind(int index, std::int64_t value);
  SqliteStatement& bind_text(int index, std::string_view value);
  SqliteStatement& bind_blob(int index, std::string_view value);

  // True while there is a row to read.
  Result<bool> step();
  // Steps to the end and makes the statement ready for its next use.
  Result<void> run();
  void reset();

  // Columns of a row.
  [[nodiscard]] int columns() const;
  [[nodiscard]] bool is_null(int index) const;
  [[nodiscard]] std::int64_t column_integer(int index) const;
  // Text or blob; valid until the next step or reset.
  [[nodiscard]] std::string_view column_bytes(int index) const;

 private:
  friend class SqliteDb;
  struct Finalizer {
    void operator()(sqlite3_stmt* statement) const;
  };
  SqliteStatement(SqliteDb* db, sqlite3_stmt* statement) : db_(db), statement_(statement) {}

  SqliteDb* db_;
  std::unique_ptr<sqlite3_stmt, Finalizer> statement_;
};

class SqliteDb {
 public:
  static Result<std::unique_ptr<SqliteDb>> open(const std::string& path, SqliteAccess access,
                                                const std::string& vfs,
                                                std::chrono::milliseconds busy_timeout);

  Result<void> exec(const char* sql);
  Result<SqliteStatement> prepare(const char* sql);
  // The first column of the first row; empty when there is none.
  Result<std::string> query_text(const char* sql);
  // Moves the WAL into the file when a commit has left it this long. SQLite's own auto-checkpoint
  // is off: it belongs to the commit, so that its failure looks like one of the commit. What fails
  // here leaves the WAL as it is, with everything in it, and may be tried again.
  Result<void> checkpoint_if_longer(int wal_pages);
  // Rows changed by the last statement.
  [[nodiscard]] int changes() const;
  // The last failure of this connection as an Error: busy, disk_full, corrupt_log, io_error...
  [[nodiscard]] Error last_error() const;

 private:
  struct Closer {
    void operator()(sqlite3* db) const;
  };
  SqliteDb(sqlite3* db, std::chrono::milliseconds busy_timeout);

  static int wait_for_lock(void* self, int tries);
  static int note_wal_pages(void* self, sqlite3* db, const char* name, int wal_pages);

  std::unique_ptr<sqlite3, Closer> db_;
  std::chrono::milliseconds busy_timeout_;
  std::chrono::steady_clock::time_point waiting_since_;
  int wal_pages_ = 0;  // since the last checkpoint of this connection
};

}  // namespace holdfast
