#include <fmt/format.h>

#include <chrono>
#include <map>
#include <optional>
#include <thread>

#include "apps/cli/command.h"
#include "apps/cli/interrupt.h"
#include "apps/cli/missing_handlers.h"
#include "apps/cli/run_outcome.h"
#include "apps/cli/run_watch.h"
#include "apps/cli/server_worker.h"
#include "base/threads.h"
#include "runs/view/view_words.h"

namespace holdfast::cli {

namespace {

using std::chrono::milliseconds;

struct WorkOptions {
  BackendOptions backend = {};
  std::vector<std::string> with = {};
  std::vector<std::string> queues = {};
  std::optional<std::uint64_t> threads = {};
  bool drain = false;
  bool quiet = false;
};

// When the next step may become ready.
class Outlook {
 public:
  explicit Outlook(StoreReader& reader) : reader_(reader) {}

  // The earliest of: timers and retries that are due soon, and leases of workers that may be lost.
  // Each lease counts once: a worker that extends it is alive.
  Result<std::optional<milliseconds>> next() {
    HOLDFAST_TRY(const StoreStatus status, reader_.inspector().status());
    const TimeMs now = status.moment.now;
    std::optional<milliseconds> soonest;
    const auto consider = [&](TimeMs at) {
      const milliseconds left(std::max<std::int64_t>(at.value - now.value, 0));
      soonest = std::min(soonest.value_or(left), left);
    };
    for (const QueueStatus& queue : status.queues) {
      if (queue.next_visible_at.has_value() &&
          queue.next_visible_at->value - now.value <= kSoonMs) {
        consider(*queue.next_visible_at);
      }
      for (const ClaimStatus& claim : queue.claims) {
        const TimeMs known = leases_.emplace(claim.runnable_key, claim.lease_until).first->second;
        if (claim.lease_until == known && known > now) {
          consider(known);
        }
      }
    }
    return soonest;
  }

