// Small helpers that tests of logs and journals share.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "storage/journal/journal.h"
#include "storage/journal/open_journal.h"
#include "storage/log/log.h"
#include "storage/log/memory_store.h"
#include "storage/log/open_store.h"

namespace holdfast {

// Fails the test with the error's text instead of an assertion deep inside Result.
template <typename T>
T must(Result<T> result) {
  if (!result.ok()) {
    ADD_FAILURE() << result.error().text();
    throw std::runtime_error(result.error().text());
  }
  return std::move(result).value();
}
inline void must(const Result<void>& result) {
  if (!result.ok()) {
    ADD_FAILURE() << result.error().text();
    throw std::runtime_error(result.error().text());
  }
}

template <typename T>
std::string code_of(const Result<T>& result) {
  return result.ok() ? "ok" : std::string(error_info(result.error().code()).name);
}

inline Uuid test_uuid(std::uint64_t seed) {
  SeededRandom random(seed);
  return make_uuid(TimeMs{1'700'000'000'000}, random);
}

inline ThreadId thread(std::string_view name) { return must(ThreadId::parse(name)); }

inline NewEntry entry(std::string kind, std::string_view data = "{}",
                      std::int64_t at = 1'700'000'000'000) {
  return NewEntry{std::move(kind), TimeMs{at}, must(JsonText::parse(data))};
}

inline std::unique_ptr<Log> open_memory_log(const std::shared_ptr<MemoryDisk>& disk,
                                            OpenMode mode = OpenMode::create) {
  return must(Log::open(must(open_memory_store(disk, mode, new_origin(test_uuid(1))))));
}

inline std::unique_ptr<Journal> open_memory_journal(const std::shared_ptr<MemoryDisk>& disk) {
  return must(Journal::open(open_memory_log(disk)));
}

// All bodies from a position on; the test fails on damage.
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
