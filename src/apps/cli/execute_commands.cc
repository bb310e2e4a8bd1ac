// Commands that carry out work: run and work.
#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <optional>

#include "apps/cli/arguments.h"
#include "apps/cli/backend.h"
#include "apps/cli/cli_commands.h"
#include "apps/cli/interrupt.h"
#include "apps/cli/missing_handlers.h"
#include "apps/cli/run_outcome.h"
#include "apps/cli/run_watch.h"
#include "apps/cli/server_run.h"
#include "apps/terminal/terminal_text.h"
#include "base/threads.h"
#include "runs/language/yaml/check_workflow.h"

namespace holdfast {

namespace {

using std::chrono::milliseconds;

Result<std::size_t> threads_of(const std::optional<std::uint64_t>& option) {
  constexpr std::uint64_t kMost = 10'000;
  if (option == 0U || option > kMost) {
    return Error{ErrorCode::invalid_argument,
                 fmt::format("--threads needs a number from 1 to {}, not {}", kMost, *option)}
        .with("field", "threads");
  }
  constexpr std::uint64_t kUsual = 4;
  return static_cast<std::size_t>(option.value_or(kUsual));
}

// Before the store is touched: files with faults leave nothing behind.
Result<Loaded> load_files(const std::vector<std::string>& files) {
  Loaded loaded;
  for (const std::string& file : files) {
    HOLDFAST_TRY(const std::string text, read_file_argument(file));
    HOLDFAST_TRY(auto definition, load_workflow(text, file == "-" ? "standard input" : file));
    loaded.push_back(std::move(definition));
  }
  return loaded;
}

Result<void> register_all(Engine& engine, const Loaded& definitions) {
  for (const auto& definition : definitions) {
    HOLDFAST_CHECK(engine.register_workflow_json(definition->spec().view()));
  }
  return {};
}

// A worker of the engine in a thread of its own.
class Worker {
 public:
  Result<void> start(Engine& engine, std::size_t threads, std::stop_token stop,
                     std::function<void()> ended) {
    return thread_.start(
        [this, &engine, threads, stop = std::move(stop), ended = std::move(ended)] {
          result_ = engine.work(threads, stop);
          ended_ = true;
          ended();
        });
  }

  [[nodiscard]] bool ended() const { return ended_; }
  Result<void> wait() {
    thread_.join();
    return result_;
  }

 private:
  Result<void> result_;
  std::atomic<bool> ended_ = false;
  ThreadGroup thread_;
};

// Looks at the run once, and shows it; a reason to leave it, if there is one.
Result<std::optional<Left>> inspect_once(RunWatch& view, const RunFileOptions& options) {
  HOLDFAST_CHECK(view.catch_up());
  if (view.run().is_terminal()) {
    return std::optional(Left::ended);
  }
  HOLDFAST_TRY(const Explanation why, view.explain());
  view.draw(why);
  if (options.until_blocked && waits_for_others(why.causes, why.now)) {
    return std::optional(Left::blocked);
  }
  return std::optional<Left>();
}

// Follows the run until it has ended, or there is a reason to leave it. A store that is away is
// waited for, as the engine does.
Result<Left> watch(RunWatch& view, const RunFileOptions& options, const Interrupt& interrupt,
                   const Worker& worker) {
  for (;;) {
    const auto left = inspect_once(view, options);
    const bool away = !left.ok() && left.error().code() == ErrorCode::unavailable;
    if (!left.ok() && !away) {
      return left.error();
    }
    if (left.ok() && left.value().has_value()) {
      return *left.value();
    }
    if (interrupt.came()) {
      return Left::interrupted;
    }
    if (worker.ended()) {
      return Left::stopped;
    }
    const Result<void> waited = away ? Result<void>() : view.wait();
    if (away || (!waited.ok() && waited.error().code() == ErrorCode::unavailable)) {
      std::this_thread::sleep_for(milliseconds(500));
    } else {
      HOLDFAST_CHECK(waited);
    }
  }
}

Result<RunId> start_it(Engine& engine, const RunFile& file, bool& existed) {
  HOLDFAST_TRY(const StartedRun started,
               engine.start(file.start.workflow, file.start.input, file.start.options));
  existed = started.existed;
  return parse_run_id(started.run_id);
}

Result<void> run_here(const RunFileOptions& options, const RunFile& file, const NamedStore& store,
                      Context& context) {
  HOLDFAST_TRY(const std::size_t threads, threads_of(options.threads));
  HOLDFAST_TRY(Engine engine, open_engine(store, {}));
  HOLDFAST_CHECK(register_all(engine, file.definitions));
  bool existed = false;
  HOLDFAST_TRY(const RunId run, start_it(engine, file, existed));
  HOLDFAST_TRY(StoreReader reader, StoreReader::open(store, context));
  HOLDFAST_TRY(const Position before, before_run(reader.journal(), run));
  const std::set<std::string> handlers = needed_handlers(file.definitions);
  const Style style = style_of(store.suffix);
  RunWatch view(reader, run, before, context, style, options.quiet || context.json());
  Interrupt interrupt([&] {
    view.interrupt();
    if (!context.json()) {
      fmt::print(stderr, "\nstopping after what is under way; Ctrl-C again leaves at once\n");
    }
  });
  view.announce(existed);
  if (existed) {
    HOLDFAST_TRY(const JsonText snapshot, reader.inspector().snapshot(run));
    warn(other_definition_text(snapshot.view(), *file.definitions.front()));
  }
  MissingHandlers(shown_url(store.url)).report(handlers);
  Result<Left> left = Left::stopped;
  {
    Worker worker;
    HOLDFAST_CHECK(worker.start(engine, threads, interrupt.token(), [&] { view.interrupt(); }));
    left = watch(view, options, interrupt, worker);
    interrupt.stop();
    const Result<void> worked = worker.wait();
    HOLDFAST_CHECK(left.ok() ? worked : Result<void>());
  }
  HOLDFAST_TRY(const Left why_left, std::move(left));
  HOLDFAST_CHECK(view.finish());
  HOLDFAST_TRY(const RunView seen, engine.inspect(to_string(run)));
  report_outcome(why_left, seen,
                 {style, "it goes on with: holdfast work" + store.suffix +
                             (handlers.empty() ? "" : ", and a program that has its handlers")},
                 context);
  return {};
}

}  // namespace

Result<void> run_command(const RunFileOptions& options, Context& context) {
  RunFile file;
  HOLDFAST_TRY(file.start.input, json_argument("input", options.input));
  std::vector<std::string> files{options.file};
  files.insert(files.end(), options.with.begin(), options.with.end());
  HOLDFAST_TRY(file.definitions, load_files(files));
  HOLDFAST_CHECK(threads_of(options.threads));
  HOLDFAST_CHECK(check_start(*file.definitions.front(), options.id, options.trigger));
  file.start.workflow = file.definitions.front()->workflow().str();
  file.start.options.run_id = options.id;
  file.start.options.idempotency_key = options.key;
  file.start.options.trigger = options.trigger;
  file.start.options.actor = options.actor;
  HOLDFAST_TRY(const BackendName backend, resolve_backend(options.backend));
  if (const auto* const server = std::get_if<NamedServer>(&backend)) {
    return run_on_server(options, file, *server, context);
  }
  return run_here(options, file, std::get<NamedStore>(backend), context);
}

namespace {

// When there may be something to do that is worth waiting for.
class Outlook {
 public:
  explicit Outlook(StoreReader& reader) : reader_(reader) {}

