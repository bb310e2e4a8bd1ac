#include <fmt/format.h>

#include <array>
#include <chrono>
#include <ctime>

#include "lab/bench/bench_cases.h"
#include "lab/bench/engine_run.h"
#include "lab/bench/raw_file.h"

namespace holdfast {

namespace {

// The time the disk takes for the same commits: the same number of bytes, one sync each. Empty if
// the store is not on a local disk.
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

// What the engine wrote between two points in time.
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
  HOLDFAST_TRY(const auto definition, bench_chain(1));
  HOLDFAST_TRY(const auto engine, run.open());
  std::vector<double> rates;
  std::vector<double> facts;
  std::vector<double> raw;
  for (int slice = 0; slice < kRounds; ++slice) {
    const Written before = Written::of(engine->loop());
    HOLDFAST_TRY(
        const double seconds,
        engine->execute({.definition = definition, .runs = runs, .at_once = 256, .threads = 1}));
    const Written written = Written::of(engine->loop()) - before;
    rates.push_back(static_cast<double>(runs) / seconds);
    facts.push_back(static_cast<double>(written.facts) / seconds);
    HOLDFAST_TRY(const auto limit,
                 raw_seconds(run, written.commits, written.bytes / written.commits));
    if (limit.has_value()) {
      raw.push_back(static_cast<double>(written.facts) / *limit);
    }
  }
  run.context.report.add({.name = "one_step_runs", .value = median(rates), .unit = "runs/s"});
  run.context.report.add({.name = "one_step_facts",
                          .value = median(facts),
                          .unit = "facts/s",
                          .limit = raw.empty() ? std::nullopt : std::optional(median(raw))});
  return {};
}

Result<void> bench_chains(EngineRun& run) {
  constexpr std::size_t kSteps = 10;
  constexpr std::size_t kAtOnce = 64;
  const std::uint64_t runs = run.quick() ? 64 : 2'000;
  HOLDFAST_TRY(const auto definition, bench_chain(kSteps));
  HOLDFAST_TRY(const auto engine, run.open());
  HOLDFAST_TRY(
      const double seconds,
      engine->execute({.definition = definition, .runs = runs, .at_once = kAtOnce, .threads = 1}));
  run.context.report.add({.name = "chains_of_10_at_64",
                          .value = static_cast<double>(runs * kSteps) / seconds,
                          .unit = "steps/s"});
  return {};
}

// Slices of one chain alternate with slices of the raw disk, because the speed of disks drifts.
Result<void> bench_single_chain(EngineRun& run) {
  const int slices = run.quick() ? 3 : 15;
  const std::uint64_t steps = run.quick() ? 20 : 100;
  HOLDFAST_TRY(const auto definition, bench_chain(steps));
  HOLDFAST_TRY(const auto engine, run.open());
  std::vector<double> ratios;
  std::vector<double> times;
  for (int slice = 0; slice < slices; ++slice) {
    const Written before = Written::of(engine->loop());
    HOLDFAST_TRY(const double seconds, engine->execute({.definition = definition, .runs = 1}));
    const Written written = Written::of(engine->loop()) - before;
    const double step = seconds / static_cast<double>(steps);
    times.push_back(step * 1e6);
    HOLDFAST_TRY(const auto raw, raw_seconds(run, steps, written.bytes / written.commits));
    if (raw.has_value()) {
      ratios.push_back(step / (*raw / static_cast<double>(steps)));
    }
  }
  run.context.report.add({.name = "single_chain_step", .value = median(times), .unit = "us"});
  if (!ratios.empty()) {
    run.context.report.add(
        {.name = "single_chain_step_in_syncs", .value = median(ratios), .unit = "syncs"});
  }
  return {};
}

Result<void> bench_fan_out(EngineRun& run) {
  constexpr std::size_t kWidth = 100;
  const std::uint64_t runs = run.quick() ? 3 : 50;
  HOLDFAST_TRY(const auto definition, bench_diamond("fan_out", kWidth));
  HOLDFAST_TRY(const auto engine, run.open());
  HOLDFAST_TRY(const double seconds, engine->execute({.definition = definition, .runs = runs}));
  run.context.report.add({.name = "fan_out_of_100_with_join",
                          .value = seconds * 1e3 / static_cast<double>(runs),
                          .unit = "ms"});
  return {};
}

// Measures claims with few pending attempts, then with very many, and the memory that those take.
Result<void> bench_pending(EngineRun& run) {
  constexpr std::size_t kFew = 1'000;
  constexpr std::size_t kPerRun = 1'000;
  constexpr std::size_t kClaims = 100;
  constexpr std::uint64_t kFillCache = 100;
  const std::uint64_t by_effort = run.quick() ? 20'000 : 1'000'000;
  const std::uint64_t many = run.options.pending == 0 ? by_effort : run.options.pending;
  HOLDFAST_TRY(const auto wide, bench_definition("wide", kPerRun, [](std::size_t) {
                 return std::vector<std::size_t>();
               }));
  const auto rate = [&](BenchEngine& engine) -> Result<double> {
    // Few at a time, so that the number of pending attempts hardly changes.
    const int commits = run.quick() ? 3 : 8;
    HOLDFAST_TRY(const double seconds, engine.claim(static_cast<std::size_t>(commits), kClaims));
    return static_cast<double>(commits * static_cast<int>(kClaims)) / seconds;
  };
  HOLDFAST_TRY(const auto engine, run.open(without_checkpoints()));
  std::vector<double> few;
  std::vector<double> lots;
  for (int slice = 0; slice < 5; ++slice) {
    HOLDFAST_CHECK(engine->start_pending(wide, kFew / kPerRun));
    HOLDFAST_TRY(const double claims, rate(*engine));
    few.push_back(claims);
  }
  // The cache of recently used runs has a limit; it is filled before memory is measured.
  HOLDFAST_CHECK(engine->start_pending(wide, run.quick() ? 0 : kFillCache));
  const std::uint64_t before = heap_bytes();
  HOLDFAST_CHECK(engine->start_pending(wide, many / kPerRun));
  const std::uint64_t after = heap_bytes();
  for (int slice = 0; slice < 5; ++slice) {
    HOLDFAST_TRY(const double claims, rate(*engine));
    lots.push_back(claims);
  }
  run.context.report.add({.name = fmt::format("claims_with_{}_pending", kFew),
                          .value = median(few),
                          .unit = "claims/s"});
  run.context.report.add({.name = fmt::format("claims_with_{}_pending", many),
                          .value = median(lots),
                          .unit = "claims/s",
                          .limit = median(few)});
  run.context.report.add({.name = "memory_per_pending_attempt",
                          .value = static_cast<double>(after - before) / static_cast<double>(many),
                          .unit = "bytes"});
  return {};
}

// One run that executes many attempts, one after the other.
struct LongRun {
  std::string_view name;
  std::shared_ptr<const Definition> definition;
  Payload input = {};
};

// A step that is visited repeatedly.
Result<LongRun> long_loop(std::uint64_t visits) {
  HOLDFAST_TRY(auto definition, Definition::parse(fmt::format(
                                    R"({{"workflow":"loop","entry":"again","max_visits":{},)"
                                    R"("steps":[{{"name":"again","handler":"nothing"}}],)"
                                    R"("transitions":[{{"from":"again","to":"again",)"
                                    R"("when":{{"path":"more","equals":true}}}},)"
                                    R"({{"from":"again","to":"complete"}}]}})",
                                    visits)));
  return LongRun{"loop", std::move(definition)};
}

// A step that is executed for each item of a list.
Result<LongRun> long_list(std::uint64_t items) {
  HOLDFAST_TRY(auto definition,
               Definition::parse(R"({"workflow":"list","steps":[{"name":"each",)"
                                 R"("handler":"nothing",)"
                                 R"("for_each":{"items":"list","concurrency":1}}]})"));
  std::string list = "0";
  for (std::uint64_t i = 1; i < items; ++i) {
    list += fmt::format(",{}", i);
  }
  return LongRun{"for_each", std::move(definition),
                 Payload::trusted(fmt::format(R"({{"list":[{}]}})", list))};
}

// How the time of a step is measured: with a disk as elapsed time; without one as CPU time, which
// does not depend on the load of the machine.
using Seconds = double (*)();
double elapsed_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}
double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

