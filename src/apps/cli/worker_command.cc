// holdfast worker: steps of a server, carried out here.
#include <fmt/format.h>

#include <atomic>
#include <cstdlib>
#include <mutex>

#include "apps/cli/arguments.h"
#include "apps/cli/backend.h"
#include "apps/cli/cli_commands.h"
#include "apps/cli/interrupt.h"
#include "apps/cli/worker_options.h"
#include "apps/client/client_session.h"
#include "apps/client/handlers_file.h"
#include "runs/steps/credentials.h"
#include "runs/view/view_words.h"

namespace holdfast {

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
               "a worker needs a server: --server URL, or HOLDFAST_SERVER; "
               "`holdfast work` works on a store"}
      .with("field", "server");
}

// What happens, for people on stderr, and in numbers.
class WorkLog {
 public:
  explicit WorkLog(bool quiet) : quiet_(quiet) {}

  void note(const WorkEvent& event) {
    switch (event.kind) {
      case WorkEvent::Kind::step_reported:
        note_step(event);
        return;
      case WorkEvent::Kind::step_lost:
        ++lost;
        say(fmt::format("{} of run {}: its claim was lost, the result did not count: {}",
                        event.step.step, event.step.run_id, event.message));
        return;
      case WorkEvent::Kind::unreachable:
        say("the server cannot be reached, trying on: " + event.message);
        return;
      case WorkEvent::Kind::reachable:
        say("the server can be reached again");
        return;
      case WorkEvent::Kind::draining:
        say("the server is about to stop; what is under way is still reported");
        return;
    }
  }

  void say(std::string_view line) {
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
      say(fmt::format("{} of run {} failed, attempt {}: {}", event.step.step, event.step.run_id,
                      event.step.attempt, event.message));
    }
  }

  bool quiet_;
  std::mutex mutex_;
};

ClientOptions client_options(const WorkerOptions& options, const NamedServer& server,
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

Result<void> add_handlers(client::Session& session, const client::HandlerSpecs& specs) {
  for (const auto& [name, spec] : specs) {
    const auto* exec = std::get_if<ExecSpec>(&spec);
    HOLDFAST_CHECK(session.add_handler(
        name, exec != nullptr
                  ? client::handler_of(*exec)
                  : client::handler_of(std::get<HttpSpec>(spec), environment_credential)));
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
    print_line(context, fmt::format("{} carried out, {} of them failed; {} lost",
                                    counted(log.done + log.failed, "step"), log.failed.load(),
                                    log.lost.load()));
  }
}

}  // namespace

Result<void> run_command(const WorkerOptions& options, Context& context) {
  if (options.threads == 0U) {
    return Error{ErrorCode::invalid_argument, "--threads needs a number of at least 1, not 0"}.with(
        "field", "threads");
  }
  HOLDFAST_TRY(const NamedServer server, server_of(options.backend));
  HOLDFAST_TRY(const client::HandlerSpecs specs, handlers_of(options.handlers));
  if (specs.empty() && options.only_handlers) {
    return Error{ErrorCode::invalid_argument, "--only-handlers needs --handlers FILE"}.with(
        "field", "handlers");
  }
  const bool quiet = options.quiet || context.json();
  WorkLog log(quiet);
  client::Session session(client_options(options, server, log));
  HOLDFAST_CHECK(session.open(server.url));
  HOLDFAST_CHECK(add_handlers(session, specs));
  Interrupt interrupt(
      [&log] { log.say("stopping after what is under way; Ctrl-C again leaves at once"); });
  log.say(fmt::format("working for {}; Ctrl-C ends", server.url));
  HOLDFAST_CHECK(session.work(static_cast<std::size_t>(options.threads.value_or(kDefaultThreads)),
                              interrupt.token()));
  print_counts(log, options.quiet, context);
  return {};
}

}  // namespace holdfast
