#include <fmt/format.h>
#include <sys/resource.h>

#include <array>
#include <thread>

#include "lab/bench/bench_cases.h"
#include "lab/bench/bench_server.h"
#include "lab/bench/engine_run.h"
#include "lab/bench/remote_load.h"

namespace holdfast {

namespace {

constexpr std::size_t kBatch = 100;

// The store is that of the embedded engine; the server's store is beside it.
struct ServerRun : EngineRun {
  std::unique_ptr<BenchServer> server = nullptr;
  std::unique_ptr<net::HttpLoad> load = nullptr;

  Result<void> register_workflow(const Definition& definition) {
    const std::size_t caller = load->add_caller();
    int status = 0;
    load->post(caller, "/v1/workflows", definition.spec().view(),
               [&](const net::HttpOutcome& answer) { status = answer.status; });
    HOLDFAST_CHECK(load->run_until([&] { return status != 0; }));
    return status < 300
               ? Result<void>()
               : Result<void>(Error{ErrorCode::unavailable, "the server refused the workflow"});
  }
};

BenchDefinition chain_of(std::size_t steps) {
  return bench_chain(steps, fmt::format("chain{}", steps));
}

// The same load with and without a server in between, alternating, because the speed of machines
// drifts.
Result<void> compare(ServerRun& run, std::string_view name, const RemoteLoad::Shape& remote) {
  constexpr int kRounds = 3;
  HOLDFAST_TRY(const auto definition, chain_of(remote.steps));
  HOLDFAST_CHECK(run.register_workflow(*definition));
  HOLDFAST_TRY(const auto engine, run.open());
  std::vector<double> rates;
  std::vector<double> embedded;
  const auto steps = static_cast<double>(remote.runs * remote.steps);
  for (int round = 0; round < kRounds; ++round) {
    RemoteLoad::Shape shape = remote;
    shape.workflow = definition->workflow().str();
    RemoteLoad load(*run.load, shape);
    HOLDFAST_TRY(const double seconds, load.execute());
    rates.push_back(steps / seconds);
    HOLDFAST_TRY(const double alone, engine->execute({.definition = definition,
                                                      .runs = remote.runs,
                                                      .at_once = remote.steps == 1 ? 256U : 64U,
                                                      .threads = 1}));
    embedded.push_back(steps / alone);
  }
  run.context.report.add({.name = std::string(name),
                          .value = median(rates),
                          .unit = remote.steps == 1 ? "runs/s" : "steps/s",
                          .limit = median(embedded)});
  return {};
}

Result<void> bench_one_step_batched(ServerRun& run) {
  return compare(run, "one_step_runs_in_batches",
                 {.workflow = {},
                  .runs = run.quick() ? 1'000U : 20'000U,
                  .at_once = 1'000,
                  .starts_in_one = kBatch,
                  .claims_in_one = kBatch,
                  .starters = 2,
                  .workers = 4});
}

Result<void> bench_one_step_single(ServerRun& run) {
  return compare(run, "one_step_runs_one_by_one",
                 {.workflow = {},
                  .runs = run.quick() ? 500U : 5'000U,
                  .at_once = 256,
                  .starters = 32,
                  .workers = 32});
}

Result<void> bench_chain_batched(ServerRun& run) {
  return compare(run, "chains_of_10_in_batches",
                 {.workflow = {},
                  .runs = run.quick() ? 64U : 2'000U,
                  .steps = 10,
                  .at_once = 256,
                  .starts_in_one = kBatch,
                  .claims_in_one = kBatch,
                  .starters = 1,
                  .workers = 4});
}

Result<void> bench_chain_single(ServerRun& run) {
  return compare(run, "chains_of_10_one_by_one",
                 {.workflow = {},
                  .runs = run.quick() ? 32U : 500U,
                  .steps = 10,
                  .at_once = 64,
                  .starters = 8,
                  .workers = 32});
}

void report_latency(ServerRun& run, const std::string& name, std::vector<double>& us) {
  run.context.report.add({.name = name + "_p50", .value = quantile(us, 0.50), .unit = "us"});
  run.context.report.add({.name = name + "_p99", .value = quantile(us, 0.99), .unit = "us"});
}

// One connection that starts a run, waits for its result, and starts the next.
class LatencyProbe {
 public:
  LatencyProbe(net::HttpLoad& load, std::size_t caller, std::uint64_t& left,
               std::vector<double>& us)
      : load_(load), caller_(caller), left_(left), us_(us) {}

