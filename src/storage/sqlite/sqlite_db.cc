#include "storage/sqlite/sqlite_db.h"

#include <fmt/format.h>
#include <sqlite3.h>
#include <time.h>

#include <algorithm>
#include <cerrno>

namespace holdfast {

namespace {

int open_flags(SqliteAccess access) {
  constexpr int kCommon = SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
  switch (access) {
    case SqliteAccess::create:
      return kCommon | SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
    case SqliteAccess::read_write:
      return kCommon | SQLITE_OPEN_READWRITE;
    case SqliteAccess::read_only:
    case SqliteAccess::immutable:
      return kCommon | SQLITE_OPEN_READONLY;
  }
  return kCommon;
}

// The path as an SQLite URI: the only form that can say immutable=1 and keeps every path safe
// from being read as something else (":memory:", "file:...").
std::string file_uri(const std::string& path, SqliteAccess access) {
  std::string uri = "file:";
  for (const char c : path) {
    if (c == '?' || c == '#' || c == '%') {
      uri += fmt::format("%{:02x}", static_cast<unsigned char>(c));
    } else {
      uri += c;
    }
  }
  return access == SqliteAccess::immutable ? uri + "?immutable=1" : uri;
}

// SQLite says FULL of the files that it writes to; of its shared-memory file, of a sync and of
// files that it cannot create only the system says it.
bool is_full(int sqlite_code, int system_code) {
  const int primary = sqlite_code & 0xff;
  return primary == SQLITE_FULL || ((primary == SQLITE_IOERR || primary == SQLITE_CANTOPEN) &&
                                    (system_code == ENOSPC || system_code == EDQUOT));
}

ErrorCode code_for(int sqlite_code) {
  switch (sqlite_code & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return ErrorCode::busy;
    case SQLITE_CORRUPT:
      return ErrorCode::corrupt_log;
    case SQLITE_NOTADB:
      return ErrorCode::not_a_journal;
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_CANTOPEN:
    case SQLITE_AUTH:
      return ErrorCode::permission_denied;
    case SQLITE_TOOBIG:
      return ErrorCode::too_large;
    default:
      return ErrorCode::io_error;
  }
}

Error to_error(sqlite3* db) {
  const int code = sqlite3_extended_errcode(db);
  if (is_full(code, sqlite3_system_errno(db))) {
    return Error{ErrorCode::disk_full,
                 fmt::format("the disk is full (SQLite: {}, code {})", sqlite3_errmsg(db), code)};
  }
  const ErrorCode mapped = code_for(code);
  Error error{mapped, fmt::format("SQLite: {} (code {})", sqlite3_errmsg(db), code)};
  if (mapped == ErrorCode::corrupt_log) {
    return std::move(error).with("reason", "damaged_file");
  }
  return error;
}

}  // namespace

void SqliteStatement::Finalizer::operator()(sqlite3_stmt* statement) const {
  sqlite3_finalize(statement);
}

SqliteStatement& SqliteStatement::bind(int index, std::int64_t value) {
  HOLDFAST_ASSERT(sqlite3_bind_int64(statement_.get(), index, value) == SQLITE_OK);
  return *this;
}

// A length beyond SQLite's limit is left unbound; the step then fails with too_large.
SqliteStatement& SqliteStatement::bind_text(int index, std::string_view value) {
  sqlite3_bind_text64(statement_.get(), index, value.data(), value.size(), SQLITE_STATIC,
                      SQLITE_UTF8);
  return *this;
}

SqliteStatement& SqliteStatement::bind_blob(int index, std::string_view value) {
  sqlite3_bind_blob64(statement_.get(), index, value.data(), value.size(), SQLITE_STATIC);
  return *this;
}

Result<bool> SqliteStatement::step() {
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) {
    return true;
  }
  if (code == SQLITE_DONE) {
    return false;
  }
  Error error = db_->last_error();
  reset();
  return error;
}

Result<void> SqliteStatement::run() {
  for (;;) {
    HOLDFAST_TRY(const bool more, step());
    if (!more) {
      reset();
      return {};
    }
  }
}

void SqliteStatement::reset() { sqlite3_reset(statement_.get()); }

int SqliteStatement::columns() const { return sqlite3_column_count(statement_.get()); }

