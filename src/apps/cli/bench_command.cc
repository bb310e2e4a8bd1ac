#include <fmt/format.h>
#include <unistd.h>

#include <functional>

#include "apps/cli/cli_commands.h"
#include "apps/cli/cli_terminal.h"
#include "lab/bench/engine_bench.h"
#include "lab/bench/journal_bench.h"
#include "lab/bench/server_bench.h"
#include "lab/bench/workflow_bench.h"

namespace holdfast {

namespace {

// Runs a benchmark that speaks as people or programs want it, and says what it leaves behind.
Result<void> run_bench(const std::string& name, Context& context,
                       const std::function<Result<std::string>(BenchWorld&)>& bench) {
  const bool table = !context.json() && is_terminal(STDOUT_FILENO);
  BenchReport report(name, table ? BenchForm::table : BenchForm::json_lines, context.out);
  BenchWorld world{context.clock, context.random, report, {}};
  if (is_terminal(STDERR_FILENO)) {
    world.note = [](std::string_view text) { fmt::print(stderr, "… {}\n", text); };
  }
  HOLDFAST_TRY(const std::string left_behind, bench(world));
  if (!left_behind.empty()) {
    fmt::print(stderr, "{}\n", left_behind);
  }
  return {};
}

BenchEffort effort_of(bool quick) { return quick ? BenchEffort::quick : BenchEffort::full; }
AfterBench after_of(bool keep) { return keep ? AfterBench::keep : AfterBench::remove; }

}  // namespace

Result<void> run_command(const BenchJournalOptions& options, Context& context) {
  return run_bench("journal", context, [&](BenchWorld& world) {
    return run_journal_bench({.store = options.store,
                              .entries = options.entries.value_or(0),
                              .effort = effort_of(options.quick),
                              .after = after_of(options.keep)},
                             world);
  });
}

Result<void> run_command(const BenchEngineOptions& options, Context& context) {
  return run_bench("engine", context, [&](BenchWorld& world) {
    return run_engine_bench({.store = options.store,
                             .only = options.only,
                             .pending = options.pending.value_or(0),
                             .steps = options.steps.value_or(0),
                             .effort = effort_of(options.quick),
                             .after = after_of(options.keep)},
                            world);
  });
}

Result<void> run_command(const BenchWorkflowOptions& options, Context& context) {
  return run_bench("workflow", context, [&](BenchWorld& world) {
    return run_workflow_bench({.store = options.store,
                               .only = options.only,
                               .sleeping = options.sleeping.value_or(0),
                               .effort = effort_of(options.quick),
                               .after = after_of(options.keep)},
                              world);
  });
}

Result<void> run_command(const BenchServerOptions& options, Context& context) {
  return run_bench("server", context, [&](BenchWorld& world) {
    return run_server_bench(
        {.program = "/proc/self/exe", .only = options.only, .effort = effort_of(options.quick)},
        world);
  });
}

}  // namespace holdfast
