#include "mesh/store/mesh_schema.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <array>
#include <string_view>

#include "base/text.h"
#include "storage/sqlite/sqlite_header.h"

namespace holdfast::mesh {

namespace {

constexpr std::uint32_t kMeshFileId = 0x484c4d53;  // "HLMS"

struct MeshMigration {
  std::uint32_t version;  // 1, 2, 3, ...
  std::string_view sql;
};

constexpr std::string_view kFirstMeshTables = R"sql(
CREATE TABLE operations(
  row INTEGER PRIMARY KEY,
  hash BLOB NOT NULL UNIQUE CHECK (length(hash) = 32),
  place INTEGER NOT NULL CHECK (place BETWEEN 0 AND 4),
  arrival INTEGER UNIQUE,
  id BLOB NOT NULL CHECK (length(id) = 16),
  author INTEGER NOT NULL,
  wall INTEGER NOT NULL,
  logical INTEGER NOT NULL,
  bytes BLOB NOT NULL,
  CHECK ((place = 0) = (arrival IS NOT NULL))
) STRICT;
CREATE INDEX operations_id ON operations(id);
CREATE INDEX operations_time ON operations(author, wall, logical);
CREATE TABLE keys(
  author INTEGER PRIMARY KEY,
  public_key BLOB NOT NULL CHECK (length(public_key) = 32)
) STRICT;
CREATE TABLE clock(
  one INTEGER PRIMARY KEY CHECK (one = 1),
  wall INTEGER NOT NULL,
  logical INTEGER NOT NULL
) STRICT;
CREATE TABLE cursors(
  peer INTEGER PRIMARY KEY,
  cursor BLOB NOT NULL
) STRICT;
CREATE TABLE identity(
  one INTEGER PRIMARY KEY CHECK (one = 1),
  user_key BLOB NOT NULL CHECK (length(user_key) = 32),
  node INTEGER NOT NULL
) STRICT;
)sql";

constexpr std::array kMeshMigrations{MeshMigration{1, kFirstMeshTables}};

Error damaged_mesh(const std::string& path, std::string_view found) {
  return Error{ErrorCode::corrupt_log,
               fmt::format("{} is damaged ({}); keep a copy, move the file away and fetch all "
                           "operations from a peer again",
                           path, found)};
}

Result<void> check_mesh_kind(const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0 || status.st_size == 0) {
    return {};
  }
  HOLDFAST_TRY(const SqliteHeader header,
               SqliteHeader::read(path, static_cast<std::uint64_t>(status.st_size)));
  if (!header.is_database()) {
    return damaged_mesh(path, "it is not a database");
  }
  return header.application_id() == kMeshFileId
             ? Result<void>()
             : Error{ErrorCode::not_a_journal, path + " is not the store of a mesh"};
}

Result<void> migrate_mesh(SqliteDb& db, const std::string& path) {
  HOLDFAST_TRY(const std::string stored, db.query_text("PRAGMA user_version"));
  const std::uint64_t version = parse_decimal(stored).value_or(0);
  if (version > kMeshMigrations.back().version) {
    return Error{ErrorCode::newer_format,
                 fmt::format("{} has mesh tables of version {}; this program knows versions up to "
                             "{}: use a newer holdfast",
                             path, version, kMeshMigrations.back().version)};
  }
  for (const MeshMigration& migration : kMeshMigrations) {
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

Result<std::unique_ptr<SqliteDb>> open_mesh_db(const std::string& path, const std::string& vfs,
                                               std::chrono::milliseconds busy_timeout) {
  HOLDFAST_CHECK(check_mesh_kind(path));
  HOLDFAST_TRY(auto db, SqliteDb::open(path, SqliteAccess::create, vfs, busy_timeout));
  // Before there is a write-ahead log: the kind is read from the file alone, also after a kill.
  const auto tables = db->query_text("PRAGMA user_version");
  if (!tables.ok()) {
    return is_damage(tables.error().code()) ? damaged_mesh(path, tables.error().message())
                                            : tables.error();
  }
  if (tables.value() == "0") {
    HOLDFAST_CHECK(db->exec(fmt::format("PRAGMA application_id = {}", kMeshFileId).c_str()));
  }
  HOLDFAST_TRY(const std::string mode, db->query_text("PRAGMA journal_mode = WAL"));
  if (mode != "wal") {
    return Error{ErrorCode::io_error, "SQLite cannot use a write-ahead log on this file system"};
  }
  HOLDFAST_CHECK(db->exec("PRAGMA synchronous = FULL"));
  HOLDFAST_CHECK(migrate_mesh(*db, path));
  return db;
}

}  // namespace holdfast::mesh
