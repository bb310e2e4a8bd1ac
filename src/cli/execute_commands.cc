// Commands that carry out work: run and work.
#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <thread>

#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/run_watch.h"
#include "cli/store.h"
#include "cli/terminal.h"
#include "show/show.h"
#include "show/text.h"
#include "view/words.h"
#include "workflow/redact.h"
#include "yaml/check_workflow.h"

namespace holdfast {

namespace {

using std::chrono::milliseconds;

constexpr std::size_t kDefaultThreads = 4;
// A time that comes this soon is waited for by commands that stop when they are idle.
constexpr std::int64_t kSoonMs = 5000;

using Loaded = std::vector<std::shared_ptr<const Definition>>;

Result<std::size_t> threads_of(const std::optional<std::uint64_t>& option) {
  if (option == 0U) {
    return Error{ErrorCode::invalid_argument, "--threads needs a number of at least 1"}.with(
        "field", "threads");
  }
  return static_cast<std::size_t>(option.value_or(kDefaultThreads));
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

// Everything that is outside of this process, or a time that does not come soon.
bool waits_for_others(const std::vector<Cause>& causes, TimeMs now) {
  static const std::set<std::string, std::less<>> kOthers{"approval", "pause", "event",
                                                          "definition", "writer"};
  for (const Cause& cause : causes) {
    const bool later =
        cause.until.has_value() && cause.until->value - now.value > kSoonMs &&
        (cause.waits_for == "timer" || cause.waits_for == "retry" || cause.waits_for == "deferral");
    const bool no_handler = (cause.waits_for == "worker" || cause.waits_for == "lease") &&
                            !cause.next_actions.empty() &&
                            cause.next_actions.front().command.empty();
    const bool inside = !cause.causes.empty() && waits_for_others(cause.causes, now);
    const bool due = cause.until.has_value() && *cause.until <= now;  // of an event wait
    if (!(later || no_handler || inside || (kOthers.contains(cause.waits_for) && !due))) {
      return false;
    }
  }
  return true;
}

// A worker of the engine in a thread of its own.
class Worker {
 public:
  Worker(Engine& engine, std::size_t threads, std::stop_token stop, std::function<void()> ended)
      : thread_([this, &engine, threads, stop = std::move(stop), ended = std::move(ended)] {
          result_ = engine.work(threads, stop);
          ended_ = true;
          ended();
        }) {}
  ~Worker() {
    if (thread_.joinable()) {
      thread_.join();
    }
  }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  [[nodiscard]] bool ended() const { return ended_; }
  Result<void> wait() {
    thread_.join();
    return result_;
  }

 private:
  Result<void> result_;
  std::atomic<bool> ended_ = false;
  std::thread thread_;
};

enum class Left : std::uint8_t { ended, blocked, interrupted, stopped };

int exit_code_of(Left left, const RunProjection& run) {
  switch (left) {
    case Left::ended:
      return run.terminal()->status == TerminalStatus::completed ||
                     run.terminal()->status == TerminalStatus::continued
                 ? 0
                 : kExitBadAnswer;
    case Left::blocked:
      return kExitWaits;
    case Left::interrupted:
      return kExitInterrupted;
    case Left::stopped:
      break;
  }
  return 0;
}

void print_outcome(Left left, const RunView& view, const NamedStore& store, Context& context) {
  if (context.json()) {
    context.out << view.json << '\n';
    return;
  }
  const Style style = style_of(store);
  const std::int64_t end = view.terminal ? view.ended_at_ms : context.clock.now().value;
  print_line(context, fmt::format("run {} {} after {}", view.run_id,
                                  style.paint(ink_of_status(view.status), view.status),
                                  duration_text(end - view.started_at_ms)));
  if (!view.result.empty()) {
    const Payload shown = redact(Payload::trusted(view.result));
    const std::size_t room = is_terminal(STDOUT_FILENO) ? 4 * style.width : shown.view().size();
    print_line(context, shown.view().size() <= room
                            ? fmt::format("result: {}", shown.view())
                            : fmt::format("result: {}\nall of it: holdfast show {} --json{}",
                                          one_line(shown.view(), room), view.run_id, store.suffix));
  }
  if (!view.error.empty()) {
    print_line(context, "error: " + error_text(Payload::trusted(view.error)));
    print_line(context,
               fmt::format("see what happened: holdfast timeline {}{}", view.run_id, store.suffix));
  }
  if (left == Left::interrupted || left == Left::blocked) {
    print_line(context,
               fmt::format("nothing is lost; it goes on with: holdfast work{}", store.suffix));
    print_line(context, fmt::format("why it is where it is: holdfast explain {}{}", view.run_id,
                                    store.suffix));
  }
}

// Follows the run until it has ended, or there is a reason to leave it.
Result<Left> watch(RunWatch& view, const RunFileOptions& options, const Interrupt& interrupt,
                   const Worker& worker) {
  for (;;) {
    HOLDFAST_CHECK(view.catch_up());
    if (view.run().is_terminal()) {
      return Left::ended;
    }
    if (interrupt.came()) {
      return Left::interrupted;
    }
    if (worker.ended()) {
      return Left::stopped;
    }
    HOLDFAST_TRY(const Explanation why, view.explain());
    view.draw(why);
    if (options.until_blocked && waits_for_others(why.causes, why.now)) {
      return Left::blocked;
    }
    HOLDFAST_CHECK(view.wait());
  }
}

Result<RunId> start_it(Engine& engine, const RunFileOptions& options, const std::string& input,
                       std::string_view workflow, bool& existed) {
  StartOptions start;
  start.run_id = options.id;
  start.idempotency_key = options.key;
  start.trigger = options.trigger;
  start.actor = options.actor;
  HOLDFAST_TRY(const StartedRun started, engine.start(workflow, input, start));
  existed = started.existed;
  return parse_run_id(started.run_id);
}

}  // namespace

Result<void> run_command(const RunFileOptions& options, Context& context) {
  const NamedStore store = store_of(options.store);
  HOLDFAST_TRY(const std::string input, json_argument("input", options.input));
  std::vector<std::string> files{options.file};
  files.insert(files.end(), options.with.begin(), options.with.end());
  HOLDFAST_TRY(const Loaded definitions, load_files(files));
  HOLDFAST_TRY(const std::size_t threads, threads_of(options.threads));
  HOLDFAST_CHECK(check_start(*definitions.front(), options.id, options.trigger));
  HOLDFAST_TRY(Engine engine, open_engine(store, {}));
  HOLDFAST_CHECK(register_all(engine, definitions));
  bool existed = false;
  HOLDFAST_TRY(const RunId run,
               start_it(engine, options, input, definitions.front()->workflow().view(), existed));
  HOLDFAST_TRY(Looker looker, Looker::open(store, context));
  HOLDFAST_TRY(const Position before, before_run(looker.journal(), run));
  RunWatch view(looker, run, before, context, style_of(store), options.quiet || context.json());
  view.announce(existed);
  Interrupt interrupt([&] {
    view.interrupt();
    if (!context.json()) {
      fmt::print(stderr, "\nstopping after what is under way; Ctrl-C again leaves at once\n");
    }
  });
  Result<Left> left = Left::stopped;
  {
    Worker worker(engine, threads, interrupt.token(), [&] { view.interrupt(); });
    left = watch(view, options, interrupt, worker);
    interrupt.stop();
    const Result<void> worked = worker.wait();
    HOLDFAST_CHECK(left.ok() ? worked : Result<void>());
  }
  HOLDFAST_TRY(const Left why_left, std::move(left));
  HOLDFAST_CHECK(view.finish());
  HOLDFAST_TRY(const RunView seen, engine.inspect(to_string(run)));
  print_outcome(seen.terminal ? Left::ended : why_left, seen, store, context);
  context.exit_code = exit_code_of(view.run().is_terminal() ? Left::ended : why_left, view.run());
  return {};
}

namespace {

// When there may be something to do that is worth waiting for.
class Outlook {
 public:
  explicit Outlook(Looker& looker) : looker_(looker) {}

