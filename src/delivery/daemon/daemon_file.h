// The SQLite files of a daemon: their kind, their tables as migrations, and how they are opened.
//
// Times are milliseconds since 1970. Released migrations are never edited; a change of the tables
// is a new entry at the end.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "holdfast/result.h"
#include "storage/sqlite/sqlite_db.h"

namespace holdfast::delivery {

struct FileMigration {
  std::uint32_t version;  // 1, 2, 3, ...
  std::string_view sql;
};

struct DaemonFileKind {
  std::string_view name;         // in messages: an outbox
  std::uint32_t application_id;  // in the header of the file
  std::span<const FileMigration> migrations;
  std::string_view recovery;  // what to do when the file is damaged, and what is lost then
};

struct DaemonFile {
  std::unique_ptr<SqliteDb> writer;
  std::unique_ptr<SqliteDb> reader;  // query only
};

// Its size, as a query.
inline constexpr std::string_view kFileBytes =
    "SELECT p.page_count * s.page_size FROM pragma_page_count p, pragma_page_size s";

// Creates the file, or brings its tables up to date; each migration is one transaction. Commits are
// on disk before they return. not_a_journal: a file of another kind; newer_format; corrupt_log: the
// file is damaged.
Result<DaemonFile> open_daemon_file(const DaemonFileKind& kind, const std::string& path,
                                    std::chrono::milliseconds busy_timeout,
                                    const std::string& vfs = "");

}  // namespace holdfast::delivery
