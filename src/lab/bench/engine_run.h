// EngineRun: what the cases of the benchmarks of the engine and of workflows share.
#pragma once

#include <memory>

#include "lab/bench/bench_engine.h"

namespace holdfast {

// No checkpoints and no sealing: they happen at unpredictable times, and data being written to a
// checkpoint would count as memory of the runs.
inline LoopOptions without_checkpoints() {
  LoopOptions loop;
  loop.core.checkpoint_every = UINT64_MAX;
  loop.seal_every_bytes = 0;
  return loop;
}

struct EngineRun {
  const BenchmarkOptions& options;
  BenchContext& context;
  BenchStore& store;

  [[nodiscard]] bool quick() const { return options.quick(); }
  Result<std::unique_ptr<BenchEngine>> open(const LoopOptions& loop = {}) {
    HOLDFAST_TRY(auto journal, store.open());
    return BenchEngine::open(std::move(journal), context, loop);
  }
};

// memory_bench.cc: the cases that measure memory: sleeping runs, and how much the process grows
// with live runs that have large inputs and results: while they are started and continued, after a
// restart from a checkpoint, and after one without.
Result<void> bench_sleeping(EngineRun& run);
Result<void> bench_payloads(EngineRun& run);

}  // namespace holdfast
