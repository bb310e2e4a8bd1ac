#include "apps/cli/bench_options.h"
#include "lab/bench/engine_bench.h"

namespace holdfast::cli {

namespace {

struct BenchEngineCommand : BenchOptions {
  std::optional<std::uint64_t> pending = {};
  std::optional<std::uint64_t> steps = {};

  void declare(Arguments& arguments) {
    add_store_options(arguments);
    add_only(arguments);
    arguments.option("--pending", "N", pending,
                     "Pending attempts in the case pending (default: 1000000)");
    arguments.option("--steps", "N", steps, "Steps of the long run (default: 100000)");
    add_quick(arguments);
  }

  Result<void> run(Context& context) const {
    return run_bench("engine", context, [&](BenchContext& bench_context) {
      return run_engine_bench({.store = store,
                               .only = only,
                               .pending = pending.value_or(0),
                               .steps = steps.value_or(0),
                               .effort = effort(),
                               .after = after()},
                              bench_context);
    });
  }
};

}  // namespace

extern const Command kBenchEngineCommand = make_command<BenchEngineCommand>(
    "bench engine", "Measure runs and steps against the raw disk.",
    R"(Handlers do nothing, so the engine is measured. limit is what the disk does with the same
bytes and as many syncs, measured in the same run; for claims with many pending attempts it is
the rate with few, for the last steps of a long run the time of its first. ratio is value /
limit. A single chain is also measured in syncs of the disk. A long run is measured as a loop
and as a for_each; in memory its time is processor time. With large payloads, value is the
growth of the process and limit the bytes of the payloads. Prints a table on a terminal,
otherwise JSON lines. The store must not exist; without --store it is a temporary file under
$TMPDIR or /var/tmp.

Cases: one_step, chains, single_chain, fan_out, long_run, long_run_in_memory, pending, sleeping,
payloads.

Examples:
  holdfast bench engine
  holdfast bench engine --only single_chain
  holdfast bench engine --store postgres://user@host/database?schema=scratch --json)");

}  // namespace holdfast::cli
