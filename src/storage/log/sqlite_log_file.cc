#include "storage/log/sqlite_log_file.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/encoding.h"
#include "storage/sqlite/sqlite_db.h"
#include "storage/sqlite/sqlite_header.h"
#include "storage/sqlite/sqlite_path.h"

namespace holdfast {

namespace {

constexpr std::int64_t kApplicationId = 0x484c4446;  // "HLDF"

// The file format of the log, version 1. Shipped: never edited; docs/format.md explains it.
constexpr const char* kSchema = R"sql(
CREATE TABLE log_state(
  only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
  log_id BLOB NOT NULL,
  start INTEGER NOT NULL,
  anchor BLOB NOT NULL,
  head INTEGER NOT NULL,
  head_chain BLOB NOT NULL
);
CREATE TABLE batches(
  position INTEGER PRIMARY KEY,
  body_hash BLOB NOT NULL,
  chain BLOB NOT NULL,
  body TEXT NOT NULL
);
CREATE TABLE side(
  key TEXT PRIMARY KEY,
  value BLOB NOT NULL
);
CREATE VIEW entries AS
SELECT batches.position AS position,
       item.key AS idx,
       json_extract(item.value, '$.thread') AS thread,
       json_extract(item.value, '$.seq') AS seq,
       json_extract(item.value, '$.kind') AS kind,
       json_extract(item.value, '$.at') AS at,
       json_extract(item.value, '$.data') AS data
  FROM batches, json_each(batches.body) AS item;
)sql";

Result<SqliteFileKind> classify(const std::string& path, const SqliteHeader& header) {
  // Checked after the header was read: a header that shows WAL mode without a rollback journal
  // beside it has then been committed.
  const bool changing = file_exists(path + "-journal");
  if (header.empty() || (header.blank() && changing)) {
    return SqliteFileKind::empty;
  }
  if (!header.is_database()) {
    return Error{ErrorCode::not_a_journal, path + " is not a Holdfast journal"};
  }
  if (header.application_id() != kApplicationId) {
    return Error{ErrorCode::not_a_journal,
                 path + " is an SQLite database, but not a Holdfast journal"};
  }
  if (header.user_version() > kLogFormat) {
    return Error{ErrorCode::newer_format,
                 fmt::format("{} has journal format {}; this program knows formats up to {}: use "
                             "a newer holdfast",
                             path, header.user_version(), kLogFormat)};
  }
  return header.wal() && !changing ? SqliteFileKind::journal : SqliteFileKind::unfinished;
}

// A process is writing to the file, or died while it did.
bool is_unsettled(const std::string& path) {
  struct stat status {};
  return (stat((path + "-wal").c_str(), &status) == 0 && status.st_size > 0) ||
         file_exists(path + "-journal");
}

// SQLite notices a lost end only when it needs a page from there. The header shows how long the
// file must be, unless a WAL or a rollback journal still has to be applied.
Result<void> check_length(const std::string& path, const SqliteHeader& header, std::uint64_t size) {
  const auto expected = header.expected_bytes();
  if (!is_unsettled(path) && expected.has_value() && size < *expected) {
    return Error{ErrorCode::corrupt_log,
                 fmt::format("{} is cut off: it has {} of {} bytes", path, size, *expected)}
        .with("reason", "truncated_file");
  }
  return {};
}

Result<void> fill_new_log(SqliteDb& db, const StoreOrigin& origin) {
  HOLDFAST_CHECK(db.exec(kSchema));
  HOLDFAST_TRY(auto insert, db.prepare("INSERT INTO log_state VALUES (1, ?1, ?2, ?3, ?4, ?3)"));
  insert.bind_blob(1, as_text(origin.log_id.bytes))
      .bind(2, static_cast<std::int64_t>(origin.start.value))
      .bind_blob(3, as_text(origin.anchor))
      .bind(4, static_cast<std::int64_t>(origin.start.value) - 1);
  HOLDFAST_CHECK(insert.run());
  HOLDFAST_CHECK(db.exec(fmt::format("PRAGMA application_id = {}", kApplicationId).c_str()));
  return db.exec(fmt::format("PRAGMA user_version = {}", kLogFormat).c_str());
}

}  // namespace

Result<SqliteFileKind> inspect_sqlite_file(const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) {
    if (errno == ENOENT) {
      return SqliteFileKind::missing;
    }
    return file_error(path, errno);
  }
  if (!S_ISREG(status.st_mode)) {
    return Error{ErrorCode::not_a_journal, path + " is not a regular file"};
  }
  const auto size = static_cast<std::uint64_t>(status.st_size);
  HOLDFAST_TRY(const SqliteHeader header, SqliteHeader::read(path, size));
  HOLDFAST_TRY(const SqliteFileKind kind, classify(path, header));
  if (kind == SqliteFileKind::journal || kind == SqliteFileKind::unfinished) {
    HOLDFAST_CHECK(check_length(path, header, size));
  }
  return kind;
}

Result<SqliteFileKind> settle_sqlite_file(const std::string& path, const std::string& vfs,
                                          std::chrono::milliseconds busy_timeout) {
  const SqliteAccess how =
      euidaccess(path.c_str(), W_OK) == 0 ? SqliteAccess::read_write : SqliteAccess::read_only;
  HOLDFAST_TRY(auto db, SqliteDb::open(path, how, vfs, busy_timeout));
  // Any read waits for the lock of a creator. Other failures are reported when the file is opened.
  const auto seen = db->query_text("SELECT count(*) FROM sqlite_schema");
  if (!seen.ok() && seen.error().code() == ErrorCode::busy) {
    return seen.error();
  }
  return inspect_sqlite_file(path);
}

// A creator holds SQLite's exclusive lock on the file from before its first look until WAL mode is
// on. BEGIN waits for that lock; the change to WAL mode would not, which is why the lock is kept
// (locking_mode) over the end of the first transaction. A creator that is killed leaves an empty
// file, a transaction to be rolled back, or tables without WAL mode: each is completed here.
Result<void> create_sqlite_log(const std::string& path, const StoreOrigin* origin,
                               const std::string& vfs, std::chrono::milliseconds busy_timeout) {
  const SqliteAccess how = origin != nullptr ? SqliteAccess::create : SqliteAccess::read_write;
  HOLDFAST_TRY(auto db, SqliteDb::open(path, how, vfs, busy_timeout));
  // 8 kB pages: measured best over all group sizes (docs/adr/0001). The tables and the application
  // id become durable in one transaction, so the header that inspect_sqlite_file reads is never
  // half made.
  HOLDFAST_CHECK(db->exec("PRAGMA page_size = 8192; BEGIN EXCLUSIVE"));
  HOLDFAST_TRY(const std::string tables, db->query_text("SELECT count(*) FROM sqlite_schema"));
  HOLDFAST_TRY(const std::string mode, db->query_text("PRAGMA journal_mode"));
  if (mode == "wal" && tables != "0") {
    return db->exec("ROLLBACK");  // another process has created it
  }
  if (tables == "0") {
    if (origin == nullptr) {
      return Error{ErrorCode::not_found, "the file is empty"};
    }
    HOLDFAST_CHECK(fill_new_log(*db, *origin));
  }
  HOLDFAST_CHECK(db->exec("PRAGMA locking_mode = EXCLUSIVE; COMMIT"));
  HOLDFAST_TRY(const std::string now, db->query_text("PRAGMA journal_mode = WAL"));
  if (now != "wal") {
    return Error{ErrorCode::io_error, "SQLite cannot use a write-ahead log on this file system"};
  }
  return {};
}

}  // namespace holdfast
