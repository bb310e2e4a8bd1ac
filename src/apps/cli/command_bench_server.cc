#include "apps/cli/bench_options.h"
#include "lab/bench/server_bench.h"

namespace holdfast::cli {

namespace {

struct BenchServerCommand : BenchOptions {
  void declare(Arguments& arguments) {
    add_only(arguments);
    add_quick(arguments);
  }

  Result<void> run(Context& context) const {
    return run_bench("server", context, [&](BenchContext& bench_context) {
      return run_server_bench({.program = "/proc/self/exe", .only = only, .effort = effort()},
                              bench_context);
    });
  }
};

}  // namespace

extern const Command kBenchServerCommand = make_command<BenchServerCommand>(
    "bench server", "Measure a server with remote workers.",
    R"(Starts `holdfast server` on a new SQLite store in another process and loads it over
loopback. Handlers do nothing. limit is what the embedded engine does with the same runs,
measured in turn in the same run; ratio is value / limit. Prints a table on a terminal,
otherwise JSON lines. The store is a temporary file under $TMPDIR or /var/tmp.

Cases: one_step_batched, one_step_single, chain_batched, chain_single, latency, wake, cheapest,
idle.

Examples:
  holdfast bench server
  holdfast bench server --only latency)");

}  // namespace holdfast::cli
