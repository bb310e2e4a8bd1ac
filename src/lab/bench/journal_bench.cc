#include "lab/bench/bench_run.h"

namespace holdfast {

namespace {

constexpr std::uint64_t kSeed = 20260101;
constexpr std::size_t kThreads = 10'000;
constexpr std::uint64_t kFullEntries = 1'000'000;
constexpr std::uint64_t kQuickEntries = 20'000;

}  // namespace

Result<std::string> run_journal_bench(const BenchmarkOptions& options, BenchContext& context) {
  HOLDFAST_TRY(const auto store,
               BenchStore::create(options.store, options.after, context.clock, context.random));
  SampleEntries samples(kSeed, context.clock.now(), kThreads);
  BenchRun run{context, *store, samples, options};
  const std::uint64_t by_effort = options.quick() ? kQuickEntries : kFullEntries;
  HOLDFAST_CHECK(bench_appends(run));
  HOLDFAST_CHECK(bench_decode(run));
  HOLDFAST_CHECK(bench_whole_journal(run, options.entries == 0 ? by_effort : options.entries));
  return store->left_behind();
}

}  // namespace holdfast
