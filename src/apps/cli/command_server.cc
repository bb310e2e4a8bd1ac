#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <optional>

#include "apps/bridges/broker_lease_backend.h"
#include "apps/cli/broker_serving.h"
#include "apps/cli/cli_store.h"
#include "apps/cli/command.h"
#include "apps/cli/interrupt.h"
#include "apps/cli/option_groups.h"
#include "apps/cli/stop_event.h"
#include "apps/server/server.h"

namespace holdfast::cli {

namespace {

using std::chrono::seconds;

constexpr const char* kDefaultListen = "127.0.0.1:7717";

struct ServeOptions {
  std::string store = {};
  std::vector<std::string> listen = {};  // HOST:PORT
  std::string socket = {};               // path of a unix socket; empty: none
  std::string tls_cert = {};             // PEM files, both or none
  std::string tls_key = {};
  std::uint64_t work = 0;
  std::vector<std::string> backends = {};  // QUEUE=URL
  std::string broker = {};                 // the store of a message broker; empty: none
  BrokerServing broker_serving = {};
  std::string log = "text";
  std::string log_level = "info";
  std::uint64_t grace_s = 30;
  std::uint64_t rate = 0;
  std::uint64_t max_auth_failures = 60;
  // Not given: the default of the HTTP server.
  std::optional<std::uint64_t> max_body_bytes = {};
  std::optional<std::uint64_t> max_connections = {};
  std::optional<std::uint64_t> idle_timeout_s = {};
  std::optional<std::uint64_t> request_timeout_s = {};
  std::optional<std::uint64_t> io_threads = {};
};

net::Options http_options(const ServeOptions& options) {
  net::Options http;
  http.listen = options.listen;
  if (!options.socket.empty()) {
    http.listen.push_back("unix:" + options.socket);
  }
  if (http.listen.empty()) {
    http.listen.emplace_back(kDefaultListen);
  }
  http.tls_certificate = options.tls_cert;
  http.tls_key = options.tls_key;
  http.threads = static_cast<std::size_t>(options.io_threads.value_or(http.threads));
  if (options.max_body_bytes.has_value()) {
    http.limits.body_bytes = static_cast<std::size_t>(*options.max_body_bytes);
  }
  if (options.max_connections.has_value()) {
    http.limits.connections = static_cast<std::size_t>(*options.max_connections);
  }
  if (options.idle_timeout_s.has_value()) {
    http.limits.idle = seconds(*options.idle_timeout_s);
  }
  if (options.request_timeout_s.has_value()) {
    http.limits.receive = seconds(*options.request_timeout_s);
  }
  return http;
}

// An error of the store, with the option or variable that names the store.
Error about_store(const Error& error, const NamedStore& store) {
  const std::string from = !store.suffix.empty()                 ? "--store "
                           : getenv("HOLDFAST_STORE") != nullptr ? "HOLDFAST_STORE "
                                                                 : "the store ";
  const bool file = store.url.starts_with("sqlite:") &&
                    (error.code() == ErrorCode::not_found || error.code() == ErrorCode::io_error ||
                     error.code() == ErrorCode::permission_denied);
  // The error itself quotes an invalid URL.
  const Error named =
      Error(error).in(error.code() == ErrorCode::invalid_url ? from : from + shown_url(store.url));
  return file
             ? advised(named,
                       "the directory must exist and be writable for the user that runs the server")
             : named;
}

// The error of a server that could not start, with the option that caused it.
Error about_option(const Error& error, const NamedStore& store) {
  const std::string_view address = error.field("address");
  const std::string_view part = error.field("part");
  if (!error.field("threads").empty()) {
    return error;
  }
  if (address.empty() && part.empty()) {
    return about_store(error, store);
  }
  const char* const option = address.starts_with("unix:") ? "--socket"
                             : !address.empty()           ? "--listen"
                             : part == "key"              ? "--tls-key"
                                                          : "--tls-cert";
  Error named{error.code(), fmt::format("{} {}", option, error.text())};
  for (const auto& [name, value] : error.fields()) {
    static_cast<void>(std::move(named).with(name, value));
  }
  return std::move(named).with(error.what_next());
}

void announce(const Server& server, const ServeOptions& options, ServerLog& log, Context& context) {
  const bool open = !server.has_tokens();
  for (const std::string& url : server.urls()) {
    log.write(LogLevel::info, "listening", {{"url", url}});
    if (context.json()) {
      JsonWriter json;
      json.begin_object().member("url", url).end_object();
      print_json(context, std::move(json));
    }
  }
  context.out.flush();
  if (open) {
    log.write(
        LogLevel::warning,
        "authentication is off: the store has no tokens, so local requests have full access and "
        "others are rejected; `holdfast token create` creates the first");
  }
  for (const std::string& url : server.urls()) {
    const bool plain = url.starts_with("http://") && !url.starts_with("http://127.") &&
                       !url.starts_with("http://[::1]");
    if (plain && options.tls_cert.empty()) {
      log.write(
          LogLevel::warning,
          "tokens are sent to this address as plain text: use --tls-cert and --tls-key, or a TLS "
          "proxy",
          {{"url", url}});
    }
  }
}

// A message broker in the same process, with a listener and a store of its own.
Result<std::unique_ptr<delivery::BrokerServer>> start_broker(const ServeOptions& options,
                                                             ServerLog& logger, Context& context) {
  HOLDFAST_TRY(const delivery::BrokerHostOptions host,
               options.broker_serving.host_options(options.broker));
  net::Options http;
  http.listen = options.broker_serving.addresses();
  http.tls_certificate = options.tls_cert;
  http.tls_key = options.tls_key;
  auto started = delivery::BrokerServer::start(host, http, context.clock, context.random, logger);
  if (!started.ok()) {
    return Error(started.error()).in("--broker");
  }
  logger.write(LogLevel::info, "broker started", {{"store", shown_url(options.broker)}});
  return started;
}

// reports=redis://127.0.0.1
Result<std::vector<QueueBinding>> bindings_of(const std::vector<std::string>& given) {
  std::vector<QueueBinding> bindings;
  for (const std::string& one : given) {
    const std::size_t equals = one.find('=');
    if (equals == std::string::npos) {
      return Error{ErrorCode::invalid_argument,
                   "--backend needs QUEUE=URL, for example reports=redis://127.0.0.1:6379"}
          .with("field", "backend");
    }
    auto open = bridges::open_any_lease_backend(std::string_view(one).substr(equals + 1));
    if (!open.ok()) {
      return Error(open.error()).in("--backend");
    }
    bindings.push_back({one.substr(0, equals), std::move(open).value()});
  }
  HOLDFAST_CHECK(bound_queues(bindings));
  return bindings;
}

struct ServerCommand : ServeOptions {
  void declare(Arguments& arguments) {
    add_store_option(arguments, store);
    arguments.option("--listen", "HOST:PORT", listen,
                     "Address to listen on; may be given several times (default: 127.0.0.1:7717)");
    arguments.option("--socket", "PATH", socket,
                     "Also listen on a unix socket that only its owner may use");
    arguments.option("--tls-cert", "FILE", tls_cert, "Certificate chain, PEM");
    arguments.option("--tls-key", "FILE", tls_key, "Key of the certificate, PEM");
    arguments.need("--tls-cert", "--tls-key");
    arguments.need("--tls-key", "--tls-cert");
    arguments.option("--log", "FORMAT", log, "Format of the log on standard error (default: text)");
    arguments.restrict_to("--log", {"text", "json"});
    arguments.option("--log-level", "LEVEL", log_level, "Least level to log (default: info)");
    arguments.restrict_to("--log-level", {"debug", "info", "warning", "error"});
    arguments.option("--work", "N", work,
                     "Threads that execute http and exec steps in this process (default: 0)");
    arguments.option("--backend", "QUEUE=URL", backends,
                     "Workers of this lease backend execute the steps of the queue; may be given "
                     "several times");
    arguments.option("--broker", "STORE", broker,
                     "Also serve a message broker on this store, as `holdfast broker serve` does");
    broker_serving.declare(arguments, "--broker-");
    for (const char* const name :
         {"--broker-limiter", "--broker-single", "--broker-listen", "--broker-admin-token-file"}) {
      arguments.need(name, "--broker");
    }
    arguments.option("--grace", "SECONDS", grace_s,
                     "Time for requests in flight to finish at shutdown (default: 30)");
    arguments.option("--rate", "N", rate, "Requests per second and token (default: 0, no limit)");
    arguments.option("--max-auth-failures", "N", max_auth_failures,
                     "Failed authentications per minute and address (default: 60; 0: no limit)");
    const net::Options defaults;
    arguments.option("--max-body", "BYTES", max_body_bytes,
                     fmt::format("Largest request body (default: {})", defaults.limits.body_bytes));
    arguments.option(
        "--max-connections", "N", max_connections,
        fmt::format("Most connections at once (default: {})", defaults.limits.connections));
    arguments.option(
        "--idle-timeout", "SECONDS", idle_timeout_s,
        fmt::format("Time until an idle connection is closed (default: {})",
                    std::chrono::duration_cast<seconds>(defaults.limits.idle).count()));
    arguments.option(
        "--request-timeout", "SECONDS", request_timeout_s,
        fmt::format("Time for a whole request to arrive (default: {})",
                    std::chrono::duration_cast<seconds>(defaults.limits.receive).count()));
    arguments.option("--io-threads", "N", io_threads,
                     fmt::format("Threads for all connections (default: {})", defaults.threads));
  }

