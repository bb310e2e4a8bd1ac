#include "apps/cli/bench_options.h"
#include "lab/bench/workflow_bench.h"

namespace holdfast::cli {

namespace {

struct BenchWorkflowCommand : BenchOptions {
  std::optional<std::uint64_t> sleeping = {};

  void declare(Arguments& arguments) {
    add_store_options(arguments);
    add_only(arguments);
    arguments.option("--sleeping", "N", sleeping,
                     "Sleeping runs in the case asleep (default: 1000000)");
    add_quick(arguments);
  }

  Result<void> run(Context& context) const {
    return run_bench("workflow", context, [&](BenchContext& bench_context) {
      return run_workflow_bench({.store = store,
                                 .only = only,
                                 .sleeping = sleeping.value_or(0),
                                 .effort = effort(),
                                 .after = after()},
                                bench_context);
    });
  }
};

}  // namespace

extern const Command kBenchWorkflowCommand = make_command<BenchWorkflowCommand>(
    "bench workflow", "Measure conditions, lists, joins and waits.",
    R"(Handlers do nothing, so the engine is measured. limit is the steps per second of plain
chains of 10 steps, 64 at once, measured in the same run; ratio is value / limit. Prints a table
on a terminal, otherwise JSON lines. The store must not exist; without --store it is a temporary
file under $TMPDIR or /var/tmp.

Cases: conditions, for_each, diamond, waking, asleep.

Examples:
  holdfast bench workflow
  holdfast bench workflow --only for_each
  holdfast bench workflow --only asleep --sleeping 100000)");

}  // namespace holdfast::cli
