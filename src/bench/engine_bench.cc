#include "bench/engine_bench.h"

#include <fmt/format.h>

#include <array>

#include "bench/bench_cases.h"
#include "bench/bench_engine.h"
#include "bench/raw_file.h"

namespace holdfast {

namespace {

struct EngineRun {
  const EngineBenchOptions& options;
  BenchWorld& world;
  BenchStore& store;

  [[nodiscard]] bool quick() const { return options.effort == BenchEffort::quick; }
  Result<std::unique_ptr<BenchEngine>> open() {
    HOLDFAST_TRY(auto journal, store.open());
    return BenchEngine::open(std::move(journal), world);
  }
  // What is on its way to a checkpoint would be counted as memory of the runs.
  Result<std::unique_ptr<BenchEngine>> open_without_checkpoints() {
    HOLDFAST_TRY(auto journal, store.open());
    LoopOptions loop;
    loop.core.checkpoint_every = UINT64_MAX;
    loop.seal_every_bytes = 0;
    return BenchEngine::open(std::move(journal), world, loop);
  }
};

// What the disk does with the same commits: the same number of bytes, one sync each. Empty when
// the store is not on a disk here.
Result<std::optional<double>> raw_seconds(EngineRun& run, std::uint64_t commits,
                                          std::size_t bytes_each) {
  if (!run.store.directory().has_value()) {
    return std::optional<double>();
  }
  HOLDFAST_TRY(const auto file, RawFile::create(*run.store.directory()));
  const std::string bytes(std::max<std::size_t>(bytes_each, 1), 'x');
  const Stopwatch watch;
  for (std::uint64_t i = 0; i < commits; ++i) {
    HOLDFAST_CHECK(file->append_and_sync(bytes));
  }
  return std::optional(watch.seconds());
}

// What the engine wrote between two looks at it.
struct Written {
  std::uint64_t commits = 0;
  std::uint64_t facts = 0;
  std::uint64_t bytes = 0;

