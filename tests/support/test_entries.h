// Ids, thread names and entries for tests.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "base/random.h"
#include "base/uuid.h"
#include "storage/entry/entry.h"
#include "tests/support/must.h"

namespace holdfast {

inline Uuid test_uuid(std::uint64_t seed) {
  SeededRandom random(seed);
  return make_uuid(TimeMs{1'700'000'000'000}, random);
}

inline ThreadId thread(std::string_view name) { return must(ThreadId::parse(name)); }

inline NewEntry entry(std::string kind, std::string_view data = "{}",
                      std::int64_t at = 1'700'000'000'000) {
  return NewEntry{std::move(kind), TimeMs{at}, must(JsonText::parse(data))};
}

}  // namespace holdfast
