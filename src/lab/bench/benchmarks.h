// The benchmarks, each beside the best that the machine could do.
//
// The speed of disks drifts. Each case is cut into slices that alternate with slices of the raw
// limit, and the medians of both are compared.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/random.h"
#include "holdfast/result.h"
#include "lab/bench/bench_report.h"
#include "lab/bench/bench_store.h"

namespace holdfast {

enum class BenchEffort : std::uint8_t {
  full,
  quick,  // small counts: shows that everything works; the numbers mean little
};

struct BenchmarkOptions {
  std::string program = {};  // the program that has the commands `server` and `broker serve`
  std::string store = {};    // see BenchStore::create; the server has its own
  std::string only = {};     // the name of one case; empty: all
  // Counts that depend on effort unless they are set.
  std::uint64_t entries = 0;   // in the journal that is opened and sealed; dedupe rows
  std::uint64_t pending = 0;   // attempts in the case `pending`
  std::uint64_t steps = 0;     // of the long run
  std::uint64_t sleeping = 0;  // runs in the case `asleep`
  BenchEffort effort = BenchEffort::full;
  AfterBench after = AfterBench::remove;

  [[nodiscard]] bool quick() const { return effort == BenchEffort::quick; }
};

struct BenchContext {
  Clock& clock;
  Random& random;
  BenchReport& report;
  // Called with the name of the current measurement; may be empty.
  std::function<void(std::string_view)> note;
};

// Each returns a text about what remains; empty if nothing does. invalid_argument if `only` is not
// a case.

// How fast a journal appends compared with the raw disk under the same store, how fast it is
// decoded, opened and sealed, and how much space an entry takes. It has no cases.
Result<std::string> run_journal_bench(const BenchmarkOptions& options, BenchContext& context);
// How many runs and steps the engine executes compared with the raw disk under the same store, and
// whether that holds for long runs and many pending attempts.
Result<std::string> run_engine_bench(const BenchmarkOptions& options, BenchContext& context);
// Conditions, lists, joins and waits, each compared with plain chains on the same engine in the
// same run.
Result<std::string> run_workflow_bench(const BenchmarkOptions& options, BenchContext& context);
// A real server process and a load on loopback: remote workers compared with the embedded engine.
Result<std::string> run_server_bench(const BenchmarkOptions& options, BenchContext& context);
// How many messages a broker accepts: its store compared with the same rows inserted without a
// check, and as a service beside Redis, a PostgreSQL table and NATS. It starts all of them.
Result<std::string> run_broker_bench(const BenchmarkOptions& options, BenchContext& context);
// How many messages a daemon takes over compared with one-row inserts of SQLite, how long a message
// takes from a program to a program, and how fast an outbox empties after an outage.
Result<std::string> run_daemon_bench(const BenchmarkOptions& options, BenchContext& context);
// How many operations of a mesh are judged and verified, how long one that comes late takes, how
// long a store takes to open, and the memory of a job.
Result<std::string> run_mesh_bench(const BenchmarkOptions& options, BenchContext& context);

}  // namespace holdfast
