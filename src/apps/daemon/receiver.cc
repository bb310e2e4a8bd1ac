#include "apps/daemon/receiver.h"

#include <algorithm>

#include "apps/client/client_problem.h"
#include "base/text.h"
#include "delivery/api/push_frames.h"
#include "delivery/contract/hello.h"

namespace holdfast::delivery {

namespace {

constexpr std::int64_t kPruneEveryMs = 3'600'000;
constexpr std::int64_t kLongestWaitMs = 60'000;
constexpr std::chrono::milliseconds kPollTimeout{30'000};
constexpr std::string_view kPollTarget = "/v1/deliveries?wait=10&limit=100";

std::uint64_t close_code(const Error& error) {
  return parse_decimal(error.field("close_code")).value_or(0);
}

}  // namespace

Receiver::Receiver(Inbox& inbox, DaemonEvents& events, ReceiverOptions options, Clock& clock,
                   Random& random, ServerLog& log)
    : inbox_(inbox),
      events_(events),
      options_(std::move(options)),
      owner_{options_.proof.mesh, options_.proof.pubkey},
      clock_(clock),
      random_(random),
      log_(log),
      backoff_(options_.backoff) {
  status_.trouble =
      options_.mode == ReceiveMode::off ? "receiving is switched off" : "not connected yet";
}

Result<void> Receiver::start() {
  return thread_.start([this] { run(); });
}

void Receiver::stop() {
  {
    const std::lock_guard lock(mutex_);
    stop_.request_stop();
    if (link_ != nullptr) {
      link_->wake();
    }
  }
  changed_.notify_all();
  thread_.join();
}

ReceiverStatus Receiver::status() {
  const std::lock_guard lock(mutex_);
  return status_;
}

void Receiver::wait(std::int64_t ms) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, std::chrono::milliseconds(std::min(ms, kLongestWaitMs)),
                    [this] { return stop_.stop_requested(); });
}

void Receiver::set_backoff(const BackoffSettings& backoff) {
  const std::lock_guard lock(mutex_);
  backoff_ = backoff;
}

void Receiver::wait_after_failure() {
  std::unique_lock lock(mutex_);
  const BackoffSettings backoff = backoff_;
  lock.unlock();
  wait(backoff_ms(backoff, ++failures_, random_.next_u64()));
}

void Receiver::run() {
  while (!stop_.stop_requested()) {
    prune_if_due();
    if (options_.mode == ReceiveMode::off || ended_) {
      wait(kLongestWaitMs);
      continue;
    }
    connect();
    if (!stop_.stop_requested() && !ended_) {
      wait_after_failure();
    }
  }
}

void Receiver::prune_if_due() {
  if (clock_.now().value < next_prune_) {
    return;
  }
  next_prune_ = clock_.now().value + kPruneEveryMs;
  const auto pruned = inbox_.prune();
  if (!pruned.ok()) {
    log_.write(LogLevel::error, "old messages cannot be removed",
               {{"reason", pruned.error().text()}});
  } else {
    counters_.pruned += pruned.value();
  }
}

void Receiver::connect() {
  for (const std::string& url : options_.broker.urls) {
    if (stop_.stop_requested() || ended_) {
      return;
    }
    const bool pushed = options_.mode != ReceiveMode::poll && receive_pushes(url);
    if (!pushed && options_.mode != ReceiveMode::websocket) {
      poll(url);
    }
  }
}

void Receiver::connected(ReceiverStatus::Way way, const std::string& url) {
  failures_ = 0;
  {
    const std::lock_guard lock(mutex_);
    if (status_.way == way && status_.broker == url) {
      return;
    }
    status_ = {way, url, ""};
  }
  ++counters_.connects;
  log_.write(LogLevel::info, "receiving", {{"broker", url}, {"way", std::string(to_text(way))}});
  events_.happened("daemon_reconnect", R"({"way":")" + std::string(to_text(way)) + "\"}");
}

void Receiver::not_connected(const Error& error) {
  const std::uint64_t code = close_code(error);
  const bool revoked = code == push_close::kRevoked;
  bool was_connected = false;
  bool news = false;
  {
    const std::lock_guard lock(mutex_);
    was_connected = status_.way != ReceiverStatus::Way::none;
    news = was_connected || status_.trouble != error.text();
    status_ = {ReceiverStatus::Way::none, "", error.text()};
    ended_ = revoked || code == push_close::kReplaced || code == push_close::kAlreadyConnected;
  }
  if (news) {
    log_.write(LogLevel::warning, ended_ ? "receiving has ended" : "not receiving",
               {{"reason", error.text()}});
  }
  if (was_connected) {
    events_.happened("daemon_disconnect", "{}");
  }
  if (news && !error.field(kNegotiationField).empty()) {
    events_.happened("feature_negotiation_failed", "{}");
  }
  if (revoked && options_.on_revoked) {
    options_.on_revoked(error);
  }
}

bool Receiver::receive_pushes(const std::string& url) {
  auto opened = PushLink::open(options_.broker, url, options_.proof, clock_.now(), random_);
  if (!opened.ok()) {
    const std::string_view status = opened.error().field("status");
    if (!status.empty() && options_.mode == ReceiveMode::automatic) {
      return false;
    }
    not_connected(opened.error());
    return true;
  }
  PushLink& link = *opened.value();
  {
    const std::lock_guard lock(mutex_);
    if (stop_.stop_requested()) {
      link.close();
      return true;
    }
    link_ = &link;
  }
  connected(ReceiverStatus::Way::websocket, url);
  serve(link);
  const std::lock_guard lock(mutex_);
  link_ = nullptr;
  return true;
}

