#include "apps/cli/broker_backend.h"

#include <fmt/format.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "apps/broker/broker_host.h"
#include "apps/cli/argument_values.h"
#include "apps/cli/cli_store.h"
#include "apps/client/client_problem.h"
#include "net/http_client.h"

namespace holdfast::cli {

namespace {

constexpr int kFirstRefused = 300;

std::string broker_variable(const char* name) {
  const char* const value = getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

Result<std::string> accepted_body(net::HttpOutcome outcome) {
  if (outcome.status >= kFirstRefused) {
    return client::error_of_response(outcome);
  }
  return std::move(outcome.body);
}

// A store, served to this command alone.
class StoreBroker final : public BrokerBackend {
 public:
  StoreBroker(std::unique_ptr<delivery::BrokerStore> store, Context& context)
      : store_(std::move(store)),
        queues_(*store_, context.clock, context.random),
        service_{.store = *store_,
                 .clock = context.clock,
                 .random = context.random,
                 .metrics = metrics_,
                 .queues = &queues_} {}

  Result<std::string> send(const Call& call) override {
    net::Request request;
    request.method = call.method;
    const std::size_t question = std::min(call.path.find('?'), call.path.size());
    request.path = call.path.substr(0, question);
    request.query = call.path.substr(std::min(question + 1, call.path.size()));
    request.body = call.body;
    request.peer.uid = geteuid();  // who may open the store may administer it
    net::Response response = delivery::respond(service_, request);
    net::HttpOutcome outcome;
    outcome.kind = net::HttpOutcome::Kind::answered;
    outcome.status = response.status;
    outcome.headers.emplace_back("content-type", response.content_type);
    outcome.body = std::move(response.body);
    return accepted_body(std::move(outcome));
  }
  [[nodiscard]] std::string url() const override { return {}; }

 private:
  std::unique_ptr<delivery::BrokerStore> store_;
  delivery::BrokerMetrics metrics_;
  delivery::Queues queues_;
  delivery::BrokerService service_;
};

class RunningBroker final : public BrokerBackend {
 public:
  RunningBroker(std::string url, std::unique_ptr<net::HttpClient> http)
      : url_(std::move(url)), http_(std::move(http)) {}

  Result<std::string> send(const Call& call) override {
    net::HttpCall http;
    http.method = call.method;
    http.target = call.path;
    if (call.method == "POST") {
      http.body = call.body;
      http.content_type = "application/json";
    }
    http.repeatable = call.method == "GET";
    net::HttpOutcome outcome = http_->send(http);
    if (outcome.kind != net::HttpOutcome::Kind::answered) {
      return advised(client::error_without_response(outcome),
                     "`holdfast broker serve` starts a broker; name another with --broker or "
                     "HOLDFAST_BROKER");
    }
    auto body = accepted_body(std::move(outcome));
    if (!body.ok() && body.error().code() == ErrorCode::unauthenticated) {
      return advised(std::move(body).error(),
                     "name the token of the administrator with --token-file or "
                     "HOLDFAST_BROKER_TOKEN");
    }
    return body;
  }
  [[nodiscard]] std::string url() const override { return url_; }

 private:
  std::string url_;
  std::unique_ptr<net::HttpClient> http_;
};

Result<std::unique_ptr<BrokerBackend>> running_broker(const BrokerOptions& options,
                                                      const std::string& url) {
  net::HttpOptions http;
  http.user_agent = "holdfast/" HOLDFAST_VERSION;
  http.tls_ca_file = options.tls_ca.empty() ? broker_variable("HOLDFAST_TLS_CA") : options.tls_ca;
  http.token = broker_variable("HOLDFAST_BROKER_TOKEN");
  if (!options.token_file.empty()) {
    HOLDFAST_TRY(http.token, read_token_file(options.token_file));
  }
  HOLDFAST_TRY(auto client, net::HttpClient::create(url, http));
  return std::unique_ptr<BrokerBackend>(std::make_unique<RunningBroker>(url, std::move(client)));
}

}  // namespace

void add_broker_store(Arguments& arguments, std::string& store) {
  arguments.option("--store", "URL", store,
                   "Store of the broker: sqlite:PATH or postgres://USER@HOST/DATABASE (default: "
                   "$HOLDFAST_BROKER_STORE, else sqlite:broker.db)");
}

void add_broker_backend(Arguments& arguments, BrokerOptions& options) {
  add_broker_store(arguments, options.store);
  arguments.option("--broker", "URL", options.broker,
                   "Broker that runs: http://HOST:PORT, https://HOST:PORT or unix:PATH (default: "
                   "$HOLDFAST_BROKER)");
  arguments.option("--token-file", "FILE", options.token_file,
                   "File that holds the token of the administrator (default: the token in "
                   "$HOLDFAST_BROKER_TOKEN)");
  arguments.option("--tls-ca", "FILE", options.tls_ca,
                   "PEM file of the certificate authorities to trust for the broker (default: "
                   "$HOLDFAST_TLS_CA, else the system's)");
}

std::string broker_store_of(const std::string& option) {
  if (!option.empty()) {
    return option;
  }
  const std::string variable = broker_variable("HOLDFAST_BROKER_STORE");
  return variable.empty() ? "sqlite:broker.db" : variable;
}

Result<std::string> read_token_file(const std::string& file) {
  HOLDFAST_TRY(std::string token, read_file_argument(file));
  while (!token.empty() && (token.back() == '\n' || token.back() == '\r')) {
    token.pop_back();
  }
  constexpr std::size_t kLeastBytes = 16;
  if (token.size() < kLeastBytes || token.find_first_of(" \t\r\n") != std::string::npos) {
    return Error{ErrorCode::invalid_argument,
                 fmt::format("{} does not contain a token: expected one line of at least {} "
                             "characters without spaces; `openssl rand -hex 32` makes one",
                             file, kLeastBytes)}
        .with("field", "token-file");
  }
  return token;
}

Result<std::unique_ptr<BrokerBackend>> open_broker_backend(const BrokerOptions& options,
                                                           Context& context, StoreUse use) {
  if (!options.store.empty() && !options.broker.empty()) {
    return Error{ErrorCode::invalid_argument,
                 "--store and --broker cannot be combined: a broker has its own store"};
  }
  const std::string url = options.store.empty() && options.broker.empty()
                              ? broker_variable("HOLDFAST_BROKER")
                              : options.broker;
  if (!url.empty()) {
    return running_broker(options, url);
  }
  const std::string store = broker_store_of(options.store);
  constexpr std::string_view kSqliteScheme = "sqlite:";
  const bool file = store.starts_with(kSqliteScheme);
  if (use == StoreUse::existing && file &&
      !std::filesystem::exists(store.substr(kSqliteScheme.size()))) {
    return Error{ErrorCode::not_found,
                 fmt::format("{} does not exist; `holdfast broker workspace create NAME` creates a "
                             "store and a workspace",
                             shown_url(store))};
  }
  auto opened = delivery::open_broker_store(store);
  if (!opened.ok()) {
    return opened.error().code() == ErrorCode::busy
               ? Error{ErrorCode::busy,
                       fmt::format("{} is in use by a broker; name it with --broker URL, for "
                                   "example --broker http://127.0.0.1:7718",
                                   shown_url(store))}
               : opened.error();
  }
  return std::unique_ptr<BrokerBackend>(
      std::make_unique<StoreBroker>(std::move(opened).value(), context));
}

std::string path_part(std::string_view name) { return "/" + net::url_encoded(name); }

std::string workspace_path(std::string_view workspace, std::string_view rest) {
  return "/v1/workspaces" + path_part(workspace) + std::string(rest);
}

}  // namespace holdfast::cli
