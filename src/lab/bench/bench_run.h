// What the parts of the journal benchmark share, and a clock for all benchmarks.
#pragma once

#include <chrono>
#include <string_view>

#include "lab/bench/benchmarks.h"
#include "lab/bench/sample_entries.h"

namespace holdfast {

struct BenchRun {
  BenchContext& context;
  BenchStore& store;
  SampleEntries& samples;
  const BenchmarkOptions& options;

  void note(std::string_view text) const {
    if (context.note) {
      context.note(text);
    }
  }
};

// append_bench.cc: how fast entries become durable, by the number of entries in a commit.
Result<void> bench_appends(BenchRun& run);
// read_bench.cc: decodes entries in memory, without a store.
Result<void> bench_decode(BenchRun& run);
// Fills the journal up to that many entries, then measures opening, size and sealing.
Result<void> bench_whole_journal(BenchRun& run, std::uint64_t entries);

class Stopwatch {
 public:
  [[nodiscard]] double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }
  // Items per second since the start.
  [[nodiscard]] double rate(std::uint64_t count) const {
    return static_cast<double>(count) / seconds();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace holdfast