bool SqliteStatement::is_null(int index) const {
  return sqlite3_column_type(statement_.get(), index) == SQLITE_NULL;
}

std::int64_t SqliteStatement::column_integer(int index) const {
  return sqlite3_column_int64(statement_.get(), index);
}

std::string_view SqliteStatement::column_bytes(int index) const {
  const void* data = sqlite3_column_blob(statement_.get(), index);
  const int size = sqlite3_column_bytes(statement_.get(), index);
  return data == nullptr
             ? std::string_view()
             : std::string_view(static_cast<const char*>(data), static_cast<std::size_t>(size));
}

SqliteDb::SqliteDb(sqlite3* db, std::chrono::milliseconds busy_timeout)
    : db_(db), busy_timeout_(busy_timeout) {
  sqlite3_busy_handler(db, &SqliteDb::wait_for_lock, this);
  sqlite3_wal_hook(db, &SqliteDb::note_wal_pages, this);
}

void SqliteDb::Closer::operator()(sqlite3* db) const { sqlite3_close_v2(db); }

// SQLite has no queue for its lock, so waiters look again. The built-in handler soon sleeps
// 100 ms, ages beside a commit; this one stays in the order of a sync.
int SqliteDb::wait_for_lock(void* self, int tries) {
  auto* db = static_cast<SqliteDb*>(self);
  const auto now = std::chrono::steady_clock::now();
  if (tries == 0) {
    db->waiting_since_ = now;
  }
  if (now - db->waiting_since_ >= db->busy_timeout_) {
    return 0;
  }
  const long micros = std::min(50L << std::min(tries, 6), 2000L);
  const timespec pause{.tv_sec = 0, .tv_nsec = micros * 1000};
  nanosleep(&pause, nullptr);
  return 1;
}

int SqliteDb::note_wal_pages(void* self, sqlite3* /*db*/, const char* /*name*/, int wal_pages) {
  static_cast<SqliteDb*>(self)->wal_pages_ = wal_pages;
  return SQLITE_OK;
}

Result<void> SqliteDb::checkpoint_if_longer(int wal_pages) {
  if (wal_pages_ < wal_pages) {
    return {};
  }
  const int code =
      sqlite3_wal_checkpoint_v2(db_.get(), nullptr, SQLITE_CHECKPOINT_PASSIVE, nullptr, nullptr);
  // Another process may be moving the WAL at this moment; then there is nothing to do.
  const int primary = code & 0xff;
  if (primary != SQLITE_OK && primary != SQLITE_BUSY && primary != SQLITE_LOCKED) {
    return last_error();
  }
  wal_pages_ = 0;
  return {};
}

Result<std::unique_ptr<SqliteDb>> SqliteDb::open(const std::string& path, SqliteAccess access,
                                                 const std::string& vfs,
                                                 std::chrono::milliseconds busy_timeout) {
  // Counting what SQLite allocates would take a lock of the process for each allocation. Without
  // effect once SQLite is in use.
  static const int uncounted = sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
  static_cast<void>(uncounted);
  sqlite3* raw = nullptr;
  const int code = sqlite3_open_v2(file_uri(path, access).c_str(), &raw, open_flags(access),
                                   vfs.empty() ? nullptr : vfs.c_str());
  std::unique_ptr<SqliteDb> db(new SqliteDb(raw, busy_timeout));
  if (code != SQLITE_OK) {
    return db->last_error();
  }
  return db;
}

Result<void> SqliteDb::exec(const char* sql) {
  if (sqlite3_exec(db_.get(), sql, nullptr, nullptr, nullptr) != SQLITE_OK) {
    return last_error();
  }
  return {};
}

Result<SqliteStatement> SqliteDb::prepare(const char* sql) {
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v3(db_.get(), sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, nullptr) !=
      SQLITE_OK) {
    return last_error();
  }
  return SqliteStatement(this, statement);
}

Result<std::string> SqliteDb::query_text(const char* sql) {
  HOLDFAST_TRY(auto statement, prepare(sql));
  HOLDFAST_TRY(const bool found, statement.step());
  return found ? std::string(statement.column_bytes(0)) : std::string();
}

int SqliteDb::changes() const { return sqlite3_changes(db_.get()); }

Error SqliteDb::last_error() const { return to_error(db_.get()); }

}  // namespace holdfast
