#include "apps/daemon/daemon_server.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace holdfast::delivery {

namespace {

constexpr std::size_t kMostBodyBytes = 1'048'576;
constexpr std::string_view kLoopback = "http://127.0.0.1:";

}  // namespace

Result<std::unique_ptr<DaemonServer>> DaemonServer::start(const DaemonFolder& folder,
                                                          DaemonOptions options, Clock& clock,
                                                          Random& random, ServerLog& log) {
  std::unique_ptr<DaemonServer> server(
      new DaemonServer(folder, std::move(options), clock, random, log));
  HOLDFAST_CHECK(server->open());
  return server;
}

Result<void> DaemonServer::open() {
  ::umask(S_IRWXG | S_IRWXO);
  HOLDFAST_CHECK(readers_.started());
  HOLDFAST_CHECK(folder_.prepare());
  HOLDFAST_TRY(lock_, folder_.lock());
  HOLDFAST_TRY(config_, read_daemon_config(folder_));
  HOLDFAST_TRY(member_, read_daemon_member(folder_));
  HOLDFAST_CHECK(open_service());
  HOLDFAST_CHECK(listen());
  return drain_->start();
}

Result<std::string> DaemonServer::local_token() {
  if (!folder_.has("local_token")) {
    const std::string fresh = new_local_token(random_);
    HOLDFAST_CHECK(folder_.write("local_token", fresh + "\n"));
    return fresh;
  }
  HOLDFAST_TRY(std::string token, folder_.read("local_token"));
  while (!token.empty() && token.back() == '\n') {
    token.pop_back();
  }
  constexpr std::size_t kLeastBytes = 32;
  if (token.size() < kLeastBytes) {
    return Error{ErrorCode::invalid_argument,
                 folder_.file("local_token") + " holds no token; remove it to get a new one"};
  }
  return token;
}

Result<void> DaemonServer::open_service() {
  HOLDFAST_TRY(const std::string token, local_token());
  access_ = std::make_unique<LocalAccess>(
      token, config_.public_health ? LocalAccess::Health::open : LocalAccess::Health::closed);
  OutboxLimits limits;
  limits.max_waiting = config_.max_queue_size;
  limits.max_bytes = config_.max_outbox_bytes;
  limits.min_backoff_ms = options_.backoff.first_ms;
  limits.max_backoff_ms = options_.backoff.most_ms;
  HOLDFAST_TRY(outbox_, Outbox::open(folder_.file("outbox.db"), limits, {}, clock_, random_));
  DrainOptions drain;
  drain.broker.urls = config_.brokers;
  drain.broker.token = member_.token;
  drain.broker.tls_ca = config_.tls_ca;
  drain.broker.max_age.override_hours = config_.max_age_hours;
  drain.senders = config_.senders;
  drain.backoff = options_.backoff;
  drain_ = std::make_unique<Drain>(*outbox_, drain, clock_, random_, log_);
  service_ = std::unique_ptr<DaemonService>(new DaemonService{.outbox = *outbox_,
                                                              .drain = *drain_,
                                                              .access = *access_,
                                                              .counters = counters_,
                                                              .config = config_,
                                                              .member = member_,
                                                              .folder = folder_,
                                                              .clock = clock_,
                                                              .random = random_,
                                                              .log = log_,
                                                              .version = options_.version,
                                                              .started_at = clock_.now(),
                                                              .stop = options_.on_stop});
  return {};
}

Result<void> DaemonServer::listen() {
  const TcpMode mode = options_.tcp.value_or(config_.tcp);
  const bool tcp = mode == TcpMode::on || (mode == TcpMode::automatic && !in_container());
  net::Options http;
  http.limits.body_bytes = kMostBodyBytes;
  http.listen.push_back("unix:" + folder_.file("sock"));
  if (tcp) {
    http.listen.push_back(fmt::format("127.0.0.1:{}", config_.port));
  }
  HOLDFAST_TRY(http_, net::HttpServer::start(
                          http, [this](const net::ExchangePtr& exchange) { serve(exchange); }));
  folder_.remove("http.port");
  for (const std::string& url : http_->urls()) {
    if (url.starts_with(kLoopback)) {
      HOLDFAST_CHECK(folder_.write("http.port", url.substr(kLoopback.size()) + "\n", 0644));
    }
  }
  return folder_.write("pid", fmt::format("{}\n", ::getpid()));
}

void DaemonServer::serve(const net::ExchangePtr& exchange) {
  const auto taken = requests_.fetch_add(1) < kMostRequests
                         ? readers_.run([this, exchange] {
                             exchange->reply(respond(*service_, exchange->request()));
                             --requests_;
                           })
                         : Result<void>(Error{ErrorCode::busy, ""});
  if (!taken.ok()) {
    --requests_;
    counters_.answered("none", 429, exchange->request().peer.uid.has_value() ? "unix" : "tcp");
    exchange->reply(daemon_busy());
  }
}

bool DaemonServer::stop(std::chrono::milliseconds grace) {
  bool in_time = true;
  if (http_ != nullptr) {
    in_time = http_->drain(grace);
  }
  readers_.stop();
  if (drain_ != nullptr) {
    drain_->stop();
  }
  if (http_ != nullptr) {
    http_->stop();
    http_.reset();
    folder_.remove("http.port");
    folder_.remove("pid");
  }
  return in_time;
}

}  // namespace holdfast::delivery
