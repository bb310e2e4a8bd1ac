#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <optional>
#include <thread>

#include "apps/cli/argument_values.h"
#include "apps/cli/command.h"
#include "apps/cli/interrupt.h"
#include "apps/cli/missing_handlers.h"
#include "apps/cli/run_outcome.h"
#include "apps/cli/run_watch.h"
#include "apps/cli/server_run.h"
#include "base/threads.h"

namespace holdfast::cli {

namespace {

using std::chrono::milliseconds;

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

// Reads and shows the run once; returns why to stop following it, if there is a reason.
Result<std::optional<FollowEnd>> follow_once(RunWatch& view, const RunOptions& options) {
  HOLDFAST_CHECK(view.catch_up());
  if (view.run().is_terminal()) {
    return std::optional(FollowEnd::ended);
  }
  HOLDFAST_TRY(const Explanation why, view.explain());
  view.draw(why);
  if (options.until_blocked && waits_for_others(why.causes, why.now)) {
    return std::optional(FollowEnd::blocked);
  }
  return std::optional<FollowEnd>();
}

// Follows the run until there is a reason to stop. Waits for an unavailable store, as the engine
// does.
Result<FollowEnd> watch(RunWatch& view, const RunOptions& options, const Interrupt& interrupt,
                        const Worker& worker) {
  for (;;) {
    const auto end = follow_once(view, options);
    const bool unavailable = !end.ok() && end.error().code() == ErrorCode::unavailable;
    if (!end.ok() && !unavailable) {
      return end.error();
    }
    if (end.ok() && end.value().has_value()) {
      return *end.value();
    }
    if (interrupt.came()) {
      return FollowEnd::interrupted;
    }
    if (worker.ended()) {
      return FollowEnd::stopped;
    }
    const Result<void> waited = unavailable ? Result<void>() : view.wait();
    if (unavailable || (!waited.ok() && waited.error().code() == ErrorCode::unavailable)) {
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

Result<void> run_here(const RunFile& file, const RunOptions& options, const NamedStore& store,
                      Context& context) {
  HOLDFAST_TRY(Engine engine, open_engine(store, {}));
  HOLDFAST_CHECK(register_all(engine, file.definitions));
  bool existed = false;
  HOLDFAST_TRY(const RunId run, start_it(engine, file, existed));
  HOLDFAST_TRY(StoreReader reader, StoreReader::open(store, context));
  HOLDFAST_TRY(const Position before, before_run(reader.journal(), run));
  const std::set<std::string> handlers = needed_handlers(file.definitions);
  const Style style = style_of(store.suffix);
  RunWatch view(reader, run, before, context, style, options.quiet || context.json());
  Interrupt interrupt([&] { view.interrupt(); });
  view.announce(existed);
  if (existed) {
    HOLDFAST_TRY(const JsonText snapshot, reader.inspector().snapshot(run));
    warn(other_definition_warning(snapshot.view(), *file.definitions.front()));
  }
  MissingHandlers(shown_url(store.url)).report(handlers);
  Result<FollowEnd> end = FollowEnd::stopped;
  {
    Worker worker;
    HOLDFAST_CHECK(
        worker.start(engine, options.threads, interrupt.token(), [&] { view.interrupt(); }));
    end = watch(view, options, interrupt, worker);
    // Here and not at the signal, so that the picture is not drawn over it.
    if (end.ok() && end.value() == FollowEnd::interrupted && !context.json()) {
      fmt::print(stderr, "\nstopping after the steps in progress; Ctrl-C again exits at once\n");
    }
    interrupt.stop();
    const Result<void> worked = worker.wait();
    HOLDFAST_CHECK(end.ok() ? worked : Result<void>());
  }
  HOLDFAST_TRY(const FollowEnd reason, std::move(end));
  HOLDFAST_CHECK(view.finish());
  HOLDFAST_TRY(const RunView seen, engine.inspect(to_string(run)));
  report_outcome(reason, seen,
                 {style, "continue it with: holdfast work" + store.suffix +
                             (handlers.empty() ? "" : ", and a program with its handlers")},
                 context);
  return {};
}

struct RunFileCommand {
  BackendOptions backend = {};
  std::string file = {};
  std::vector<std::string> with = {};
  StartRun request = {};
  std::optional<std::uint64_t> threads = {};
  RunOptions options = {};

  void declare(Arguments& arguments) {
    StartOptions& start = request.options;
    add_backend(arguments, backend);
    arguments.required("FILE", file, "the workflow file");
    add_start_options(arguments,
                      {start.run_id, start.idempotency_key, start.trigger, request.input});
    add_actor(arguments, start.actor);
    arguments.option("--with", "FILE", with,
                     "Also register this workflow, for example of a child run; may be given "
                     "several times");
    add_threads(arguments, threads);
    arguments.flag("--until-blocked", options.until_blocked,
                   "Stop when the run waits for a decision, an event, a time more than 5 s away "
                   "or another worker");
    arguments.flag("--quiet", options.quiet, "Print only the result, no progress");
  }

  Result<void> run(Context& context) const {
    RunFile run_file;
    run_file.start = request;
    HOLDFAST_TRY(run_file.start.input, json_argument("input", request.input));
    std::vector<std::string> files{file};
    files.insert(files.end(), with.begin(), with.end());
    HOLDFAST_TRY(run_file.definitions, load_workflow_files(files));
    RunOptions checked = options;
    HOLDFAST_TRY(checked.threads, worker_threads(threads));
    const Definition& definition = *run_file.definitions.front();
    HOLDFAST_CHECK(check_start(definition, request.options.run_id, request.options.trigger));
    run_file.start.workflow = definition.workflow().str();
    HOLDFAST_TRY(const BackendName named, resolve_backend(backend));
    if (const auto* const store = std::get_if<NamedStore>(&named)) {
      return run_here(run_file, checked, *store, context);
    }
    if (threads.has_value()) {
      return Error{ErrorCode::invalid_argument,
                   "--threads cannot be combined with a server: its workers execute the steps"}
          .with("field", "threads");
    }
    return run_on_server(run_file, checked, std::get<NamedServer>(named), context);
  }
};

}  // namespace

extern const Command kRunCommand = make_command<RunFileCommand>(
    "run", "Start a run of a workflow file and execute it here, with live progress.",
    R"(The store (created if it does not exist) holds the run, so the run survives this program:
after Ctrl-C, a crash or a reboot, `holdfast work` continues it. Completed steps are never
executed again.

This command executes exec, http, log, wait, pause, approval, await_event and child steps. Every
other step needs a handler and waits for a program that has registered it on the same store; the
command reports at once which handlers those are. Approvals and events come from another
terminal; the command to copy is shown.

With --server, the server starts the run, its workers execute it, and this command follows it.

Examples:
  holdfast run order.yaml --input '{"total":12}'
  holdfast run order.yaml --input @order.json --key order-42   at most one run for this key
  holdfast run parent.yaml --with child.yaml
  holdfast run order.yaml --until-blocked                      exit code 6 when the run waits

Exit codes: 0 completed; 1 failed or cancelled; 6 the run waits (--until-blocked); 130
interrupted by Ctrl-C; others as listed in `holdfast --help`.)");

}  // namespace holdfast::cli
