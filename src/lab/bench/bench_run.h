// What the parts of one benchmark share.
#pragma once

#include <chrono>
#include <string_view>

#include "lab/bench/journal_bench.h"
#include "lab/bench/sample_entries.h"

namespace holdfast {

struct BenchRun {
  BenchContext& context;
  BenchStore& store;
  SampleEntries& samples;
  BenchEffort effort;

  void note(std::string_view text) const {
    if (context.note) {
      context.note(text);
    }
  }
};

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
