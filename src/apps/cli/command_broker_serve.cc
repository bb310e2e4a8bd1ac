#include <fmt/format.h>
#include <malloc.h>

#include <chrono>

#include "apps/cli/broker_backend.h"
#include "apps/cli/broker_serving.h"
#include "apps/cli/command.h"
#include "apps/cli/interrupt.h"
#include "apps/cli/stop_event.h"

namespace holdfast::cli {

namespace {

using delivery::BrokerServer;
using std::chrono::seconds;

// What a group of messages used is kept for the next one. The system would take it back and give it
// again, page by page, for each group.
void keep_memory() {
  constexpr int kKept = 16 << 20;
  constexpr int kStep = 1 << 20;
  mallopt(M_TRIM_THRESHOLD, kKept);
  mallopt(M_TOP_PAD, kStep);
}

struct BrokerServeCommand {
  std::string store = {};
  BrokerServing serving = {};
  std::string socket = {};
  std::string tls_cert = {};
  std::string tls_key = {};
  bool withhold_dedupe = false;
  std::uint64_t sweep_every_s = 3600;
  std::string log = "text";
  std::string log_level = "info";
  std::uint64_t grace_s = 30;

  void declare(Arguments& arguments) {
    add_broker_store(arguments, store);
    serving.declare(arguments, "--");
    arguments.option("--socket", "PATH", socket,
                     "Also listen on a unix socket; its owner is an administrator");
    arguments.option("--tls-cert", "FILE", tls_cert, "Certificate chain, PEM");
    arguments.option("--tls-key", "FILE", tls_key, "Key of the certificate, PEM");
    arguments.need("--tls-cert", "--tls-key");
    arguments.need("--tls-key", "--tls-cert");
    arguments.flag("--withhold-dedupe", withhold_dedupe,
                   "Do not offer dedupe: daemons then stop sending, and stored rows stay");
    arguments.option("--sweep-every", "SECONDS", sweep_every_s,
                     "Time between two retention sweeps (default: 3600)");
    arguments.option("--log", "FORMAT", log, "Format of the log on standard error (default: text)");
    arguments.restrict_to("--log", {"text", "json"});
    arguments.option("--log-level", "LEVEL", log_level, "Least level to log (default: info)");
    arguments.restrict_to("--log-level", {"debug", "info", "warning", "error"});
    arguments.option("--grace", "SECONDS", grace_s,
                     "Time for requests in flight to finish at shutdown (default: 30)");
  }

  [[nodiscard]] net::Options http_options() const {
    net::Options http;
    http.listen = serving.listen;
    if (!socket.empty()) {
      http.listen.push_back("unix:" + socket);
    }
    if (http.listen.empty()) {
      http.listen = serving.addresses();
    }
    http.tls_certificate = tls_cert;
    http.tls_key = tls_key;
    return http;
  }

  [[nodiscard]] Result<delivery::BrokerHostOptions> host_options() const {
    if (sweep_every_s == 0) {
      return Error{ErrorCode::invalid_argument, "--sweep-every is at least 1"};
    }
    HOLDFAST_TRY(delivery::BrokerHostOptions options, serving.host_options(broker_store_of(store)));
    options.dedupe = withhold_dedupe ? delivery::DedupeAdvertising::withheld
                                     : delivery::DedupeAdvertising::advertised;
    options.jobs.sweep_every = seconds(sweep_every_s);
    return options;
  }

  Result<void> run(Context& context) const {
    const auto level = enum_from<LogLevel>(log_level);
    HOLDFAST_ASSERT(level.has_value());  // the option takes no other word
    ServerLog logger(context.clock, *level, log == "json" ? LogForm::json : LogForm::text,
                     write_log_line);
    HOLDFAST_TRY(const delivery::BrokerHostOptions options, host_options());
    keep_memory();
    HOLDFAST_TRY(const auto server, BrokerServer::start(options, http_options(), context.clock,
                                                        context.random, logger));
    logger.write(LogLevel::info, "broker started",
                 {{"store", shown_url(options.store)}, {"version", HOLDFAST_VERSION}});
    StopEvent end;
    // Before the broker is announced: the reader of the announcement may stop it at once.
    Interrupt interrupt([&] { end.set(); });
    announce_broker(*server, "url", logger, context);
    static_cast<void>(end.wait());
    logger.write(LogLevel::info, "stopping", {{"grace_s", std::to_string(grace_s)}});
    const bool in_time = server->stop(seconds(grace_s));
    logger.write(in_time ? LogLevel::info : LogLevel::warning,
                 in_time ? "stopped" : "stopped; some requests did not finish in time");
    return {};
  }
};

}  // namespace

extern const Command kBrokerServeCommand = make_command<BrokerServeCommand>(
    "broker serve", "Serve a message broker over HTTP.",
    R"(A broker accepts each message exactly once: a program sends it with an id of its own, and
repeats it with the same id until it gets an answer. Workspaces, members, topics and queues are made
with `holdfast broker workspace|member|topic|queue`, in the store while no broker runs on it, or
through the broker with --broker and the token of the administrator.

Members authenticate with their own token, and act for themselves only. Without
--admin-token-file, only the owner of a unix socket (--socket) can administer a running broker.

A SQLite store has one broker. Several may share a PostgreSQL store; they then need a rate limiter
that they share too, in Redis (--limiter redis://HOST), or --single states that there is one.

Ctrl-C or SIGTERM shuts the broker down: requests in flight have --grace seconds to finish.

Examples:
  holdfast broker serve
  holdfast broker serve --store sqlite:/var/lib/holdfast/broker.db --admin-token-file admin.token
  holdfast broker serve --store postgres://me@db.example/messages --limiter redis://cache.example
  curl http://127.0.0.1:7718/readyz)");

}  // namespace holdfast::cli