// Where and how a long run is measured.
struct LongRunSetup {
  BenchStore& store;
  std::uint64_t steps;
  Seconds seconds;
  std::string_view suffix;
  LoopOptions options = {};
};

// Compares the last steps of a long run with its first ones.
Result<void> measure_long_run(EngineRun& run, const LongRun& what, const LongRunSetup& setup) {
  HOLDFAST_TRY(auto journal, setup.store.open());
  HOLDFAST_TRY(const auto engine,
               BenchEngine::open(std::move(journal), run.context, setup.options));
  const std::uint64_t steps = setup.steps;
  const std::uint64_t window = std::max<std::uint64_t>(1, steps / 20);
  std::array<double, 4> marks{};
  const auto seen = [&](std::uint64_t count) {
    const std::array<std::uint64_t, 4> at{10, 10 + window, steps - window, steps};
    for (std::size_t i = 0; i < at.size(); ++i) {
      if (count == at[i]) {
        marks[i] = setup.seconds();
      }
    }
  };
  const Payload more = Payload::trusted(R"({"more":true})");
  const Payload last = Payload::trusted(R"({"more":false})");
  HOLDFAST_CHECK(engine->execute(
      {.definition = what.definition,
       .runs = 1,
       .seen = seen,
       .attempts = steps,
       .input = what.input,
       .result = [&](std::uint64_t count) { return count < steps ? more : last; }}));
  const double us = 1e6 / static_cast<double>(window);
  run.context.report.add({.name = fmt::format("step_{}_of_a_{}{}", steps, what.name, setup.suffix),
                          .value = (marks[3] - marks[2]) * us,
                          .unit = "us",
                          .limit = (marks[1] - marks[0]) * us});
  return {};
}

