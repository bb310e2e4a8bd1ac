// The benchmark of the engine: how many runs and steps it executes compared with the raw disk under
// the same store, and whether that holds for long runs and many pending attempts.
#pragma once

#include <cstdint>
#include <string>

#include "lab/bench/journal_bench.h"

namespace holdfast {

struct EngineBenchOptions {
  std::string store;          // see BenchStore::create
  std::string only;           // the name of one case; empty: all
  std::uint64_t pending = 0;  // attempts in the case `pending`; 0: depends on effort
  std::uint64_t steps = 0;    // of the long run; 0: depends on effort
  BenchEffort effort = BenchEffort::full;
  AfterBench after = AfterBench::remove;
};

// Returns a text about what remains; empty if nothing does. invalid_argument if `only` is not a
// case.
Result<std::string> run_engine_bench(const EngineBenchOptions& options, BenchContext& context);

}  // namespace holdfast
