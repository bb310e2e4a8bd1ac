// A journal in memory with arbitrary batches: the contents that a damaged or foreign store may have
// although its chain is valid.
#pragma once

#include <memory>
#include <string_view>
#include <utility>

#include "base/random.h"
#include "fuzz/target.h"
#include "storage/journal/journal.h"
#include "storage/log/memory_store.h"
#include "storage/log/open_store.h"

namespace holdfast::fuzz {

inline constexpr TimeMs kNow{1'800'000'000'000};

// Fails the target: opening a journal in memory cannot fail.
template <typename T>
T must(Result<T> result) {
  require(result.ok(), "what cannot fail did not fail");
  return std::move(result).value();
}

inline std::unique_ptr<Log> open_log(const std::shared_ptr<MemoryDisk>& disk) {
  SeededRandom random(1);
  const Uuid id = make_uuid(TimeMs{1'700'000'000'000}, random);
  return must(Log::open(must(open_memory_store(disk, OpenMode::create, new_origin(id)))));
}

// One batch for each body.
inline std::shared_ptr<MemoryDisk> disk_with(const std::vector<std::string_view>& bodies) {
  auto disk = std::make_shared<MemoryDisk>();
  const auto log = open_log(disk);
  for (const std::string_view body : bodies) {
    must(log->append(log->head().position, body));
  }
  return disk;
}

}  // namespace holdfast::fuzz
