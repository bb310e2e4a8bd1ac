// A log in one SQLite file: WAL mode, synchronous=FULL, one row per batch. docs/format.md has
// the schema. The file is recognised by its application id before SQLite touches it, so opening
// something else changes nothing.
#pragma once

#include <memory>
#include <string>

#include "storage/log/store.h"

namespace holdfast {

struct SqliteOptions {
  // Name of the SQLite VFS; empty for the default. Tests inject faults here.
  std::string vfs;
  // How long to wait for other processes before failing with busy.
  std::chrono::milliseconds busy_timeout{30'000};
};

Result<std::unique_ptr<Store>> open_sqlite_store(const std::string& path, OpenMode mode,
                                                 const StoreOrigin& origin_if_new,
                                                 const SqliteOptions& options = {});

}  // namespace holdfast
