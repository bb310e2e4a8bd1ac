#include <fmt/format.h>

#include <array>
#include <thread>

#include "lab/bench/bench_cases.h"
#include "lab/bench/engine_run.h"

namespace holdfast {

namespace {

constexpr int kSlices = 5;
constexpr std::size_t kChain = 10;

BenchDefinition parsed(const std::string& text) { return Definition::parse(text); }

std::string handler_steps(std::size_t count) {
  std::string steps;
  for (std::size_t i = 0; i < count; ++i) {
    steps += fmt::format(R"({}{{"name":"s{}","handler":"nothing"}})", i == 0 ? "" : ",", i);
  }
  return steps;
}

Result<double> plain_chains(EngineRun& run, BenchEngine& engine) {
  const std::uint64_t runs = run.quick() ? 64 : 1'000;
  HOLDFAST_TRY(const auto definition, bench_chain(kChain));
  HOLDFAST_TRY(const double seconds,
               engine.execute({.definition = definition, .runs = runs, .at_once = 64}));
  return static_cast<double>(runs * kChain) / seconds;
}

// Slices of plain chains alternate with slices of the case, because the speed of disks drifts.
Result<void> compare(EngineRun& run, std::string_view name, BenchEngine& engine,
                     const std::function<Result<double>()>& steps_per_second) {
  std::vector<double> rates;
  std::vector<double> plain;
  for (int slice = 0; slice < (run.quick() ? 2 : kSlices); ++slice) {
    HOLDFAST_TRY(const double chain, plain_chains(run, engine));
    HOLDFAST_TRY(const double rate, steps_per_second());
    plain.push_back(chain);
    rates.push_back(rate);
  }
  run.context.report.add({.name = std::string(name),
                          .value = median(rates),
                          .unit = "steps/s",
                          .limit = median(plain)});
  return {};
}

Result<void> bench_conditions(EngineRun& run) {
  std::string transitions;
  for (std::size_t i = 0; i < kChain; ++i) {
    const std::string to = i + 1 == kChain ? "complete" : fmt::format("s{}", i + 1);
    transitions +=
        fmt::format(R"({}{{"from":"s{}","to":"fail","when":{{"path":"amount","less":1000}}}},)"
                    R"({{"from":"s{}","to":"{}","when":{{"path":"currency","in":["EUR","USD"]}}}},)"
                    R"({{"from":"s{}","to":"fail"}})",
                    i == 0 ? "" : ",", i, i, to, i);
  }
  HOLDFAST_TRY(const auto definition,
               parsed(fmt::format(R"({{"workflow":"conditions","steps":[{}],"transitions":[{}]}})",
                                  handler_steps(kChain), transitions)));
  const std::uint64_t runs = run.quick() ? 64 : 1'000;
  HOLDFAST_TRY(const auto engine, run.open());
  return compare(run, "conditional_chain_of_10", *engine, [&]() -> Result<double> {
    HOLDFAST_TRY(const double seconds,
                 engine->execute({.definition = definition, .runs = runs, .at_once = 64}));
    return static_cast<double>(runs * kChain) / seconds;
  });
}

Result<void> bench_for_each(EngineRun& run) {
  const std::uint64_t items = run.quick() ? 100 : 1'000;
  std::string list;
  for (std::uint64_t i = 0; i < items; ++i) {
    list += fmt::format("{}{}", i == 0 ? "" : ",", i);
  }
  HOLDFAST_TRY(const auto definition,
               parsed(R"({"workflow":"each","steps":[)"
                      R"({"name":"each","handler":"nothing","for_each":"list"}]})"));
  const std::uint64_t runs = run.quick() ? 2 : 10;
  HOLDFAST_TRY(const auto engine, run.open());
  return compare(run, fmt::format("for_each_over_{}", items), *engine, [&]() -> Result<double> {
    HOLDFAST_TRY(
        const double seconds,
        engine->execute({.definition = definition,
                         .runs = runs,
                         .attempts = items,
                         .input = Payload::trusted(fmt::format(R"({{"list":[{}]}})", list))}));
    return static_cast<double>(runs * items) / seconds;
  });
}

Result<void> bench_joins(EngineRun& run) {
  constexpr std::size_t kWidth = 98;
  HOLDFAST_TRY(const auto definition, bench_diamond("diamond", kWidth));
  const std::uint64_t runs = run.quick() ? 4 : 100;
  HOLDFAST_TRY(const auto engine, run.open());
  return compare(run, "diamond_of_100", *engine, [&]() -> Result<double> {
    HOLDFAST_TRY(const double seconds, engine->execute({.definition = definition, .runs = runs}));
    return static_cast<double>(runs * (kWidth + 2)) / seconds;
  });
}

BenchDefinition sleeper() {
  return parsed(R"({"workflow":"sleeper","steps":[{"name":"sleep","wait":{"until":"until"}},
      {"name":"work","handler":"nothing","after":["sleep"]}]})");
}
Payload until(TimeMs time) {
  return Payload::trusted(fmt::format(R"({{"until":{}}})", time.value));
}

