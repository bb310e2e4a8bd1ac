// The file outbox.db: its tables, and how it is opened.
//
// A row is never deleted, because its client_message_id is never released. Rows are ordered by seq,
// which rises with every insert. Times are milliseconds since 1970; first_sent_at is in the time of
// the broker, all others in the time of this machine.
//
// Released migrations are never edited; a change of the tables is a new entry at the end.
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

struct OutboxMigration {
  std::uint32_t version;  // 1, 2, 3, ...
  std::string_view sql;
};

std::span<const OutboxMigration> outbox_migrations();

struct OutboxFiles {
  std::unique_ptr<SqliteDb> writer;
  std::unique_ptr<SqliteDb> reader;  // query only
};

// Creates the file, or brings its tables up to date; each migration is one transaction. Commits are
// on disk before they return. not_a_journal: a file of another kind; newer_format; corrupt_log: the
// file is damaged.
Result<OutboxFiles> open_outbox_files(const std::string& path,
                                      std::chrono::milliseconds busy_timeout,
                                      const std::string& vfs = "");

}  // namespace holdfast::delivery
