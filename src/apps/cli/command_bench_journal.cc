#include "apps/cli/bench_options.h"
#include "lab/bench/journal_bench.h"

namespace holdfast::cli {

namespace {

struct BenchJournalCommand : BenchOptions {
  std::optional<std::uint64_t> entries = {};

  void declare(Arguments& arguments) {
    add_store_options(arguments);
    arguments.option("--entries", "N", entries,
                     "Entries in the journal that is opened and sealed (default: 1000000)");
    add_quick(arguments);
  }

  Result<void> run(Context& context) const {
    return run_bench("journal", context, [&](BenchContext& bench_context) {
      return run_journal_bench(
          {.store = store, .entries = entries.value_or(0), .effort = effort(), .after = after()},
          bench_context);
    });
  }
};

}  // namespace

extern const Command kBenchJournalCommand = make_command<BenchJournalCommand>(
    "bench journal", "Measure a journal against the raw disk.",
    R"(limit is what the disk does without a journal (append and fdatasync of the same bytes; on
PostgreSQL one row per commit), measured in the same run; ratio is value / limit. Prints a table
on a terminal, otherwise JSON lines. The store must not exist; without --store it is a temporary
file under $TMPDIR or /var/tmp.

Examples:
  holdfast bench journal
  holdfast bench journal --quick --json
  holdfast bench journal --store sqlite:/data/bench.db --keep)");

}  // namespace holdfast::cli