  static Written of(Loop& loop) {
    const CoreStats stats = loop.stats();
    return {stats.commits, stats.facts, stats.bytes};
  }
  friend Written operator-(const Written& left, const Written& right) {
    return {left.commits - right.commits, left.facts - right.facts, left.bytes - right.bytes};
  }
};

Result<void> bench_one_step(EngineRun& run) {
  constexpr int kRounds = 5;
  const std::uint64_t runs = run.quick() ? 500 : 20'000;
  HOLDFAST_TRY(const auto engine, run.open());
  std::vector<double> rates;
  std::vector<double> facts;
  std::vector<double> raw;
  for (int slice = 0; slice < kRounds; ++slice) {
    const Written before = Written::of(engine->loop());
    HOLDFAST_TRY(const double seconds,
                 engine->carry_out(
                     {.definition = bench_chain(1), .runs = runs, .at_once = 256, .threads = 1}));
    const Written written = Written::of(engine->loop()) - before;
    rates.push_back(static_cast<double>(runs) / seconds);
    facts.push_back(static_cast<double>(written.facts) / seconds);
    HOLDFAST_TRY(const auto limit,
                 raw_seconds(run, written.commits, written.bytes / written.commits));
    if (limit.has_value()) {
      raw.push_back(static_cast<double>(written.facts) / *limit);
    }
  }
  run.world.report.add({.name = "one_step_runs", .value = median(rates), .unit = "runs/s"});
  run.world.report.add({.name = "one_step_facts",
                        .value = median(facts),
                        .unit = "facts/s",
                        .limit = raw.empty() ? std::nullopt : std::optional(median(raw))});
  return {};
}

Result<void> bench_chains(EngineRun& run) {
  constexpr std::size_t kSteps = 10;
  constexpr std::size_t kAtOnce = 64;
  const std::uint64_t runs = run.quick() ? 64 : 2'000;
  HOLDFAST_TRY(const auto engine, run.open());
  HOLDFAST_TRY(
      const double seconds,
      engine->carry_out(
          {.definition = bench_chain(kSteps), .runs = runs, .at_once = kAtOnce, .threads = 1}));
  run.world.report.add({.name = "chains_of_10_at_64",
                        .value = static_cast<double>(runs * kSteps) / seconds,
                        .unit = "steps/s"});
  return {};
}

// Slices of one chain and of the raw disk in turn, because disks drift.
Result<void> bench_single_chain(EngineRun& run) {
  const int slices = run.quick() ? 3 : 15;
  const std::uint64_t steps = run.quick() ? 20 : 100;
  HOLDFAST_TRY(const auto engine, run.open());
  std::vector<double> ratios;
  std::vector<double> times;
  for (int slice = 0; slice < slices; ++slice) {
    const Written before = Written::of(engine->loop());
    HOLDFAST_TRY(const double seconds,
                 engine->carry_out({.definition = bench_chain(steps), .runs = 1}));
    const Written written = Written::of(engine->loop()) - before;
    const double step = seconds / static_cast<double>(steps);
    times.push_back(step * 1e6);
    HOLDFAST_TRY(const auto raw, raw_seconds(run, steps, written.bytes / written.commits));
    if (raw.has_value()) {
      ratios.push_back(step / (*raw / static_cast<double>(steps)));
    }
  }
  run.world.report.add({.name = "single_chain_step", .value = median(times), .unit = "us"});
  if (!ratios.empty()) {
    run.world.report.add(
        {.name = "single_chain_step_in_syncs", .value = median(ratios), .unit = "syncs"});
  }
  return {};
}

Result<void> bench_fan_out(EngineRun& run) {
  constexpr std::size_t kWidth = 100;
  const std::uint64_t runs = run.quick() ? 3 : 50;
  HOLDFAST_TRY(const auto engine, run.open());
  const auto definition = bench_definition("fan_out", kWidth + 2, [](std::size_t step) {
    std::vector<std::size_t> after;
    if (step == kWidth + 1) {
      for (std::size_t i = 1; i <= kWidth; ++i) {
        after.push_back(i);
      }
    } else if (step > 0) {
      after.push_back(0);
    }
    return after;
  });
  HOLDFAST_TRY(const double seconds, engine->carry_out({.definition = definition, .runs = runs}));
  run.world.report.add({.name = "fan_out_of_100_with_join",
                        .value = seconds * 1e3 / static_cast<double>(runs),
                        .unit = "ms"});
  return {};
}

// Claims are measured with few pending attempts, then with very many; and how much memory those
// take.
Result<void> bench_pending(EngineRun& run) {
  constexpr std::size_t kFew = 1'000;
  constexpr std::size_t kPerRun = 1'000;
  constexpr std::size_t kClaims = 100;
  const std::uint64_t by_effort = run.quick() ? 20'000 : 1'000'000;
  const std::uint64_t many = run.options.pending == 0 ? by_effort : run.options.pending;
  const auto wide =
      bench_definition("wide", kPerRun, [](std::size_t) { return std::vector<std::size_t>(); });
  const auto rate = [&](BenchEngine& engine) -> Result<double> {
    // Few at a time, so that the number of pending attempts stays about the same.
    const int commits = run.quick() ? 3 : 8;
    HOLDFAST_TRY(const double seconds, engine.claim(static_cast<std::size_t>(commits), kClaims));
    return static_cast<double>(commits * static_cast<int>(kClaims)) / seconds;
  };
  HOLDFAST_TRY(const auto engine, run.open_without_checkpoints());
  std::vector<double> few;
  std::vector<double> lots;
  for (int slice = 0; slice < 5; ++slice) {
    HOLDFAST_CHECK(engine->start_pending(wide, kFew / kPerRun));
    HOLDFAST_TRY(const double claims, rate(*engine));
    few.push_back(claims);
  }
  const std::uint64_t before = heap_bytes();
  HOLDFAST_CHECK(engine->start_pending(wide, many / kPerRun));
  const std::uint64_t after = heap_bytes();
  for (int slice = 0; slice < 5; ++slice) {
    HOLDFAST_TRY(const double claims, rate(*engine));
    lots.push_back(claims);
  }
  run.world.report.add({.name = fmt::format("claims_with_{}_pending", kFew),
                        .value = median(few),
                        .unit = "claims/s"});
  run.world.report.add({.name = fmt::format("claims_with_{}_pending", many),
                        .value = median(lots),
                        .unit = "claims/s",
                        .limit = median(few)});
  run.world.report.add({.name = "memory_per_pending_attempt",
                        .value = static_cast<double>(after - before) / static_cast<double>(many),
                        .unit = "bytes"});
  return {};
}

// Runs that wait for their one step, with nothing else in memory than what they need.
Result<void> bench_sleeping(EngineRun& run) {
  const std::uint64_t runs = run.quick() ? 2'000 : 200'000;
  HOLDFAST_TRY(const auto engine, run.open_without_checkpoints());
  // Runs that sleep are old: the engine has sealed their batches, and let go of what it can read
  // again.
  HOLDFAST_CHECK(engine->start_pending(bench_chain(1), runs));
  HOLDFAST_CHECK(engine->loop().journal().seal());
  const std::uint64_t before = heap_bytes();
  HOLDFAST_CHECK(engine->start_pending(bench_chain(1), runs));
  HOLDFAST_CHECK(engine->loop().journal().seal());
  const std::uint64_t after = heap_bytes();
  run.world.report.add({.name = "memory_per_sleeping_run",
                        .value = static_cast<double>(after - before) / static_cast<double>(runs),
                        .unit = "bytes"});
  return {};
}

// The last steps of a long run against its first.
Result<void> measure_long_run(EngineRun& run, BenchEngine& engine, std::string_view suffix) {
  const std::uint64_t by_effort = run.quick() ? 2'000 : 100'000;
  const std::uint64_t steps = run.options.steps == 0 ? by_effort : run.options.steps;
  const std::uint64_t window = steps / 20;
  std::array<double, 4> marks{};
  const Stopwatch watch;
  const auto seen = [&](std::uint64_t count) {
    const std::array<std::uint64_t, 4> at{10, 10 + window, steps - window, steps};
    for (std::size_t i = 0; i < at.size(); ++i) {
      if (count == at[i]) {
        marks[i] = watch.seconds();
      }
    }
  };
  HOLDFAST_CHECK(engine.carry_out(
      {.definition = bench_chain(steps), .runs = 1, .at_once = 1, .threads = 1, .seen = seen}));
  const double us = 1e6 / static_cast<double>(window);
  run.world.report.add({.name = fmt::format("step_{}_of_a_run{}", steps, suffix),
                        .value = (marks[3] - marks[2]) * us,
                        .unit = "us",
                        .limit = (marks[1] - marks[0]) * us});
  return {};
}

Result<void> bench_long_run(EngineRun& run) {
  HOLDFAST_TRY(const auto engine, run.open());
  return measure_long_run(run, *engine, "");
}

// Without a disk nothing but the engine can make a step slower.
Result<void> bench_long_run_in_memory(EngineRun& run) {
  HOLDFAST_TRY(const auto memory, BenchStore::create("memory:", AfterBench::remove, run.world.clock,
                                                     run.world.random));
  HOLDFAST_TRY(auto journal, memory->open());
  HOLDFAST_TRY(const auto engine, BenchEngine::open(std::move(journal), run.world));
  return measure_long_run(run, *engine, "_in_memory");
}

// The last two leave attempts behind that the workers of the others would execute.
constexpr std::array<BenchCase<EngineRun>, 8> kCases{{
    {"one_step", "runs of one step, 256 at once", bench_one_step},
    {"chains", "chains of 10 steps, 64 at once", bench_chains},
    {"single_chain", "one chain at a time", bench_single_chain},
    {"fan_out", "a fan-out of 100 with a join", bench_fan_out},
    {"long_run", "a run of many steps", bench_long_run},
    {"long_run_in_memory", "a run of many steps, in memory", bench_long_run_in_memory},
    {"pending", "claims with many pending attempts", bench_pending},
    {"sleeping", "memory of sleeping runs", bench_sleeping},
}};

}  // namespace

Result<std::string> run_engine_bench(const EngineBenchOptions& options, BenchWorld& world) {
  HOLDFAST_TRY(const auto store,
               BenchStore::create(options.store, options.after, world.clock, world.random));
  EngineRun run{options, world, *store};
  HOLDFAST_CHECK(run_cases(kCases, options.only, run));
  return store->left_behind();
}

}  // namespace holdfast