// Starts runs that sleep until a time after the last start; a slow machine gets more time.
Result<TimeMs> start_sleepers(EngineRun& run, BenchEngine& engine,
                              const std::shared_ptr<const Definition>& definition,
                              std::uint64_t runs, std::int64_t ahead_ms) {
  constexpr int kTries = 6;
  for (int tries = 0; tries < kTries; ++tries) {
    const TimeMs wake{run.context.clock.now().value + (ahead_ms << tries)};
    HOLDFAST_CHECK(engine.start_pending(definition, runs, until(wake)));
    if (run.context.clock.now() < wake) {
      return wake;
    }
    HOLDFAST_CHECK(engine.execute_pending(runs, wake));
  }
  return Error{ErrorCode::unavailable,
               "the machine is too slow to start the runs before they wake"};
}

// Each run wakes and executes one step, which counts as two steps.
Result<void> bench_waking(EngineRun& run) {
  const std::uint64_t runs = run.quick() ? 500 : 10'000;
  HOLDFAST_TRY(const auto definition, sleeper());
  HOLDFAST_TRY(const auto engine, run.open());
  return compare(
      run, fmt::format("waking_{}_runs_at_once", runs), *engine, [&]() -> Result<double> {
        const std::int64_t ahead_ms = run.quick() ? 300 : 1'500;
        HOLDFAST_TRY(const TimeMs wake, start_sleepers(run, *engine, definition, runs, ahead_ms));
        HOLDFAST_TRY(const double seconds, engine->execute_pending(runs, wake));
        return static_cast<double>(2 * runs) / seconds;
      });
}

// Runs that sleep for a day: the memory they take, and that nothing is written meanwhile.
Result<void> bench_asleep(EngineRun& run) {
  const std::uint64_t by_effort = run.quick() ? 2'000 : 1'000'000;
  const std::uint64_t runs = run.options.sleeping == 0 ? by_effort : run.options.sleeping;
  const TimeMs tomorrow{run.context.clock.now().value + 86'400'000};
  HOLDFAST_TRY(const auto definition, sleeper());
  HOLDFAST_TRY(const auto engine, run.open(without_checkpoints()));
  const std::uint64_t before_them = run.quick() ? 2'000 : 60'000;
  HOLDFAST_CHECK(engine->start_pending(definition, before_them, until(tomorrow)));
  HOLDFAST_CHECK(engine->loop().journal().seal());
  const std::uint64_t before = heap_bytes();
  HOLDFAST_CHECK(engine->start_pending(definition, runs, until(tomorrow)));
  HOLDFAST_CHECK(engine->loop().journal().seal());
  const std::uint64_t after = heap_bytes();
  run.context.report.add({.name = fmt::format("memory_per_run_of_{}_asleep", runs),
                          .value = static_cast<double>(after - before) / static_cast<double>(runs),
                          .unit = "bytes"});
  const std::uint64_t commits = engine->loop().stats().commits;
  std::this_thread::sleep_for(std::chrono::seconds(run.quick() ? 1 : 10));
  run.context.report.add({.name = "commits_while_asleep",
                          .value = static_cast<double>(engine->loop().stats().commits - commits),
                          .unit = "commits"});
  return {};
}

// The last one leaves runs behind.
constexpr std::array<BenchCase<EngineRun>, 5> kWorkflowCases{{
    {"conditions", "a chain of 10 with conditions", bench_conditions},
    {"for_each", "a list of 1,000 items", bench_for_each},
    {"diamond", "a diamond of 100 steps", bench_joins},
    {"waking", "10,000 runs that wake at once", bench_waking},
    {"asleep", "very many runs asleep", bench_asleep},
}};

}  // namespace

Result<std::string> run_workflow_bench(const BenchmarkOptions& options, BenchContext& context) {
  HOLDFAST_TRY(const auto store,
               BenchStore::create(options.store, options.after, context.clock, context.random));
  EngineRun run{options, context, *store};
  HOLDFAST_CHECK(run_cases(kWorkflowCases, options.only, run));
  return store->left_behind();
}

}  // namespace holdfast
