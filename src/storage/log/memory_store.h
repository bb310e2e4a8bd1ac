// A log in memory, for tests and throw-away work. Handles that share a MemoryDisk see the same
// log, as two processes on one file would.
#pragma once

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "storage/log/store.h"

namespace holdfast {

// What a disk would hold. Tests damage it directly; other code uses the store.
struct MemoryDisk {
  std::mutex mutex;
  std::condition_variable changed;
  std::uint32_t format = kLogFormat;
  std::optional<StoreState> state;  // empty until a log is created on it
  std::map<Position, Row> rows;
  std::map<std::string, std::string, std::less<>> side;
};

Result<std::unique_ptr<Store>> open_memory_store(std::shared_ptr<MemoryDisk> disk, OpenMode mode,
                                                 const StoreOrigin& origin_if_new);

}  // namespace holdfast
