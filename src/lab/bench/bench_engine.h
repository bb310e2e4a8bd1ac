// BenchEngine: an engine on the store of a benchmark, with one handler that does nothing, so that
// only the engine is measured.
#pragma once

#include <atomic>
#include <functional>
#include <memory>

#include "lab/bench/bench_run.h"
#include "runs/engine/worker_pool.h"

namespace holdfast {

using BenchDefinition = Result<std::shared_ptr<const Definition>>;

// A workflow with steps s0, s1, ...; `after` returns the steps that each one follows. The error is
// that of the workflow language.
BenchDefinition bench_definition(
    std::string_view workflow, std::size_t steps,
    const std::function<std::vector<std::size_t>(std::size_t step)>& after);
BenchDefinition bench_chain(std::size_t steps, std::string_view workflow = "chain");
// A step, so many steps that follow it, and one that joins them.
BenchDefinition bench_diamond(std::string_view workflow, std::size_t width);

// The bytes that are allocated now.
std::uint64_t heap_bytes();
// The resident size of the process, after the allocator has returned what it can.
Result<std::uint64_t> resident_bytes();
// The maximum resident size since the last reset.
Result<std::uint64_t> peak_bytes();
Result<void> reset_peak_bytes();

class BenchEngine {
 public:
  // The context must outlive the engine.
  static Result<std::unique_ptr<BenchEngine>> open(std::unique_ptr<Journal> journal,
                                                   BenchContext& context,
                                                   const LoopOptions& options = {});

  Loop& loop() { return *loop_; }
  // Starts `runs` runs, at most `at_once` of them unfinished, with workers, and returns when all
  // their attempts were executed. `seen` is called for each executed attempt.
  struct Load {
    std::shared_ptr<const Definition> definition;
    std::uint64_t runs = 0;
    std::size_t at_once = 1;
    std::size_t threads = 1;
    std::function<void(std::uint64_t count)> seen = nullptr;
    std::uint64_t attempts = 0;  // of each run; 0: one per step
    Payload input = {};          // empty: a small order
    // The result of the count-th executed attempt; not set: an empty object.
    std::function<Payload(std::uint64_t count)> result = nullptr;
  };
  // Returns the seconds from the first start to the last durable result.
  Result<double> execute(const Load& load);
  // Starts runs whose attempts stay pending.
  Result<void> start_pending(const std::shared_ptr<const Definition>& definition,
                             std::uint64_t runs, const Payload& input = {});
  // Executes that many attempts of existing runs; returns the seconds from `begin` to the last
  // result.
  Result<double> execute_pending(std::uint64_t attempts, TimeMs begin,
                                 const Payload& result = Payload::trusted("{}"));
  // Returns the seconds for `commits` commits of `claims` claims each.
  Result<double> claim(std::size_t commits, std::size_t claims);

 private:
  explicit BenchEngine(BenchContext& context) : context_(context) {}
  StartRun new_start(const std::shared_ptr<const Definition>& definition, const Payload& input);

  BenchContext& context_;
  std::unique_ptr<Loop> loop_;
};

}  // namespace holdfast
