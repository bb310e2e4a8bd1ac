// EngineRun: what the cases of the engine benchmark share.
#pragma once

#include <memory>

#include "lab/bench/bench_engine.h"
#include "lab/bench/bench_store.h"
#include "lab/bench/engine_bench.h"

namespace holdfast {

// No checkpoints and no sealing, because they happen at unpredictable times.
inline LoopOptions without_checkpoints() {
  LoopOptions loop;
  loop.core.checkpoint_every = UINT64_MAX;
  loop.seal_every_bytes = 0;
  return loop;
}

struct EngineRun {
  const EngineBenchOptions& options;
  BenchContext& context;
  BenchStore& store;

  [[nodiscard]] bool quick() const { return options.effort == BenchEffort::quick; }
  Result<std::unique_ptr<BenchEngine>> open() {
    HOLDFAST_TRY(auto journal, store.open());
    return BenchEngine::open(std::move(journal), context);
  }
  // Data being written to a checkpoint would count as memory of the runs.
  Result<std::unique_ptr<BenchEngine>> open_without_checkpoints() {
    HOLDFAST_TRY(auto journal, store.open());
    return BenchEngine::open(std::move(journal), context, without_checkpoints());
  }
};

}  // namespace holdfast
