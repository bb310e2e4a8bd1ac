#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <mutex>

#include "apps/bridges/broker_lease_backend.h"
#include "apps/cli/argument_values.h"
#include "apps/cli/command.h"
#include "apps/cli/interrupt.h"
#include "apps/cli/server_worker.h"
#include "apps/client/backend_worker.h"
#include "apps/client/client_session.h"
#include "apps/client/handlers_file.h"
#include "runs/steps/credentials.h"
#include "runs/view/view_words.h"

namespace holdfast::cli {

namespace {

constexpr std::size_t kDefaultThreads = 4;

Result<client::HandlerSpecs> handlers_of(const std::string& file) {
  if (file.empty()) {
    return client::HandlerSpecs();
  }
  HOLDFAST_TRY(const std::string text, read_file_argument(file));
  return client::read_handlers(text, file == "-" ? "standard input" : file);
}

Result<NamedServer> server_of(const BackendOptions& options) {
  HOLDFAST_TRY(const BackendName backend, resolve_backend(options));
  if (const auto* server = std::get_if<NamedServer>(&backend)) {
    return *server;
  }
  return Error{ErrorCode::invalid_argument,
               "a worker needs a server: name one with --server or HOLDFAST_SERVER; "
               "`holdfast work` works on a store"}
      .with("field", "server");
}

// Logs to standard error, and counts.
class WorkLog {
 public:
  // partner: what the worker works for.
  WorkLog(bool quiet, std::string_view partner) : quiet_(quiet), partner_(partner) {}

  void note(const WorkEvent& event) {
    switch (event.kind) {
      case WorkEvent::Kind::step_reported:
        note_step(event);
        return;
      case WorkEvent::Kind::step_lost:
        ++lost;
        log(fmt::format("{} of run {}: the claim was lost and the result rejected: {}",
                        event.step.step, event.step.run_id, event.message));
        return;
      case WorkEvent::Kind::unreachable:
        log(fmt::format("the {} is unreachable, retrying: {}", partner_, event.message));
        return;
      case WorkEvent::Kind::reachable:
        log(fmt::format("the {} is reachable again", partner_));
        return;
      case WorkEvent::Kind::draining:
        log("the server is shutting down; results of steps in progress are still reported");
        return;
    }
  }

  void log(std::string_view line) {
    if (!quiet_) {
      const std::scoped_lock lock(mutex_);
      fmt::print(stderr, "{}\n", harmless(line));
    }
  }

  std::atomic<std::uint64_t> done = 0;
  std::atomic<std::uint64_t> failed = 0;
  std::atomic<std::uint64_t> lost = 0;

 private:
  void note_step(const WorkEvent& event) {
    const bool bad = event.result == StepResult::Kind::fail ||
                     event.result == StepResult::Kind::retry ||
                     event.result == StepResult::Kind::retry_after;
    ++(bad ? failed : done);
    if (bad) {
      log(fmt::format("{} of run {} failed, attempt {}: {}", event.step.step, event.step.run_id,
                      event.step.attempt, event.message));
    }
  }

