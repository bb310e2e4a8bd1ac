// The file mesh.db: its tables, and how it is opened.
//
// operations: one row for each operation that is kept. place: 0 on the log, 1 aside, 2 of an
// unknown author, 3 quarantined, 4 sanitised. arrival: on the log only, rising in the order of
// entry. Node ids are 64 bits, stored as signed integers with the same bits. identity: the user and
// the node, which never change. clock: the largest timestamp issued or received.
//
// Released migrations are never edited; a change of the tables is a new entry at the end.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "holdfast/result.h"
#include "storage/sqlite/sqlite_db.h"

namespace holdfast::mesh {

// Creates the file, or brings its tables up to date. Commits are on disk before they return.
// not_a_journal: a file of another kind; newer_format; corrupt_log: the file is damaged.
Result<std::unique_ptr<SqliteDb>> open_mesh_db(const std::string& path, const std::string& vfs,
                                               std::chrono::milliseconds busy_timeout);

}  // namespace holdfast::mesh