  void next() {
    if (left_ == 0) {
      return;
    }
    --left_;
    begin_ = Stopwatch();
    load_.post(caller_, "/v1/runs?wait=10000", R"({"workflow":"chain1","input":{"order":1}})",
               [this](const net::HttpOutcome&) {
                 us_.push_back(begin_.seconds() * 1e6);
                 next();
               });
  }

 private:
  net::HttpLoad& load_;
  std::size_t caller_;
  std::uint64_t& left_;
  std::vector<double>& us_;
  Stopwatch begin_;
};

Result<void> bench_latency(ServerRun& run) {
  HOLDFAST_TRY(const auto definition, chain_of(1));
  HOLDFAST_CHECK(run.register_workflow(*definition));
  for (const std::size_t at_once : {std::size_t{1}, std::size_t{16}, std::size_t{256}}) {
    RemoteLoad workers(*run.load, {.workflow = "chain1", .claims_in_one = kBatch, .workers = 4});
    HOLDFAST_CHECK(workers.begin_workers());
    const std::uint64_t all = run.quick() ? 300 : at_once == 1 ? 3'000 : 10'000;
    std::uint64_t left = all;
    std::vector<double> us;
    std::vector<std::unique_ptr<LatencyProbe>> probes;
    for (std::size_t i = 0; i < at_once; ++i) {
      const std::size_t caller = run.load->add_caller();
      probes.push_back(std::make_unique<LatencyProbe>(*run.load, caller, left, us));
    }
    for (const auto& probe : probes) {
      probe->next();
    }
    HOLDFAST_CHECK(run.load->run_until([&] { return us.size() == all; }));
    HOLDFAST_CHECK(workers.end_workers());
    report_latency(run, fmt::format("start_to_result_at_{}", at_once), us);
  }
  return {};
}

// From the request that starts a run to the response that assigns its step to a waiting worker.
Result<void> bench_wake(ServerRun& run) {
  HOLDFAST_TRY(const auto definition, chain_of(1));
  HOLDFAST_CHECK(run.register_workflow(*definition));
  const std::size_t starter = run.load->add_caller();
  const std::size_t worker = run.load->add_caller();
  const std::size_t all = run.quick() ? 50 : 1'000;
  std::vector<double> us;
  for (std::size_t i = 0; i < all; ++i) {
    bool started = false;
    bool given = false;
    double waited = 0;
    Stopwatch begin;
    run.load->post(worker, "/v1/work/claim",
                   fmt::format(R"({{"worker":{{"id":"bench-wake",)"
                               R"("secret":"0123456789012345678901234567890123456789"}},)"
                               R"("request":"{}","handlers":["nothing"],"wait_ms":10000}})",
                               i),
                   [&](const net::HttpOutcome&) {
                     waited = begin.seconds();
                     given = true;
                   });
    // The claim request is sent first; one millisecond is enough for it to arrive.
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    begin = Stopwatch();
    run.load->post(starter, "/v1/runs", R"({"workflow":"chain1"})",
                   [&](const net::HttpOutcome&) { started = true; });
    HOLDFAST_CHECK(run.load->run_until([&] { return started && given; }));
    us.push_back(waited * 1e6);
  }
  report_latency(run, "start_to_waiting_worker", us);
  return {};
}

Result<void> bench_cheapest(ServerRun& run) {
  constexpr std::size_t kConnections = 64;
  const std::uint64_t all = run.quick() ? 5'000 : 200'000;
  std::uint64_t sent = 0;
  std::uint64_t answered = 0;
  std::vector<std::function<void()>> calls(kConnections);
  for (std::size_t i = 0; i < kConnections; ++i) {
    const std::size_t caller = run.load->add_caller();
    calls[i] = [&, i, caller] {
      if (sent < all) {
        ++sent;
        run.load->get(caller, "/healthz", [&, i](const net::HttpOutcome&) {
          ++answered;
          calls[i]();
        });
      }
    };
  }
  const Stopwatch watch;
  for (const auto& begin : calls) {
    begin();
  }
  HOLDFAST_CHECK(run.load->run_until([&] { return answered == all; }));
  run.context.report.add(
      {.name = "cheapest_call", .value = watch.rate(answered), .unit = "requests/s"});
  return {};
}

Result<void> bench_idle(ServerRun& run) {
  const std::size_t all = run.quick() ? 500 : 10'000;
  const std::chrono::seconds watched(run.quick() ? 1 : 10);
  const std::uint64_t before = run.server->memory_bytes();
  // A load of its own, so that its connections are closed at the end.
  HOLDFAST_TRY(const auto load, net::HttpLoad::create(run.server->url()));
  std::size_t answered = 0;
  for (std::size_t i = 0; i < all; ++i) {
    const std::size_t caller = load->add_caller();
    load->get(caller, "/healthz", [&](const net::HttpOutcome&) { ++answered; });
    if (i % 100 == 99) {
      HOLDFAST_CHECK(load->run_until([&] { return answered == i + 1; }));
    }
  }
  HOLDFAST_CHECK(load->run_until([&] { return answered == all; }));
  const std::uint64_t after = run.server->memory_bytes();
  const double cpu = run.server->cpu_seconds();
  std::this_thread::sleep_for(watched);
  const double used = run.server->cpu_seconds() - cpu;
  const auto grown = static_cast<double>(after > before ? after - before : 0);
  run.context.report.add({.name = "memory_per_idle_connection",
                          .value = grown / static_cast<double>(all),
                          .unit = "bytes"});
  run.context.report.add({.name = fmt::format("cpu_with_{}_idle_connections", all),
                          .value = 100 * used / static_cast<double>(watched.count()),
                          .unit = "percent"});
  return {};
}

constexpr std::array<BenchCase<ServerRun>, 8> kServerCases{{
    // First, because the memory that the others leave behind would hide that of connections.
    {"idle", "idle connections", bench_idle},
    {"one_step_batched", "runs of one step, in batches", bench_one_step_batched},
    {"one_step_single", "runs of one step, one by one", bench_one_step_single},
    {"chain_batched", "chains of ten steps, in batches", bench_chain_batched},
    {"chain_single", "chains of ten steps, one by one", bench_chain_single},
    {"latency", "from a start to its result", bench_latency},
    {"wake", "from a start to a waiting worker", bench_wake},
    {"cheapest", "the cheapest call", bench_cheapest},
}};

// Allows both ends of ten thousand connections.
void allow_many_files() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
  }
}

}  // namespace

Result<std::string> run_server_bench(const BenchmarkOptions& options, BenchContext& context) {
  allow_many_files();
  HOLDFAST_TRY(const auto store,
               BenchStore::create("", AfterBench::remove, context.clock, context.random));
  ServerRun run{{options, context, *store}};
  HOLDFAST_TRY(run.server, BenchServer::start(options.program,
                                              {"server", "--store",
                                               "sqlite:" + *store->directory() + "/server.db"}));
  HOLDFAST_TRY(run.load, net::HttpLoad::create(run.server->url()));
  HOLDFAST_CHECK(run_cases(kServerCases, options.only, run));
  return std::string();
}

}  // namespace holdfast