  bool quiet_;
  std::string_view partner_;
  std::mutex mutex_;
};

ClientOptions client_options(const ServerWorkerOptions& options, const NamedServer& server,
                             WorkLog& log) {
  ClientOptions client;
  client.token = server.token;
  client.tls_ca_file = server.tls_ca;
  client.name = options.name;
  client.version = HOLDFAST_VERSION;
  client.queues = options.queues;
  client.built_in_steps = !options.only_handlers;
  client.credential = environment_credential;
  client.observe = [&log](const WorkEvent& event) { log.note(event); };
  return client;
}

client::AttemptHandler handler_for(const client::HandlerSpec& spec) {
  const auto* exec = std::get_if<ExecSpec>(&spec);
  return exec != nullptr ? client::handler_of(*exec)
                         : client::handler_of(std::get<HttpSpec>(spec), environment_credential);
}

Result<void> add_handlers(client::Session& session, const client::HandlerSpecs& specs) {
  for (const auto& [name, spec] : specs) {
    HOLDFAST_CHECK(session.add_handler(name, handler_for(spec)));
  }
  return {};
}

void print_counts(const WorkLog& log, bool quiet, Context& context) {
  if (context.json()) {
    JsonWriter json;
    json.begin_object().member("steps", log.done + log.failed).member("failed", log.failed.load());
    json.member("lost", log.lost.load()).end_object();
    print_json(context, std::move(json));
  } else if (!quiet) {
    print_line(context, fmt::format("{} executed, {} of them failed; {} lost",
                                    counted(log.done + log.failed, "step"), log.failed.load(),
                                    log.lost.load()));
  }
}

}  // namespace

namespace {

Result<client::HandlerSpecs> checked_handlers(const ServerWorkerOptions& options) {
  if (options.threads == 0U) {
    return Error{ErrorCode::invalid_argument, "--threads needs a number of at least 1, not 0"}.with(
        "field", "threads");
  }
  HOLDFAST_TRY(client::HandlerSpecs specs, handlers_of(options.handlers));
  if (specs.empty() && options.only_handlers) {
    return Error{ErrorCode::invalid_argument, "--only-handlers needs --handlers FILE"}.with(
        "field", "handlers");
  }
  return specs;
}

std::string machine_name() {
  std::array<char, 65> host{};
  const bool known = gethostname(host.data(), host.size() - 1) == 0 && host[0] != '\0';
  return known ? host.data() : "worker";
}

// Executes steps that a lease backend carries. No server is called.
Result<void> work_for_backend(const std::string& url, const ServerWorkerOptions& options,
                              Context& context) {
  if (options.queues.empty()) {
    return Error{ErrorCode::invalid_argument,
                 "--backend needs --queue NAME: the queue that the server has bound to it"}
        .with("field", "queue");
  }
  HOLDFAST_TRY(const OpenLeaseBackend open, bridges::open_any_lease_backend(url));
  HOLDFAST_TRY(const client::HandlerSpecs specs, checked_handlers(options));
  client::AttemptHandlers handlers;
  if (!options.only_handlers) {
    handlers[SharedText(kExecHandler)] = client::exec_handler();
    handlers[SharedText(kHttpHandler)] = client::http_handler(environment_credential);
  }
  for (const auto& [name, spec] : specs) {
    handlers[SharedText(name)] = handler_for(spec);
  }
  WorkLog work_log(options.quiet || context.json(), "backend");
  Interrupt interrupt(
      [&] { work_log.log("stopping after the steps in progress; Ctrl-C again exits at once"); });
  client::BackendWorkPlan plan;
  plan.threads = static_cast<std::size_t>(options.threads.value_or(kDefaultThreads));
  plan.name = options.name.empty() ? machine_name() : options.name;
  plan.queues = options.queues;
  plan.observe = [&work_log](const WorkEvent& event) { work_log.note(event); };
  client::BackendWorker worker(
      open, std::make_shared<const client::AttemptHandlers>(std::move(handlers)), std::move(plan));
  HOLDFAST_TRY(const std::unique_ptr<LeaseBackend> named, open());
  work_log.log(fmt::format("working for {}; Ctrl-C stops", named->name()));
  HOLDFAST_CHECK(worker.run(interrupt.token()));
  print_counts(work_log, options.quiet, context);
  return {};
}

}  // namespace

Result<void> work_for_server(const NamedServer& server, const ServerWorkerOptions& options,
                             Context& context) {
  HOLDFAST_TRY(const client::HandlerSpecs specs, checked_handlers(options));
  WorkLog work_log(options.quiet || context.json(), "server");
  client::Session session(client_options(options, server, work_log));
  Interrupt interrupt(
      [&] { work_log.log("stopping after the steps in progress; Ctrl-C again exits at once"); });
  const Result<void> opened =
      session.open_when_available(server.url, interrupt.token(), [&](const Error& why) {
        work_log.log(fmt::format("waiting for the server {}: {}", server.url, why.text()));
      });
  if (!opened.ok() && interrupt.came()) {
    print_counts(work_log, options.quiet, context);
    return {};
  }
  HOLDFAST_CHECK(opened);
  for (const auto& definition : options.definitions) {
    HOLDFAST_CHECK(session.add_definition(*definition));
  }
  HOLDFAST_CHECK(add_handlers(session, specs));
  work_log.log(fmt::format("working for {}; Ctrl-C stops", server.url));
  HOLDFAST_CHECK(session.work(static_cast<std::size_t>(options.threads.value_or(kDefaultThreads)),
                              interrupt.token()));
  print_counts(work_log, options.quiet, context);
  return {};
}

namespace {

struct WorkerCommand : ServerWorkerOptions {
  BackendOptions backend = {};
  std::string lease_backend = {};  // a URL; empty: a server

  void declare(Arguments& arguments) {
    add_server(arguments, backend);
    arguments.option("--backend", "URL", lease_backend,
                     "Execute the steps that this lease backend carries, without a server");
    arguments.exclude("--backend", "--server");
    arguments.option("--handlers", "FILE", handlers,
                     "File that maps handlers to programs and URLs (default: none)");
    arguments.option("--queue", "NAME", queues,
                     "Only steps of this queue; may be given several times (default: all that the "
                     "token allows)");
    arguments.option("--threads", "N", threads, "Steps to execute at once (default: 4)");
    arguments.option("--name", "NAME", name,
                     "Name of the worker in lists (default: the name of this machine)");
    arguments.flag("--only-handlers", only_handlers,
                   "Do not execute http and exec steps of workflows");
    arguments.flag("--quiet", quiet, "Print nothing");
  }

  Result<void> run(Context& context) const {
    if (!lease_backend.empty()) {
      return work_for_backend(lease_backend, *this, context);
    }
    HOLDFAST_TRY(const NamedServer server, server_of(backend));
    return work_for_server(server, *this, context);
  }
};

}  // namespace

extern const Command kWorkerCommand = make_command<WorkerCommand>(
    "worker", "Execute steps of a server in this process: http, exec, and handlers.",
    R"(Runs until Ctrl-C; then it finishes and reports the steps in progress. Any number of
workers, on one machine or several, share the work. When a worker is lost, other workers execute
its steps after the leases expire. A worker waits for a server that is not available, also when
it starts.

A handlers file maps the handlers of steps to programs and URLs, in the syntax of exec and http
steps:
  handlers:
    charge: {exec: [./charge.sh]}
    notify: {http: {url: "https://shop.example/notify", allowed_hosts: [shop.example]}}

With --backend, the worker takes its steps from an external queue that a server is bound to
(`holdfast server --backend QUEUE=URL`); --queue names the queue.

The credential shop_key of an http step is read from HOLDFAST_CREDENTIAL_SHOP_KEY.

Examples:
  holdfast worker --server http://127.0.0.1:7717
  holdfast worker --handlers handlers.yaml --queue reports --threads 4
  HOLDFAST_TOKEN=hf_… holdfast worker --server https://work.example --only-handlers
  holdfast worker --backend redis://127.0.0.1:6379 --queue reports)");

}  // namespace holdfast::cli