  Result<void> run(Context& context) const {
    const NamedStore named = store_of(store);
    const auto level = enum_from<LogLevel>(log_level);
    HOLDFAST_ASSERT(level.has_value());  // the option takes no other word
    ServerLog logger(context.clock, *level, log == "json" ? LogForm::json : LogForm::text,
                     write_log_line);
    ServerOptions server_options;
    server_options.store = named.url;
    server_options.shown_store = shown_url(named.url);
    server_options.http = http_options(*this);
    server_options.max_rate = rate;
    server_options.max_auth_failures = max_auth_failures;
    server_options.worker_threads = static_cast<std::size_t>(work);
    server_options.version = HOLDFAST_VERSION;
    HOLDFAST_TRY(server_options.backends, bindings_of(backends));
    StopEvent end;
    server_options.failed = [&](const Error& why) { end.set(why); };
    auto started = Server::start(server_options, context.clock, context.random, logger);
    if (!started.ok()) {
      return about_option(started.error(), named);
    }
    const std::unique_ptr<Server> server = std::move(started).value();
    logger.write(LogLevel::info, "started",
                 {{"store", server_options.shown_store}, {"version", server_options.version}});
    std::unique_ptr<delivery::BrokerServer> message_broker;
    if (!broker.empty()) {
      HOLDFAST_TRY(message_broker, start_broker(*this, logger, context));
    }
    // Before the server is announced: the reader of the announcement may stop it at once.
    Interrupt interrupt([&] { end.set(); });
    announce(*server, *this, logger, context);
    if (message_broker != nullptr) {
      announce_broker(*message_broker, "broker_url", logger, context);
    }
    const std::optional<Error> failure = end.wait();
    if (failure.has_value()) {
      logger.write(LogLevel::error, "stopped because the store failed", {{"why", failure->text()}});
      server->stop(seconds(grace_s));  // requests in flight get the reason
      return *failure;
    }
    logger.write(LogLevel::info, "stopping", {{"grace_s", std::to_string(grace_s)}});
    const auto stop_by = std::chrono::steady_clock::now() + seconds(grace_s);
    const bool broker_in_time = message_broker == nullptr || message_broker->stop(seconds(grace_s));
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        stop_by - std::chrono::steady_clock::now());
    const bool in_time =
        server->stop(std::max(left, std::chrono::milliseconds(0))) && broker_in_time;
    logger.write(in_time ? LogLevel::info : LogLevel::warning,
                 in_time ? "stopped" : "stopped; some requests did not finish in time");
    return {};
  }
};

}  // namespace

