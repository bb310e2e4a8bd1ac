#include <fmt/format.h>

#include "lab/bench/engine_run.h"

namespace holdfast {

namespace {

// How much the process has grown since the beginning.
class Growth {
 public:
  static Result<Growth> begin() {
    HOLDFAST_TRY(const std::uint64_t before, resident_bytes());
    HOLDFAST_CHECK(reset_peak_bytes());
    return Growth(before);
  }
  // The maximum since the last call.
  Result<double> peak() const {
    HOLDFAST_TRY(const std::uint64_t most, peak_bytes());
    HOLDFAST_CHECK(reset_peak_bytes());
    return most > before_ ? static_cast<double>(most - before_) : 0.0;
  }

 private:
  explicit Growth(std::uint64_t before) : before_(before) {}

  std::uint64_t before_;
};

struct PayloadLoad {
  std::uint64_t runs = 0;
  std::size_t bytes = 0;  // of each input and each result
};

Payload payload_of(std::size_t bytes) {
  return Payload::trusted(fmt::format(R"({{"data":"{}"}})", std::string(bytes, 'x')));
}

Result<void> measure_payloads(EngineRun& run, const PayloadLoad& load) {
  // The second step has no worker, so the runs stay live.
  HOLDFAST_TRY(const auto definition,
               Definition::parse(R"({"workflow":"payloads","steps":[)"
                                 R"({"name":"first","handler":"nothing"},)"
                                 R"({"name":"second","handler":"none","after":["first"]}]})"));
  HOLDFAST_TRY(const auto store, BenchStore::create(run.options.store, AfterBench::remove,
                                                    run.context.clock, run.context.random));
  HOLDFAST_TRY(const Growth growth, Growth::begin());
  const auto report = [&](std::string_view when, std::uint64_t payloads) -> Result<void> {
    HOLDFAST_TRY(const double grown, growth.peak());
    run.context.report.add({.name = fmt::format("peak_memory_of_{}_runs_with_{}_kB_{}", load.runs,
                                                load.bytes / 1000, when),
                            .value = grown,
                            .unit = "bytes",
                            .limit = static_cast<double>(payloads * load.bytes)});
    return {};
  };
  const auto open = [&]() -> Result<std::unique_ptr<BenchEngine>> {
    HOLDFAST_TRY(auto journal, store->open());
    return BenchEngine::open(std::move(journal), run.context);
  };
  const std::uint64_t results = load.runs / 4;
  {
    HOLDFAST_TRY(const auto engine, open());
    HOLDFAST_CHECK(engine->start_pending(definition, load.runs, payload_of(load.bytes)));
    HOLDFAST_CHECK(report("started", load.runs));
    HOLDFAST_CHECK(
        engine->execute_pending(results, run.context.clock.now(), payload_of(load.bytes)));
    HOLDFAST_CHECK(report("carried_on", load.runs + results));
  }
  {
    HOLDFAST_TRY(const auto engine, open());
    HOLDFAST_CHECK(report("opened_from_a_checkpoint", load.runs + results));
  }
  {
    HOLDFAST_TRY(auto journal, store->open());
    HOLDFAST_CHECK(journal->delete_checkpoint(live_checkpoint_name()));
  }
  HOLDFAST_TRY(const auto engine, open());
  return report("opened_without_a_checkpoint", load.runs + results);
}

}  // namespace

// Runs that wait for their only step, with nothing in memory but what they need.
Result<void> bench_sleeping(EngineRun& run) {
  const std::uint64_t runs = run.quick() ? 2'000 : 200'000;
  HOLDFAST_TRY(const auto definition, bench_chain(1));
  HOLDFAST_TRY(const auto engine, run.open(without_checkpoints()));
  // Sleeping runs are old: the engine has sealed their batches and freed what it can read again.
  HOLDFAST_CHECK(engine->start_pending(definition, runs));
  HOLDFAST_CHECK(engine->loop().journal().seal());
  const std::uint64_t before = heap_bytes();
  HOLDFAST_CHECK(engine->start_pending(definition, runs));
  HOLDFAST_CHECK(engine->loop().journal().seal());
  const std::uint64_t after = heap_bytes();
  run.context.report.add({.name = "memory_per_sleeping_run",
                          .value = static_cast<double>(after - before) / static_cast<double>(runs),
                          .unit = "bytes"});
  return {};
}

Result<void> bench_payloads(EngineRun& run) {
  HOLDFAST_CHECK(
      measure_payloads(run, run.quick() ? PayloadLoad{100, 100'000} : PayloadLoad{5'000, 100'000}));
  return measure_payloads(run,
                          run.quick() ? PayloadLoad{10, 1'000'000} : PayloadLoad{500, 1'000'000});
}

}  // namespace holdfast