Result<void> measure_long_runs(EngineRun& run, const LongRunSetup& setup) {
  for (const auto& make : {long_loop, long_list}) {
    HOLDFAST_TRY(const LongRun what, make(setup.steps));
    HOLDFAST_CHECK(measure_long_run(run, what, setup));
  }
  return {};
}

std::uint64_t long_run_steps(const EngineRun& run, std::uint64_t quick) {
  constexpr std::uint64_t kFewest = 40;
  const std::uint64_t by_effort = run.quick() ? quick : 100'000;
  return run.options.steps == 0 ? by_effort : std::max(run.options.steps, kFewest);
}

Result<void> bench_long_run(EngineRun& run) {
  return measure_long_runs(run, {run.store, long_run_steps(run, 200), elapsed_seconds, ""});
}

// Without a disk, checkpoints and sealing, only the step itself can become slower.
Result<void> bench_long_run_in_memory(EngineRun& run) {
  HOLDFAST_TRY(const auto memory, BenchStore::create("memory:", AfterBench::remove,
                                                     run.context.clock, run.context.random));
  return measure_long_runs(
      run, {*memory, long_run_steps(run, 2'000), cpu_seconds, "_in_memory", without_checkpoints()});
}

// The last three leave attempts behind that the workers of the others would execute.
constexpr std::array<BenchCase<EngineRun>, 9> kEngineCases{{
    {"one_step", "runs of one step, 256 at once", bench_one_step},
    {"chains", "chains of 10 steps, 64 at once", bench_chains},
    {"single_chain", "one chain at a time", bench_single_chain},
    {"fan_out", "a fan-out of 100 with a join", bench_fan_out},
    {"long_run", "a run of many steps", bench_long_run},
    {"long_run_in_memory", "a run of many steps, in memory", bench_long_run_in_memory},
    {"pending", "claims with many pending attempts", bench_pending},
    {"sleeping", "memory of sleeping runs", bench_sleeping},
    {"payloads", "memory with large payloads", bench_payloads},
}};

}  // namespace

Result<std::string> run_engine_bench(const BenchmarkOptions& options, BenchContext& context) {
  HOLDFAST_TRY(const auto store,
               BenchStore::create(options.store, options.after, context.clock, context.random));
  EngineRun run{options, context, *store};
  HOLDFAST_CHECK(run_cases(kEngineCases, options.only, run));
  return store->left_behind();
}

}  // namespace holdfast