extern const Command kServerCommand = make_command<ServerCommand>(
    "server", "Serve a store over HTTP to programs on this machine and others.",
    R"(Creates the store if it does not exist. The server runs timers, schedules and recovery;
workers execute the steps: `holdfast worker`, programs with a client library, or this process
(--work, for http and exec steps). Several servers may share a PostgreSQL store.

With --backend, an external queue carries the steps of one queue to its workers: `holdfast worker
--backend URL`, or any program that knows the queue. The server's own threads and workers that name
no queue leave these steps alone. A lost backend loses nothing: the store keeps the steps.

With --broker, the process also serves a message broker, on an address and a store of its own.

Authentication is off until the store has a token: until then, requests from this machine have
full access and all others are rejected. `holdfast token create` creates the first token. To
listen to other machines, use --tls-cert and --tls-key, or a TLS proxy.

Ctrl-C or SIGTERM shuts the server down: waiting requests get a response, and requests in flight
have --grace seconds to finish.

Examples:
  holdfast server
  holdfast server --store postgres://me@db.example/work --work 4
  holdfast server --listen 0.0.0.0:7717 --tls-cert server.pem --tls-key server.key
  holdfast server --socket /run/holdfast/socket --log json
  holdfast server --backend reports=redis://127.0.0.1:6379
  holdfast server --broker sqlite:broker.db --broker-admin-token-file admin.token
  curl http://127.0.0.1:7717/readyz

Every command then takes --server http://127.0.0.1:7717, or HOLDFAST_SERVER.)");

}  // namespace holdfast::cli
