#include "apps/cli/bench_options.h"

#include <fmt/format.h>
#include <unistd.h>

#include "apps/cli/cli_terminal.h"

namespace holdfast::cli {

void BenchOptions::add_store_options(Arguments& arguments) {
  arguments.option("--store", "URL", store,
                   "Store: sqlite:PATH, postgres://USER@HOST/DATABASE or memory: (default: a "
                   "temporary file)");
  arguments.flag("--keep", keep, "Keep the journal");
}

void BenchOptions::add_only(Arguments& arguments) {
  arguments.option("--only", "CASE", only, "Run one case (default: all)");
}

void BenchOptions::add_quick(Arguments& arguments) {
  arguments.flag("--quick", quick, "Take a few seconds; the numbers are not meaningful");
}

Result<void> run_bench(const std::string& name, Context& context,
                       const std::function<Result<std::string>(BenchContext&)>& bench) {
  const bool table = !context.json() && is_terminal(STDOUT_FILENO);
  BenchReport report(name, table ? BenchForm::table : BenchForm::json_lines, context.out);
  BenchContext bench_context{context.clock, context.random, report, {}};
  if (is_terminal(STDERR_FILENO)) {
    bench_context.note = [](std::string_view text) { fmt::print(stderr, "… {}\n", text); };
  }
  HOLDFAST_TRY(const std::string left_behind, bench(bench_context));
  if (!left_behind.empty()) {
    fmt::print(stderr, "{}\n", left_behind);
  }
  return {};
}

}  // namespace holdfast::cli
