#include "apps/daemon/daemon_server.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "apps/daemon/daemon_join.h"

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
  HOLDFAST_CHECK(drain_->start());
  return receiver_->start();
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
  limits.min_backoff_ms = config_.initial_backoff_ms;
  limits.max_backoff_ms = config_.max_backoff_ms;
  HOLDFAST_TRY(outbox_, Outbox::open(folder_.file("outbox.db"), limits,
                                     {.fault = options_.outbox_fault}, clock_, random_));
  DrainOptions drain;
  drain.broker = broker_settings();
  drain.senders = config_.senders;
  drain.backoff = backoff_of(config_);
  drain_ = std::make_unique<Drain>(*outbox_, drain, clock_, random_, log_);
  names_ = std::make_unique<MemberNames>(folder_, *drain_, clock_);
  HOLDFAST_CHECK(open_inbox());
  service_ = std::unique_ptr<DaemonService>(
      new DaemonService{.outbox = *outbox_,
                        .inbox = *inbox_,
                        .drain = *drain_,
                        .receiver = *receiver_,
                        .events = *events_,
                        .names = *names_,
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
                        .stop = [this] { options_.on_stop(std::nullopt); },
                        .reload = [this] { return reload(); }});
  return {};
}

BackoffSettings DaemonServer::backoff_of(const DaemonConfig& config) {
  BackoffSettings backoff;
  backoff.first_ms = config.initial_backoff_ms;
  backoff.most_ms = config.max_backoff_ms;
  return backoff;
}

// Connections stay; a file that is not valid changes nothing.
Result<std::vector<std::string>> DaemonServer::reload() {
  HOLDFAST_TRY(const DaemonConfig next, read_daemon_config(folder_));
  outbox_->set_limits(next.max_queue_size, next.max_outbox_bytes);
  inbox_->set_limits(std::int64_t{next.inbox_days} * kDayMs, next.max_inbox_bytes);
  drain_->set_backoff(backoff_of(next));
  receiver_->set_backoff(backoff_of(next));
  log_.write(LogLevel::info, "the settings were read again");
  return settings_for_restart(config_, next);
}

BrokerSettings DaemonServer::broker_settings() const {
  BrokerSettings settings;
  settings.urls = config_.brokers;
  settings.token = member_.token;
  settings.tls_ca = config_.tls_ca;
  settings.max_age.override_hours = config_.max_age_hours;
  return settings;
}

// A member that joined has a key; one that an administrator made has only a token.
Result<MemberProof> DaemonServer::member_proof() const {
  MemberProof proof{config_.workspace, member_.pubkey, "", member_.token};
  if (folder_.has("keypair.json")) {
    HOLDFAST_TRY(const KeyPair pair, read_key_pair(folder_));
    proof.seed = pair.ed25519_seed;
  }
  return proof;
}

Result<void> DaemonServer::open_inbox() {
  InboxOptions options;
  options.keep_ms = std::int64_t{config_.inbox_days} * kDayMs;
  options.keep_keys_ms = std::max(options.keep_keys_ms, options.keep_ms);
  options.max_bytes = config_.max_inbox_bytes;
  options.fault = options_.inbox_fault;
  HOLDFAST_TRY(inbox_, Inbox::open(folder_.file("inbox.db"), options, clock_, random_));
  if (!inbox_->kept_copy().empty()) {
    log_.write(LogLevel::error,
               "inbox_corruption_recovered: the inbox was damaged; a new one begins",
               {{"kept", inbox_->kept_copy()}});
  }
  events_ = std::make_unique<DaemonEvents>(*inbox_, random_, log_);
  HOLDFAST_CHECK(events_->started());
  ReceiverOptions receive;
  receive.broker = broker_settings();
  HOLDFAST_TRY(receive.proof, member_proof());
  receive.mode = config_.receive;
  receive.backoff = backoff_of(config_);
  receive.on_revoked = [this](const Error& error) { options_.on_stop(error); };
  receiver_ =
      std::make_unique<Receiver>(*inbox_, *events_, std::move(receive), clock_, random_, log_);
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

// A request has ended before its response is on its way: the caller may send the next one at once.
void DaemonServer::serve(const net::ExchangePtr& exchange) {
  const auto work = [this, exchange] {
    if (is_events(exchange->request())) {
      --requests_;
      return serve_events(*service_, exchange);
    }
    net::Response response = respond(*service_, exchange->request());
    --requests_;
    exchange->reply(std::move(response));
  };
  const auto taken = requests_.fetch_add(1) < kMostRequests
                         ? readers_.run(work)
                         : Result<void>(Error{ErrorCode::busy, ""});
  if (!taken.ok()) {
    --requests_;
    counters_.answered("none", 429, transport_of(exchange->request()));
    exchange->reply(daemon_busy());
  }
}

bool DaemonServer::stop(std::chrono::milliseconds grace) {
  bool in_time = true;
  if (events_ != nullptr) {
    events_->stop();
  }
  if (http_ != nullptr) {
    in_time = http_->drain(grace);
  }
  readers_.stop();
  if (receiver_ != nullptr) {
    receiver_->stop();
  }
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
