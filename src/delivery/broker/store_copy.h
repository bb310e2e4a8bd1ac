// Copies whole stores: a backup is a SQLite store in a file of its own, whatever the store was.
//
// A copy is of one snapshot, and arrives in one transaction or not at all: a store in use can be
// copied, and an interrupted copy leaves nothing.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "delivery/broker/broker_store.h"
#include "holdfast/result.h"

namespace holdfast::delivery {

struct CopiedTable {
  std::string name;
  std::uint64_t rows = 0;
};
using CopyReport = std::vector<CopiedTable>;

// Every row of every table; the counts of both stores are compared before the commit. One of them
// is SQLite. already_exists when `to` has rows.
Result<CopyReport> copy_store(BrokerStore& from, BrokerStore& to);

// Copies the store into a new file, which has this name only when it is complete and on disk.
// already_exists, not_found (the folder), disk_full, io_error.
Result<CopyReport> back_up_store(BrokerStore& from, const std::string& file);

// Copies a backup, also of an older program, into an empty store. invalid_export when the file is
// damaged; the errors of open_sqlite_broker_snapshot and copy_store.
Result<CopyReport> restore_store(const std::string& file, BrokerStore& to);

}  // namespace holdfast::delivery
