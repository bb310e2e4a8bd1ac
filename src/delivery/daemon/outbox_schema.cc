#include "delivery/daemon/outbox_schema.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <array>

#include "base/text.h"
#include "storage/sqlite/sqlite_header.h"

namespace holdfast::delivery {

namespace {

constexpr std::uint32_t kOutboxFileId = 0x484c4f42;  // "HLOB"

constexpr std::string_view kFirstTables = R"sql(
CREATE TABLE outbox(
  seq INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  client_message_id TEXT NOT NULL UNIQUE,
  request_fingerprint BLOB NOT NULL CHECK (length(request_fingerprint) = 32),
  envelope_version INTEGER NOT NULL,
  mesh TEXT NOT NULL,
  dest_kind TEXT NOT NULL CHECK (dest_kind IN ('topic', 'dm', 'queue')),
  dest_ref TEXT NOT NULL,
  to_text TEXT NOT NULL,
  priority TEXT NOT NULL CHECK (priority IN ('now', 'next', 'low')),
  ordering_key TEXT NOT NULL,
  reply_to_id TEXT NOT NULL,
  meta TEXT NOT NULL,
  mentions TEXT NOT NULL,
  payload BLOB NOT NULL,
  payload_pruned_at INTEGER,
  enqueued_at INTEGER NOT NULL,
  first_sent_at INTEGER,
  last_attempt_at INTEGER,
  attempts INTEGER NOT NULL DEFAULT 0 CHECK (attempts >= 0),
  deferrals INTEGER NOT NULL DEFAULT 0 CHECK (deferrals >= 0),
  ambiguous INTEGER NOT NULL DEFAULT 0 CHECK (ambiguous IN (0, 1)),
  poison_suspect INTEGER NOT NULL DEFAULT 0 CHECK (poison_suspect IN (0, 1)),
  next_attempt_at INTEGER NOT NULL,
  status TEXT NOT NULL
    CHECK (status IN ('pending', 'inflight', 'done', 'dead', 'aborted')),
  lease_token TEXT,
  lease_until INTEGER,
  last_error TEXT NOT NULL DEFAULT '',
  last_status INTEGER NOT NULL DEFAULT 0,
  delivered_at INTEGER,
  broker_message_id TEXT,
  history_id TEXT,
  aborted_at INTEGER,
  aborted_by TEXT CHECK (aborted_by IS NULL OR aborted_by IN ('operator', 'auto')),
  abort_reason TEXT,
  superseded_by TEXT,
  supersedes TEXT,
  late_broker_message_id TEXT,
  CHECK (status <> 'done' OR (broker_message_id IS NOT NULL AND delivered_at IS NOT NULL)),
  CHECK ((status = 'aborted') = (aborted_at IS NOT NULL)),
  CHECK ((status = 'inflight') = (lease_token IS NOT NULL)),
  CHECK ((lease_token IS NULL) = (lease_until IS NULL))
) STRICT;
CREATE INDEX outbox_status ON outbox(status, seq);
CREATE INDEX outbox_lane ON outbox(mesh, dest_kind, dest_ref, priority, ordering_key, seq)
  WHERE status IN ('pending', 'inflight');
)sql";

constexpr std::array kOutboxMigrations{OutboxMigration{1, kFirstTables}};

Error damaged(const std::string& path, std::string_view found) {
  return Error{ErrorCode::corrupt_log,
               fmt::format("{} is damaged ({}); to recover, keep a copy, move the file away and "
                           "start again: the messages in it are then not sent",
                           path, found)};
}

Result<void> check_outbox_kind(const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0 || status.st_size == 0) {
    return {};
  }
  HOLDFAST_TRY(const SqliteHeader header,
               SqliteHeader::read(path, static_cast<std::uint64_t>(status.st_size)));
  if (!header.is_database()) {
    return damaged(path, "it is not a database");
  }
  if (header.application_id() != kOutboxFileId) {
    return Error{ErrorCode::not_a_journal, path + " is not an outbox of a Holdfast daemon"};
  }
  return {};
}

Result<void> check_outbox_pages(SqliteDb& db, const std::string& path) {
  const auto found = db.query_text("PRAGMA quick_check(1)");
  if (!found.ok()) {
    return is_damage(found.error().code()) ? damaged(path, found.error().message()) : found.error();
  }
  return found.value() == "ok" ? Result<void>() : damaged(path, found.value());
}

Result<void> migrate_outbox(SqliteDb& db, const std::string& path) {
  HOLDFAST_TRY(const std::string stored, db.query_text("PRAGMA user_version"));
  const std::uint64_t version = parse_decimal(stored).value_or(0);
  const std::uint32_t newest = kOutboxMigrations.back().version;
  if (version > newest) {
    return Error{ErrorCode::newer_format,
                 fmt::format("{} has outbox tables of version {}; this program knows versions up "
                             "to {}: use a newer holdfast",
                             path, version, newest)};
  }
  for (const OutboxMigration& migration : kOutboxMigrations) {
    if (migration.version > version) {
      const std::string sql = fmt::format("BEGIN IMMEDIATE; {}; PRAGMA user_version = {}; COMMIT",
                                          migration.sql, migration.version);
      if (auto done = db.exec(sql.c_str()); !done.ok()) {
        static_cast<void>(db.exec("ROLLBACK"));
        return done;
      }
    }
  }
  return {};
}

}  // namespace

std::span<const OutboxMigration> outbox_migrations() { return kOutboxMigrations; }

Result<OutboxFiles> open_outbox_files(const std::string& path,
                                      std::chrono::milliseconds busy_timeout,
                                      const std::string& vfs) {
  HOLDFAST_CHECK(check_outbox_kind(path));
  OutboxFiles files;
  HOLDFAST_TRY(files.writer, SqliteDb::open(path, SqliteAccess::create, vfs, busy_timeout));
  // Before there is a write-ahead log: the kind is read from the file alone, also after a kill.
  HOLDFAST_TRY(const std::string tables, files.writer->query_text("PRAGMA user_version"));
  if (tables == "0") {
    HOLDFAST_CHECK(
        files.writer->exec(fmt::format("PRAGMA application_id = {}", kOutboxFileId).c_str()));
  }
  HOLDFAST_TRY(const std::string mode, files.writer->query_text("PRAGMA journal_mode = WAL"));
  if (mode != "wal") {
    return Error{ErrorCode::io_error, "SQLite cannot use a write-ahead log on this file system"};
  }
  HOLDFAST_CHECK(files.writer->exec("PRAGMA synchronous = FULL"));
  HOLDFAST_CHECK(migrate_outbox(*files.writer, path));
  HOLDFAST_CHECK(check_outbox_pages(*files.writer, path));
  HOLDFAST_TRY(files.reader, SqliteDb::open(path, SqliteAccess::read_write, vfs, busy_timeout));
  HOLDFAST_CHECK(files.reader->exec("PRAGMA query_only = ON"));
  return files;
}

}  // namespace holdfast::delivery
