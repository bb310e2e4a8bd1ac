// holdfast server: a store as a service, until somebody tells it to stop.
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <optional>

#include "apps/cli/cli_commands.h"
#include "apps/cli/cli_store.h"
#include "apps/cli/interrupt.h"
#include "apps/cli/server_options.h"
#include "apps/server/server.h"

namespace holdfast {

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr const char* kDefaultListen = "127.0.0.1:7717";

void write_line(std::string_view line) {
  while (!line.empty()) {
    const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
    if (written <= 0) {
      return;
    }
    line.remove_prefix(static_cast<std::size_t>(written));
  }
}

template <typename T>
Result<T> word_of(std::string_view option, const std::string& text) {
  const auto known = enum_from<T>(text);
  if (known.has_value()) {
    return *known;
  }
  return Error{ErrorCode::invalid_argument,
               fmt::format("--{} does not know the word {}", option, text)}
      .with("field", option);
}

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

// The error of a store, with the option or variable that names the store.
Error about_store(const Error& error, const NamedStore& store) {
  const std::string from = !store.suffix.empty()                 ? "--store "
                           : getenv("HOLDFAST_STORE") != nullptr ? "HOLDFAST_STORE "
                                                                 : "the store ";
  const bool file = store.url.starts_with("sqlite:") &&
                    (error.code() == ErrorCode::not_found || error.code() == ErrorCode::io_error ||
                     error.code() == ErrorCode::permission_denied);
  // The error itself names what is no URL.
  const Error named =
      Error(error).in(error.code() == ErrorCode::invalid_url ? from : from + shown_url(store.url));
  return file ? advised(named,
                        "the folder must be there and writable for the user the server runs as")
              : named;
}

// Which option a server could not be started with.
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

// What the command waits for: a signal, or the failure of the store.
class End {
 public:
  void come(std::optional<Error> why = std::nullopt) {
    const std::scoped_lock lock(mutex_);
    came_ = true;
    failure_ = std::move(why);
    changed_.notify_all();
  }
  std::optional<Error> wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return came_; });
    return failure_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool came_ = false;
  std::optional<Error> failure_;
};

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
    log.write(LogLevel::warning,
              "the store has no tokens: everybody on this machine may do everything, and nobody "
              "else anything; `holdfast token create` makes the first");
  }
  for (const std::string& url : server.urls()) {
    const bool plain = url.starts_with("http://") && !url.starts_with("http://127.") &&
                       !url.starts_with("http://[::1]");
    if (plain && options.tls_cert.empty()) {
      log.write(LogLevel::warning,
                "tokens go over this address as plain text: give --tls-cert and --tls-key, or put "
                "something that speaks TLS in front",
                {{"url", url}});
    }
  }
}

}  // namespace

Result<void> run_command(const ServeOptions& options, Context& context) {
  const NamedStore store = store_of(options.store);
  HOLDFAST_TRY(const LogLevel level, word_of<LogLevel>("log-level", options.log_level));
  if (options.log != "text" && options.log != "json") {
    return Error{ErrorCode::invalid_argument, "--log is text or json"}.with("field", "log");
  }
  ServerLog log(context.clock, level, options.log == "json" ? LogForm::json : LogForm::text,
                write_line);
  ServerOptions server_options;
  server_options.store = store.url;
  server_options.shown_store = shown_url(store.url);
  server_options.http = http_options(options);
  server_options.max_rate = options.rate;
  server_options.max_auth_failures = options.max_auth_failures;
  server_options.worker_threads = static_cast<std::size_t>(options.work);
  server_options.version = HOLDFAST_VERSION;
  End end;
  server_options.failed = [&](const Error& why) { end.come(why); };
  auto started = Server::start(server_options, context.clock, context.random, log);
  if (!started.ok()) {
    return about_option(started.error(), store);
  }
  const std::unique_ptr<Server> server = std::move(started).value();
  log.write(LogLevel::info, "started",
            {{"store", server_options.shown_store}, {"version", server_options.version}});
  // Before anything says that the server is there: its reader may stop it at once.
  Interrupt interrupt([&] { end.come(); });
  announce(*server, options, log, context);
  const std::optional<Error> failure = end.wait();
  if (failure.has_value()) {
    log.write(LogLevel::error, "stopped by a failure of the store", {{"why", failure->text()}});
    server->stop(seconds(options.grace_s));  // callers under way are answered with the reason
    return *failure;
  }
  log.write(LogLevel::info, "stopping", {{"grace_s", std::to_string(options.grace_s)}});
  const bool in_time = server->stop(seconds(options.grace_s));
  log.write(in_time ? LogLevel::info : LogLevel::warning,
            in_time ? "stopped" : "stopped; some requests were not answered in time");
  return {};
}

}  // namespace holdfast