void Receiver::serve(PushLink& link) {
  bool resumed = false;
  bool pinged = false;
  while (!stop_.stop_requested()) {
    const net::WsIncoming incoming = link.receive(resumed ? options_.silence : options_.quiet);
    bool alive = true;
    switch (incoming.kind) {
      case net::WsIncoming::Kind::woken:
        break;
      case net::WsIncoming::Kind::silent:
        alive = handle_quiet(link, resumed, pinged);
        break;
      case net::WsIncoming::Kind::closed:
        return not_connected(link.ended(incoming));
      case net::WsIncoming::Kind::text:
        pinged = false;
        alive = handle(link, incoming.text);
        break;
    }
    if (!alive) {
      return link.close();
    }
  }
  link.close();
}

bool Receiver::handle_quiet(PushLink& link, bool& resumed, bool& pinged) {
  prune_if_due();
  if (!resumed) {
    resumed = true;
    const auto cursors = inbox_.cursors(owner_.mesh);
    return !cursors.ok() || cursors.value().empty() || link.resume(cursors.value()).ok();
  }
  if (pinged) {
    not_connected(Error{ErrorCode::unavailable, "the broker does not answer"});
    return false;
  }
  pinged = true;
  return link.ping().ok();
}

// False: the connection must end.
bool Receiver::handle(PushLink& link, const std::string& frame) {
  const auto json = Json::parse(frame);
  const std::string_view type = json.ok() ? json.value().text("type") : std::string_view();
  if (type == "push" || type == "history") {
    const auto inbound =
        type == "push" ? read_deliveries(frame, owner_) : read_history_frame(frame, owner_);
    if (!inbound.ok()) {
      ++counters_.invalid;
      return true;
    }
    if (const auto stored = store(inbound.value()); !stored.ok()) {
      not_connected(stored.error());
      return false;
    }
    return link.acknowledge(inbound.value().delivery_ids).ok();
  }
  if (type == "resumed") {
    follow_cursor(frame);
  } else if (type == "error") {
    link.heard(std::string(json.value().text("detail")));
    forget_destination(frame);
  } else if (type == "peer_join" || type == "peer_leave" || type == "peer_update") {
    const auto peers = read_answer<PeersFrame>(frame);
    const auto data = peers.ok() ? to_json(PeersResponse{peers.value().peers}) : peers.error();
    counters_.invalid += data.ok() ? 0 : 1;
    if (data.ok()) {
      events_.happened(type, std::string(data.value().view()));
    }
  } else if (type.empty()) {
    ++counters_.invalid;
  }
  return true;
}

void Receiver::follow_cursor(const std::string& frame) {
  if (const auto resumed = read_answer<ResumedFrame>(frame); resumed.ok()) {
    static_cast<void>(inbox_.advance_cursor(
        owner_.mesh, {resumed.value().cursor.destination, resumed.value().cursor.after}));
  }
}

// Its history may not be read any more.
void Receiver::forget_destination(const std::string& frame) {
  const auto error = read_answer<ErrorFrame>(frame);
  if (error.ok() && error.value().destination.has_value()) {
    static_cast<void>(inbox_.drop_cursor(owner_.mesh, *error.value().destination));
  }
}

Result<void> Receiver::store(const Inbound& inbound) {
  counters_.invalid += inbound.invalid;
  if (inbound.messages.empty()) {
    return {};
  }
  HOLDFAST_TRY(const InboxStored stored, inbox_.store(inbound.messages));
  counters_.received += stored.added;
  counters_.duplicates += stored.duplicates;
  if (stored.added > 0) {
    events_.message_stored();
  }
  return {};
}

void Receiver::poll(const std::string& url) {
  net::HttpOptions http;
  http.token = options_.broker.token;
  http.tls_ca_file = options_.broker.tls_ca;
  http.user_agent = "holdfast-daemon";
  const auto client = net::HttpClient::create(url, http);
  if (!client.ok()) {
    return not_connected(client.error());
  }
  const std::int64_t until = clock_.now().value + options_.poll_period.count();
  while (!stop_.stop_requested() &&
         (options_.mode == ReceiveMode::poll || clock_.now().value < until)) {
    if (const auto polled = poll_once(*client.value()); !polled.ok()) {
      return stop_.stop_requested() ? void() : not_connected(polled.error());
    }
    connected(ReceiverStatus::Way::poll, url);
    prune_if_due();
  }
}

Result<void> Receiver::poll_once(net::HttpClient& http) {
  net::HttpCall call;
  call.target = kPollTarget;
  call.timeout = kPollTimeout;
  const net::HttpOutcome got = http.send(call, stop_.get_token());
  constexpr int kOk = 200;
  if (got.kind != net::HttpOutcome::Kind::answered) {
    return client::error_without_response(got);
  }
  if (got.status != kOk) {
    return client::error_of_response(got);
  }
  HOLDFAST_TRY(const Inbound inbound, read_deliveries(got.body, owner_));
  HOLDFAST_CHECK(store(inbound));
  if (inbound.delivery_ids.empty()) {
    return {};
  }
  HOLDFAST_TRY(const JsonText body,
               to_json(AckDeliveriesRequest{inbound.lease, inbound.delivery_ids}));
  net::HttpCall ack;
  ack.method = "POST";
  ack.target = "/v1/deliveries/ack";
  ack.body = body.view();
  ack.content_type = "application/json";
  ack.repeatable = true;
  const net::HttpOutcome acked = http.send(ack, stop_.get_token());
  return acked.kind == net::HttpOutcome::Kind::answered ? Result<void>()
                                                        : client::error_without_response(acked);
}

}  // namespace holdfast::delivery