 private:
  StoreReader& reader_;
  std::map<std::string, TimeMs> leases_;  // as first seen
};

Result<std::uint64_t> drain_all(Engine& engine, StoreReader& reader, std::size_t threads,
                                const Interrupt& interrupt) {
  constexpr milliseconds kMargin{20};
  constexpr milliseconds kLongestWait{1000};
  std::uint64_t steps = 0;
  Outlook outlook(reader);
  DrainOptions drain;
  drain.threads = threads;
  while (!interrupt.came()) {
    HOLDFAST_TRY(const std::uint64_t done, engine.drain(drain));
    steps += done;
    HOLDFAST_TRY(const auto soon, outlook.next());
    if (!soon.has_value() && done == 0) {
      break;
    }
    if (done == 0) {
      HOLDFAST_TRY(const auto executed,
                   engine.execute_next(std::min(*soon + kMargin, kLongestWait)));
      steps += executed.has_value() ? 1U : 0U;
    }
  }
  return steps;
}

// A worker may start before its database.
Result<Engine> open_engine_when_available(const NamedStore& store, const EngineOptions& options) {
  constexpr milliseconds kPause{1000};
  for (bool reported = false;; reported = true) {
    auto engine = open_engine(store, options);
    if (engine.ok() || engine.error().code() != ErrorCode::unavailable) {
      return engine;
    }
    if (!reported) {
      fmt::print(stderr, "holdfast: waiting for the store: {}\n", engine.error().text());
    }
    std::this_thread::sleep_for(kPause);
  }
}

void report_waiting(StoreReader& reader, MissingHandlers& missing) {
  const auto status = reader.inspector().status();
  if (status.ok()) {
    missing.report(waited_for(status.value()));
  }
}

Result<void> work_here(const WorkOptions& options, const Definitions& definitions,
                       const NamedStore& store, Context& context) {
  HOLDFAST_TRY(const std::size_t threads, worker_threads(options.threads));
  EngineOptions engine_options;
  engine_options.create = !definitions.empty();
  engine_options.queues = options.queues;
  HOLDFAST_TRY(Engine engine, options.drain ? open_engine(store, engine_options)
                                            : open_engine_when_available(store, engine_options));
  HOLDFAST_TRY(StoreReader reader, StoreReader::open(store, context));
  MissingHandlers missing(shown_url(store.url), options.quiet);
  const bool prints = !options.quiet && !context.json();
  WorkWatch view(reader, context, missing, !prints);
  HOLDFAST_CHECK(view.begin());
  HOLDFAST_CHECK(register_all(engine, definitions));
  missing.report(needed_handlers(definitions));
  Interrupt interrupt([&] {
    if (prints) {
      fmt::print(stderr, "stopping after the steps in progress; Ctrl-C again exits at once\n");
    }
    view.interrupt();
  });
  ThreadGroup watcher;
  HOLDFAST_CHECK(watcher.start([&] {
    report_waiting(reader, missing);
    view.follow();
  }));
  Result<void> worked;
  std::uint64_t steps = 0;
  if (options.drain) {
    const auto drained = drain_all(engine, reader, threads, interrupt);
    steps = drained.ok() ? drained.value() : 0;
    worked = drained.ok() ? Result<void>() : Result<void>(drained.error());
  } else {
    if (prints) {
      fmt::print(stderr, "working on {}; Ctrl-C stops\n", shown_url(store.url));
    }
    worked = engine.work(threads, interrupt.token());
  }
  view.stop();
  watcher.join();
  HOLDFAST_CHECK(worked);
  if (options.drain) {
    report_waiting(reader, missing);
  }
  HOLDFAST_TRY(const EngineStats stats, engine.stats());
  steps = options.drain ? steps : stats.claims;
  if (context.json()) {
    JsonWriter json;
    json.begin_object().member("steps", steps).member("live_runs", stats.live_runs).end_object();
    print_json(context, std::move(json));
  } else if (!options.quiet) {
    print_line(context, fmt::format("{} executed; {} not ended", counted(steps, "step", "steps"),
                                    counted(stats.live_runs, "run has", "runs have")));
  }
  return {};
}

Result<void> work_on_server(const WorkOptions& options, const Definitions& definitions,
                            const NamedServer& server, Context& context) {
  if (options.drain) {
    return Error{ErrorCode::invalid_argument,
                 "--drain needs a store: a server always has more work; omit it, or name the store "
                 "with --store"}
        .with("field", "drain");
  }
  ServerWorkerOptions worker;
  worker.definitions = definitions;
  worker.queues = options.queues;
  worker.threads = options.threads;
  worker.quiet = options.quiet;
  return work_for_server(server, worker, context);
}

struct WorkCommand : WorkOptions {
  void declare(Arguments& arguments) {
    add_backend(arguments, backend);
    arguments.option("--with", "FILE", with,
                     "Register this workflow first; may be given several times");
    arguments.option("--queue", "NAME", queues,
                     "Take steps only from this queue, from default and from queues of registered "
                     "workflows; may be given several times (default: all queues)");
    add_threads(arguments, threads);
    arguments.flag("--drain", drain, "Stop when no step is ready and none will be soon");
    arguments.flag("--quiet", quiet, "Print nothing");
  }

  Result<void> run(Context& context) const {
    HOLDFAST_TRY(const BackendName named, resolve_backend(backend));
    HOLDFAST_TRY(const Definitions definitions, load_workflow_files(with));
    HOLDFAST_CHECK(worker_threads(threads));
    if (const auto* const server = std::get_if<NamedServer>(&named)) {
      return work_on_server(*this, definitions, *server, context);
    }
    return work_here(*this, definitions, std::get<NamedStore>(named), context);
  }
};

}  // namespace

extern const Command kWorkCommand = make_command<WorkCommand>(
    "work", "Execute steps, timers and schedules of all runs in the store.",
    R"(Runs until Ctrl-C; then it finishes the steps in progress. A second Ctrl-C exits at once,
and other processes execute those steps after their leases expire. Any number of these
processes, on one machine or several, share the work of a store. With --server, it executes http
and exec steps of the server, as `holdfast worker` does.

Examples:
  holdfast work
  holdfast work --drain                  stop when no step is ready
  holdfast work --queue reports --threads 4
  holdfast work --with nightly.yaml      register the workflow first, so that its schedule runs)");

}  // namespace holdfast::cli
