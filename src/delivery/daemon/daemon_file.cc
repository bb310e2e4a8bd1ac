#include "delivery/daemon/daemon_file.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include "base/text.h"
#include "storage/sqlite/sqlite_header.h"

namespace holdfast::delivery {

namespace {

Error damaged(const DaemonFileKind& kind, const std::string& path, std::string_view found) {
  return Error{ErrorCode::corrupt_log,
               fmt::format("{} is damaged ({}); {}", path, found, kind.recovery)};
}

Result<void> check_kind(const DaemonFileKind& kind, const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0 || status.st_size == 0) {
    return {};
  }
  HOLDFAST_TRY(const SqliteHeader header,
               SqliteHeader::read(path, static_cast<std::uint64_t>(status.st_size)));
  if (!header.is_database()) {
    return damaged(kind, path, "it is not a database");
  }
  if (header.application_id() != kind.application_id) {
    return Error{ErrorCode::not_a_journal,
                 fmt::format("{} is not {} of a Holdfast daemon", path, kind.name)};
  }
  return {};
}

Result<void> check_pages(const DaemonFileKind& kind, SqliteDb& db, const std::string& path) {
  const auto found = db.query_text("PRAGMA quick_check(1)");
  if (!found.ok()) {
    return is_damage(found.error().code()) ? damaged(kind, path, found.error().message())
                                           : found.error();
  }
  return found.value() == "ok" ? Result<void>() : damaged(kind, path, found.value());
}

Result<void> migrate(const DaemonFileKind& kind, SqliteDb& db, const std::string& path) {
  HOLDFAST_TRY(const std::string stored, db.query_text("PRAGMA user_version"));
  const std::uint64_t version = parse_decimal(stored).value_or(0);
  const std::uint32_t newest = kind.migrations.back().version;
  if (version > newest) {
    return Error{ErrorCode::newer_format,
                 fmt::format("{} has tables of version {} of {}; this program knows versions up "
                             "to {}: use a newer holdfast",
                             path, version, kind.name, newest)};
  }
  for (const FileMigration& migration : kind.migrations) {
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

Result<DaemonFile> open_daemon_file(const DaemonFileKind& kind, const std::string& path,
                                    std::chrono::milliseconds busy_timeout,
                                    const std::string& vfs) {
  HOLDFAST_CHECK(check_kind(kind, path));
  DaemonFile file;
  HOLDFAST_TRY(file.writer, SqliteDb::open(path, SqliteAccess::create, vfs, busy_timeout));
  // Before there is a write-ahead log: the kind is read from the file alone, also after a kill.
  HOLDFAST_TRY(const std::string tables, file.writer->query_text("PRAGMA user_version"));
  if (tables == "0") {
    HOLDFAST_CHECK(
        file.writer->exec(fmt::format("PRAGMA application_id = {}", kind.application_id).c_str()));
  }
  HOLDFAST_TRY(const std::string mode, file.writer->query_text("PRAGMA journal_mode = WAL"));
  if (mode != "wal") {
    return Error{ErrorCode::io_error, "SQLite cannot use a write-ahead log on this file system"};
  }
  HOLDFAST_CHECK(file.writer->exec("PRAGMA synchronous = FULL"));
  HOLDFAST_CHECK(migrate(kind, *file.writer, path));
  HOLDFAST_CHECK(check_pages(kind, *file.writer, path));
  HOLDFAST_TRY(file.reader, SqliteDb::open(path, SqliteAccess::read_write, vfs, busy_timeout));
  HOLDFAST_CHECK(file.reader->exec("PRAGMA query_only = ON"));
  return file;
}

}  // namespace holdfast::delivery
