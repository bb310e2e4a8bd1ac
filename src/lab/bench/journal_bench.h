// The benchmark of the journal: how fast it appends compared with the raw disk under the same
// store, how fast it is decoded, opened and sealed, and how much space an entry takes.
//
// The speed of disks drifts. Each case is cut into slices that alternate with slices of the raw
// limit, and the medians of both are compared.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/random.h"
#include "holdfast/result.h"
#include "lab/bench/bench_report.h"
#include "lab/bench/bench_store.h"

namespace holdfast {

enum class BenchEffort : std::uint8_t {
  full,
  quick,  // small counts: shows that everything works; the numbers mean little
};

struct JournalBenchOptions {
  std::string store;          // see BenchStore::create
  std::uint64_t entries = 0;  // in the journal that is opened and sealed; 0: depends on effort
  BenchEffort effort = BenchEffort::full;
  AfterBench after = AfterBench::remove;
};

struct BenchContext {
  Clock& clock;
  Random& random;
  BenchReport& report;
  // Called with the name of the current measurement; may be empty.
  std::function<void(std::string_view)> note;
};

// Returns a text about what remains; empty if nothing does.
Result<std::string> run_journal_bench(const JournalBenchOptions& options, BenchContext& context);

}  // namespace holdfast