  // Timers and retries that are due soon; and claims of workers that may be gone: each is given the
  // time of its lease once, whoever extends it is alive.
  Result<std::optional<milliseconds>> inspect() {
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
  std::map<std::string, TimeMs> leases_;  // as they were when they were first seen
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
    HOLDFAST_TRY(const auto soon, outlook.inspect());
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

// A worker may be started before its database.
Result<Engine> open_engine_when_there(const NamedStore& store, const EngineOptions& options) {
  constexpr milliseconds kPause{1000};
  for (bool told = false;; told = true) {
    auto engine = open_engine(store, options);
    if (engine.ok() || engine.error().code() != ErrorCode::unavailable) {
      return engine;
    }
    if (!told) {
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

Result<void> work_here(const WorkOptions& options, const Loaded& definitions,
                       const NamedStore& store, Context& context) {
  HOLDFAST_TRY(const std::size_t threads, threads_of(options.threads));
  EngineOptions engine_options;
  engine_options.create = !definitions.empty();
  engine_options.queues = options.queues;
  HOLDFAST_TRY(Engine engine, options.drain ? open_engine(store, engine_options)
                                            : open_engine_when_there(store, engine_options));
  HOLDFAST_TRY(StoreReader reader, StoreReader::open(store, context));
  MissingHandlers missing(shown_url(store.url), options.quiet);
  WorkWatch view(reader, context, missing, options.quiet || context.json());
  HOLDFAST_CHECK(view.begin());
  HOLDFAST_CHECK(register_all(engine, definitions));
  missing.report(needed_handlers(definitions));
  Interrupt interrupt([&] { view.interrupt(); });
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
    if (!options.quiet && !context.json()) {
      fmt::print(stderr, "working on {}; Ctrl-C ends\n", shown_url(store.url));
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
    json.begin_object().member("steps", steps).member("live_runs", stats.live_runs);
    json.end_object();
    print_json(context, std::move(json));
  } else if (!options.quiet) {
    print_line(context, fmt::format("{} carried out; {} not ended", counted(steps, "step", "steps"),
                                    counted(stats.live_runs, "run has", "runs have")));
  }
  return {};
}

}  // namespace

Result<void> run_command(const WorkOptions& options, Context& context) {
  HOLDFAST_TRY(const BackendName backend, resolve_backend(options.backend));
  HOLDFAST_TRY(const Loaded definitions, load_files(options.with));
  HOLDFAST_CHECK(threads_of(options.threads));
  if (const auto* const server = std::get_if<NamedServer>(&backend)) {
    return work_for_server(options, definitions, *server, context);
  }
  return work_here(options, definitions, std::get<NamedStore>(backend), context);
}

}  // namespace holdfast
