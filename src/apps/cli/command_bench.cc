// The benchmarks. They share their options, and how one is run and reported.
#include <fmt/format.h>
#include <unistd.h>

#include <functional>
#include <optional>
#include <string>

#include "apps/cli/cli_terminal.h"
#include "apps/cli/command.h"
#include "lab/bench/benchmarks.h"

namespace holdfast::cli {

namespace {

struct BenchOptions {
  std::string store = {};  // empty: a temporary file
  std::string only = {};   // empty: all cases
  bool keep = false;
  bool quick = false;

  void add_store_options(Arguments& arguments) {
    arguments.option("--store", "URL", store,
                     "Store: sqlite:PATH, postgres://USER@HOST/DATABASE or memory: (default: a "
                     "temporary file)");
    arguments.flag("--keep", keep, "Keep the journal");
  }
  void add_only(Arguments& arguments) {
    arguments.option("--only", "CASE", only, "Run one case (default: all)");
  }
  void add_quick(Arguments& arguments) {
    arguments.flag("--quick", quick, "Take a few seconds; the numbers are not meaningful");
  }
  [[nodiscard]] BenchEffort effort() const {
    return quick ? BenchEffort::quick : BenchEffort::full;
  }
  [[nodiscard]] AfterBench after() const { return keep ? AfterBench::keep : AfterBench::remove; }
};

// Prints a table on a terminal, JSON lines otherwise. `bench` returns what it leaves behind.
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

struct BenchEngineCommand : BenchOptions {
  std::optional<std::uint64_t> pending = {};
  std::optional<std::uint64_t> steps = {};

  void declare(Arguments& arguments) {
    add_store_options(arguments);
    add_only(arguments);
    arguments.option("--pending", "N", pending,
                     "Pending attempts in the case pending (default: 1000000)");
    arguments.option("--steps", "N", steps, "Steps of the long run (default: 100000)");
    add_quick(arguments);
  }

  Result<void> run(Context& context) const {
    return run_bench("engine", context, [&](BenchContext& bench_context) {
      return run_engine_bench({.store = store,
                               .only = only,
                               .pending = pending.value_or(0),
                               .steps = steps.value_or(0),
                               .effort = effort(),
                               .after = after()},
                              bench_context);
    });
  }
};

struct BenchWorkflowCommand : BenchOptions {
  std::optional<std::uint64_t> sleeping = {};

  void declare(Arguments& arguments) {
    add_store_options(arguments);
    add_only(arguments);
    arguments.option("--sleeping", "N", sleeping,
                     "Sleeping runs in the case asleep (default: 1000000)");
    add_quick(arguments);
  }

  Result<void> run(Context& context) const {
    return run_bench("workflow", context, [&](BenchContext& bench_context) {
      return run_workflow_bench({.store = store,
                                 .only = only,
                                 .sleeping = sleeping.value_or(0),
                                 .effort = effort(),
                                 .after = after()},
                                bench_context);
    });
  }
};

struct BenchServerCommand : BenchOptions {
  void declare(Arguments& arguments) {
    add_only(arguments);
    add_quick(arguments);
  }

  Result<void> run(Context& context) const {
    return run_bench("server", context, [&](BenchContext& bench_context) {
      return run_server_bench({.program = "/proc/self/exe", .only = only, .effort = effort()},
                              bench_context);
    });
  }
};

struct BenchBrokerCommand : BenchOptions {
  std::optional<std::uint64_t> rows = {};

  void declare(Arguments& arguments) {
    add_only(arguments);
    arguments.option("--rows", "N", rows,
                     "Dedupe rows in the case dedupe_lookup (default: 10000000)");
    add_quick(arguments);
  }

  Result<void> run(Context& context) const {
    return run_bench("broker", context, [&](BenchContext& bench_context) {
      return run_broker_bench({.program = "/proc/self/exe",
                               .only = only,
                               .entries = rows.value_or(0),
                               .effort = effort()},
                              bench_context);
    });
  }
};

struct BenchDaemonCommand : BenchOptions {
  std::optional<std::uint64_t> messages = {};

  void declare(Arguments& arguments) {
    add_only(arguments);
    arguments.option("--messages", "N", messages, "Messages in the case drain (default: 100000)");
    add_quick(arguments);
  }

  Result<void> run(Context& context) const {
    return run_bench("daemon", context, [&](BenchContext& bench_context) {
      return run_daemon_bench({.program = "/proc/self/exe",
                               .only = only,
                               .entries = messages.value_or(0),
                               .effort = effort()},
                              bench_context);
    });
  }
};

struct BenchMeshCommand : BenchOptions {
  std::optional<std::uint64_t> operations = {};

  void declare(Arguments& arguments) {
    add_only(arguments);
    arguments.option("--operations", "N", operations, "Operations of the mesh (default: 1000000)");
    add_quick(arguments);
  }

