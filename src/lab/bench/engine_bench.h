// The benchmark of the engine: how many runs and steps it carries out against the raw disk under
// the same store, and whether that stays so with long runs and many pending attempts.
#pragma once

#include <cstdint>
#include <string>

#include "lab/bench/journal_bench.h"

namespace holdfast {

struct EngineBenchOptions {
  std::string store;          // see BenchStore::create
  std::string only;           // one case by its name; empty: all
  std::uint64_t pending = 0;  // attempts of the case with many; 0: what effort says
  std::uint64_t steps = 0;    // of the long run; 0: what effort says
  BenchEffort effort = BenchEffort::full;
  AfterBench after = AfterBench::remove;
};

// Returns what stays behind, for people; empty when nothing does. invalid_argument when `only`
// is no case.
Result<std::string> run_engine_bench(const EngineBenchOptions& options, BenchWorld& world);

}  // namespace holdfast
