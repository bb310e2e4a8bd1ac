// EngineRun: what the cases of the engine's benchmark share.
#pragma once

#include <memory>

#include "lab/bench/bench_engine.h"
#include "lab/bench/bench_store.h"
#include "lab/bench/engine_bench.h"

namespace holdfast {

// Neither checkpoints nor sealing, which happen at moments of their own.
inline LoopOptions without_checkpoints() {
  LoopOptions loop;
  loop.core.checkpoint_every = UINT64_MAX;
  loop.seal_every_bytes = 0;
  return loop;
}

struct EngineRun {
  const EngineBenchOptions& options;
  BenchWorld& world;
  BenchStore& store;

  [[nodiscard]] bool quick() const { return options.effort == BenchEffort::quick; }
  Result<std::unique_ptr<BenchEngine>> open() {
    HOLDFAST_TRY(auto journal, store.open());
    return BenchEngine::open(std::move(journal), world);
  }
  // What is on its way to a checkpoint would be counted as memory of the runs.
  Result<std::unique_ptr<BenchEngine>> open_without_checkpoints() {
    HOLDFAST_TRY(auto journal, store.open());
    return BenchEngine::open(std::move(journal), world, without_checkpoints());
  }
};

}  // namespace holdfast