  // Timers and retries that are due soon; and claims of workers that may be gone: each is given the
  // time of its lease once, whoever extends it is alive.
  Result<std::optional<milliseconds>> look() {
    HOLDFAST_TRY(const StoreStatus status, looker_.inspector().status());
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
  Looker& looker_;
  std::map<std::string, TimeMs> leases_;  // as they were when they were first seen
};

Result<std::uint64_t> drain_all(Engine& engine, Looker& looker, std::size_t threads,
                                const Interrupt& interrupt) {
  constexpr milliseconds kMargin{20};
  constexpr milliseconds kLongestWait{1000};
  std::uint64_t steps = 0;
  Outlook outlook(looker);
  DrainOptions drain;
  drain.threads = threads;
  while (!interrupt.came()) {
    HOLDFAST_TRY(const std::uint64_t done, engine.drain(drain));
    steps += done;
    HOLDFAST_TRY(const auto soon, outlook.look());
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

}  // namespace

Result<void> run_command(const WorkOptions& options, Context& context) {
  const NamedStore store = store_of(options.store);
  HOLDFAST_TRY(const Loaded definitions, load_files(options.with));
  HOLDFAST_TRY(const std::size_t threads, threads_of(options.threads));
  EngineOptions engine_options;
  engine_options.create = !definitions.empty();
  engine_options.queues = options.queues;
  HOLDFAST_TRY(Engine engine, open_engine(store, engine_options));
  HOLDFAST_TRY(Looker looker, Looker::open(store, context));
  WorkWatch view(looker, context, style_of(store), options.quiet || context.json());
  HOLDFAST_CHECK(view.begin());
  HOLDFAST_CHECK(register_all(engine, definitions));
  Interrupt interrupt([&] { view.interrupt(); });
  std::thread watcher([&] { view.follow(); });
  Result<void> worked;
  std::uint64_t steps = 0;
  if (options.drain) {
    const auto drained = drain_all(engine, looker, threads, interrupt);
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

}  // namespace holdfast
