// Helpers shared by tests of logs and journals.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "storage/journal/journal.h"
#include "storage/journal/open_journal.h"
#include "storage/log/log.h"
#include "storage/log/memory_store.h"
#include "storage/log/open_store.h"
#include "tests/support/test_entries.h"

namespace holdfast {

inline std::unique_ptr<Log> open_memory_log(const std::shared_ptr<MemoryDisk>& disk,
                                            OpenMode mode = OpenMode::create) {
  return must(Log::open(must(open_memory_store(disk, mode, new_origin(test_uuid(1))))));
}

inline std::unique_ptr<Journal> open_memory_journal(const std::shared_ptr<MemoryDisk>& disk) {
  return must(Journal::open(open_memory_log(disk)));
}

// All bodies from a position on; damage fails the test.
inline std::vector<std::string> bodies_from(Log& log, Position from) {
  LogReader reader = must(log.read(from));
  std::vector<std::string> bodies;
  for (;;) {
    auto batches = must(reader.next());
    if (batches.empty()) {
      return bodies;
    }
    for (Batch& batch : batches) {
      bodies.push_back(std::move(batch.body));
    }
  }
}

}  // namespace holdfast