  Result<void> run(Context& context) const {
    return run_bench("mesh", context, [&](BenchContext& bench_context) {
      return run_mesh_bench({.only = only, .entries = operations.value_or(0), .effort = effort()},
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

extern const Command kBenchEngineCommand = make_command<BenchEngineCommand>(
    "bench engine", "Measure runs and steps against the raw disk.",
    R"(Handlers do nothing, so the engine is measured. limit is what the disk does with the same
bytes and as many syncs, measured in the same run; for claims with many pending attempts it is
the rate with few, for the last steps of a long run the time of its first. ratio is value /
limit. A single chain is also measured in syncs of the disk. A long run is measured as a loop
and as a for_each; in memory its time is processor time. With large payloads, value is the
growth of the process and limit the bytes of the payloads. Prints a table on a terminal,
otherwise JSON lines. The store must not exist; without --store it is a temporary file under
$TMPDIR or /var/tmp.

Cases: one_step, chains, single_chain, fan_out, long_run, long_run_in_memory, pending, sleeping,
payloads.

Examples:
  holdfast bench engine
  holdfast bench engine --only single_chain
  holdfast bench engine --store postgres://user@host/database?schema=scratch --json)");

extern const Command kBenchWorkflowCommand = make_command<BenchWorkflowCommand>(
    "bench workflow", "Measure conditions, lists, joins and waits.",
    R"(Handlers do nothing, so the engine is measured. limit is the steps per second of plain
chains of 10 steps, 64 at once, measured in the same run; ratio is value / limit. Prints a table
on a terminal, otherwise JSON lines. The store must not exist; without --store it is a temporary
file under $TMPDIR or /var/tmp.

Cases: conditions, for_each, diamond, waking, asleep.

Examples:
  holdfast bench workflow
  holdfast bench workflow --only for_each
  holdfast bench workflow --only asleep --sleeping 100000)");

extern const Command kBenchServerCommand = make_command<BenchServerCommand>(
    "bench server", "Measure a server with remote workers.",
    R"(Starts `holdfast server` on a new SQLite store in another process and loads it over
loopback. Handlers do nothing. limit is what the embedded engine does with the same runs,
measured in turn in the same run; ratio is value / limit. Prints a table on a terminal,
otherwise JSON lines. The store is a temporary file under $TMPDIR or /var/tmp.

Cases: one_step_batched, one_step_single, chain_batched, chain_single, latency, wake, cheapest,
idle.

Examples:
  holdfast bench server
  holdfast bench server --only latency)");

extern const Command kBenchBrokerCommand = make_command<BenchBrokerCommand>(
    "bench broker", "Measure a message broker beside others.",
    R"(On SQLite and on PostgreSQL, with topics of 1, 10 and 100 subscribers. In the case accept
value is what the store accepts, and limit how fast the same rows are inserted by one multi-row
statement per table and group, without any check. In the cases peers and nats it is
`holdfast broker serve` over HTTP, and limit is the other service with the same load and the same
payloads: a Redis stream that syncs every write, a plain PostgreSQL table with a commit per
message, and NATS JetStream, which acknowledges before fsync. Everything is measured in turns in
one run; ratio is value / limit, so that for times (us) less is better. Prints a table on a
terminal, otherwise JSON lines.

Starts PostgreSQL, redis-server and nats-server on loopback with their data under $TMPDIR or
/var/tmp, and ends them. With 10000000 rows, dedupe_lookup needs 10 GB there and some minutes.

Cases: accept, http, peers, nats, duplicate, dedupe_lookup.

Examples:
  holdfast bench broker
  holdfast bench broker --only accept
  holdfast bench broker --only dedupe_lookup --rows 1000000)");

extern const Command kBenchDaemonCommand = make_command<BenchDaemonCommand>(
    "bench daemon", "Measure the daemon that sends and receives messages.",
    R"(In the case send, 1, 8 and 64 callers hand over messages on the unix socket; limit is how
many rows of the same bytes SQLite inserts, one statement each, in transactions of as many rows as
there are callers, measured in turns in the same run; ratio is value / limit. In the case way a
message goes from a program through its daemon, a broker and a daemon to a program, one after the
other. In the case drain an outbox that filled without a broker is sent, in one lane and in 16.
Prints a table on a terminal, otherwise JSON lines. Everything is on loopback, with its data under
$TMPDIR or /var/tmp.

Cases: send, way, drain.

Examples:
  holdfast bench daemon
  holdfast bench daemon --only send
  holdfast bench daemon --only drain --messages 10000)");

extern const Command kBenchMeshCommand = make_command<BenchMeshCommand>(
    "bench mesh", "Measure the operations of a mesh.",
    R"(One owner, eight workers, three operations for each job. In the case signatures limit is
the rate of libsodium alone, on one core, measured in turns in the same run; ratio is value /
limit. Prints a table on a terminal, otherwise JSON lines. The store is a temporary folder under
$TMPDIR or /var/tmp.

Cases: fold, apply, memory, signatures, open.

Examples:
  holdfast bench mesh
  holdfast bench mesh --only open --operations 100000)");

}  // namespace holdfast::cli
