// BenchEngine: an engine on the store of a benchmark, with one handler that does nothing, so that
// what is measured is the engine.
#pragma once

#include <atomic>
#include <functional>
#include <memory>

#include "lab/bench/bench_run.h"
#include "runs/engine/worker_pool.h"

namespace holdfast {

using BenchDefinition = Result<std::shared_ptr<const Definition>>;

// Steps s0, s1, ... of a workflow; each after those `after` names. The error says why the workflow
// language does not allow it.
BenchDefinition bench_definition(
    std::string_view workflow, std::size_t steps,
    const std::function<std::vector<std::size_t>(std::size_t step)>& after);
BenchDefinition bench_chain(std::size_t steps);

// What is allocated now.
std::uint64_t heap_bytes();
// What the process occupies now, after the allocator has returned what it can.
Result<std::uint64_t> resident_bytes();
// The most it has occupied since the last reset.
Result<std::uint64_t> peak_bytes();
Result<void> reset_peak_bytes();

class BenchEngine {
 public:
  // The world must outlive the engine.
  static Result<std::unique_ptr<BenchEngine>> open(std::unique_ptr<Journal> journal,
                                                   BenchWorld& world,
                                                   const LoopOptions& options = {});

  Loop& loop() { return *loop_; }
  // Starts `runs` runs, at most `at_once` of them unfinished, with workers beside, and returns
  // when the attempts of all were executed. Each executed attempt is told to `seen`.
  struct Load {
    std::shared_ptr<const Definition> definition;
    std::uint64_t runs = 0;
    std::size_t at_once = 1;
    std::size_t threads = 1;
    std::function<void(std::uint64_t count)> seen = nullptr;
    std::uint64_t attempts = 0;  // of each run; 0: one for each step
    Payload input = {};          // empty: a small order
    // Of the count-th executed attempt; not set: an empty object.
    std::function<Payload(std::uint64_t count)> result = nullptr;
  };
  // Seconds from the first start to the last result, which is durable.
  Result<double> carry_out(const Load& load);
  // Starts runs whose attempts stay pending.
  Result<void> start_pending(const std::shared_ptr<const Definition>& definition,
                             std::uint64_t runs, const Payload& input = {});
  // Executes so many attempts of runs that exist; seconds from `begin` to the last result.
  Result<double> work_off(std::uint64_t attempts, TimeMs begin,
                          const Payload& result = Payload::trusted("{}"));
  // Seconds for so many commits of so many claims each.
  Result<double> claim(std::size_t commits, std::size_t claims);

 private:
  explicit BenchEngine(BenchWorld& world) : world_(world) {}
  StartRun new_start(const std::shared_ptr<const Definition>& definition, const Payload& input);

  BenchWorld& world_;
  std::unique_ptr<Loop> loop_;
};

}  // namespace holdfast
