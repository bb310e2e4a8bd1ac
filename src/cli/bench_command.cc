#include <fmt/format.h>
#include <unistd.h>

#include "bench/journal_bench.h"
#include "cli/commands.h"
#include "cli/terminal.h"

namespace holdfast {

Result<void> run_bench_journal(const BenchJournalOptions& options, Context& context) {
  const bool table = !context.json() && is_terminal(STDOUT_FILENO);
  BenchReport report("journal", table ? BenchForm::table : BenchForm::json_lines, context.out);
  BenchWorld world{context.clock, context.random, report, {}};
  if (is_terminal(STDERR_FILENO)) {
    world.note = [](std::string_view text) { fmt::print(stderr, "… {}\n", text); };
  }
  const JournalBenchOptions bench{
      .store = options.store,
      .entries = options.entries.value_or(0),
      .effort = options.quick ? BenchEffort::quick : BenchEffort::full,
      .after = options.keep ? AfterBench::keep : AfterBench::remove,
  };
  HOLDFAST_TRY(const std::string left_behind, run_journal_bench(bench, world));
  if (!left_behind.empty()) {
    fmt::print(stderr, "{}\n", left_behind);
  }
  return {};
}

}  // namespace holdfast
