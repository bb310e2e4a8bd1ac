#include "apps/broker/webhook_sender.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "base/utf8_cut.h"
#include "delivery/api/webhook_views.h"
#include "delivery/contract/message_id.h"
#include "net/http.h"

namespace holdfast::delivery {

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using SteadyClock = std::chrono::steady_clock;

constexpr seconds kRefresh{5};  // of the endpoints, where other brokers change them too
constexpr milliseconds kScanPause{10};
constexpr milliseconds kLongestPause{60'000};
constexpr milliseconds kStoreRetry{1000};
constexpr seconds kFinish{3};
constexpr std::size_t kLanesOfTransaction = 50;
constexpr std::size_t kMostInFlight = 512;  // of all endpoints
constexpr TimeMs kForever{std::int64_t{1} << 53U};

std::string new_owner(Random& random, TimeMs now) {
  std::array<std::byte, 10> entropy{};
  random.fill(entropy);
  return UlidSequence().next(now, entropy).text();
}

// What the log keeps: text, without the zero bytes that PostgreSQL refuses.
std::string excerpt_of(std::string_view body) {
  std::string text = valid_utf8(body.substr(0, kWebhookResponseBytes));
  std::ranges::replace(text, '\0', ' ');
  return std::string(utf8_prefix(text, kWebhookResponseBytes));
}

WebhookOutcome outcome_of(const net::SenderOutcome& outcome) {
  constexpr int kFirstFinal = 200;
  if (outcome.response.status >= kFirstFinal) {
    return outcome_of_status(outcome.response.status);
  }
  if (outcome.address_refused) {
    return WebhookOutcome::forbidden_address;
  }
  switch (outcome.response.failure) {
    case net::HttpFailure::unreachable:
      return WebhookOutcome::unreachable;
    case net::HttpFailure::untrusted:
      return WebhookOutcome::untrusted;
    case net::HttpFailure::timed_out:
      return WebhookOutcome::timed_out;
    case net::HttpFailure::none:
    case net::HttpFailure::stopped:
    case net::HttpFailure::interrupted:
    case net::HttpFailure::malformed:
    case net::HttpFailure::too_large:
    case net::HttpFailure::ended:
    case net::HttpFailure::rejected:
      break;
  }
  return WebhookOutcome::broken;
}

}  // namespace

WebhookSender::WebhookSender(BrokerStore& store, Clock& clock, Random& random, ServerLog& log,
                             const WebhookOptions& options, net::AddressPolicy policy,
                             std::unique_ptr<net::HttpSender> http)
    : store_(store),
      clock_(clock),
      random_(random),
      log_(log),
      several_(options.several),
      policy_(std::move(policy)),
      http_(std::move(http)),
      owner_(new_owner(random, clock.now())) {}

Result<std::unique_ptr<WebhookSender>> WebhookSender::create(BrokerStore& store, Clock& clock,
                                                             Random& random, ServerLog& log,
                                                             const WebhookOptions& options) {
  HOLDFAST_TRY(net::AddressPolicy policy, net::AddressPolicy::create(options.allow));
  net::SenderOptions http;
  http.user_agent = "Holdfast-Webhooks";
  http.kept_bytes = kWebhookResponseBytes;
  http.tls_ca_file = options.tls_ca_file;
  HOLDFAST_TRY(auto sender, net::HttpSender::create(policy, std::move(http)));
  return std::unique_ptr<WebhookSender>(
      new WebhookSender(store, clock, random, log, options, std::move(policy), std::move(sender)));
}

Result<void> WebhookSender::start() {
  return thread_.start([this] { run(); });
}

void WebhookSender::stop() {
  stopping_ = true;
  http_->wake();
  thread_.join();
}

void WebhookSender::commits_changed() {
  committed_ = true;
  if (has_lanes_) {
    http_->wake();
  }
}

void WebhookSender::endpoints_changed() {
  endpoints_changed_ = true;
  http_->wake();
}

void WebhookSender::run() {
  while (!stopping_) {
    const TimeMs now = clock_.now();
    if (SteadyClock::now() >= retry_at_) {
      refresh(now);
      take_turns(now);
    }
    http_->run(pause(clock_.now()));
  }
  finish();
}

// A broker that is alone takes what it finds, also from one that died, and never renews.
WebhookLease WebhookSender::lease_of(TimeMs now) const {
  const auto lease_ms = std::chrono::duration_cast<milliseconds>(kWebhookLease).count();
  return {.owner = owner_,
          .now = now,
          .until = several_ ? TimeMs{now.value + lease_ms} : kForever,
          .free_since = several_ ? now : kForever};
}

// Writes nothing when there is nothing to take or to renew.
Result<void> WebhookSender::lease(TimeMs now) {
  const WebhookLease wanted = lease_of(now);
  bool free = false;
  HOLDFAST_CHECK(store_.read([&](SqlSession& session) -> Result<void> {
    HOLDFAST_TRY(free, has_free_webhooks(session, wanted));
    return {};
  }));
  if (!free && (lanes_.empty() || !several_)) {
    return {};
  }
  return store_.deliver([&](SqlSession& session) { return lease_webhooks(session, wanted); });
}

void WebhookSender::refresh(TimeMs now) {
  const bool changed = endpoints_changed_.exchange(false);
  if (!changed && (!several_ || SteadyClock::now() < next_refresh_)) {
    return;
  }
  next_refresh_ = SteadyClock::now() + kRefresh;
  std::vector<WebhookTarget> targets;
  auto done = lease(now);
  if (done.ok()) {
    done = store_.read([&](SqlSession& session) -> Result<void> {
      HOLDFAST_TRY(targets, read_targets(session, owner_));
      return {};
    });
  }
  if (!done.ok()) {
    endpoints_changed_ = true;
    store_failed(done.error());
    return;
  }
  std::map<std::string, Lane> known = std::exchange(lanes_, {});
  for (WebhookTarget& target : targets) {
    Lane& lane = lanes_[target.endpoint_id];
    if (auto node = known.extract(target.endpoint_id); !node.empty()) {
      lane = std::move(node.mapped());
    }
    lane.target = std::move(target);
    lane.next_at = now;
    lane.take_over = true;
  }
  // What is on its way to others is still awaited.
  for (auto& [id, lane] : known) {
    if (!lane.in_flight.empty()) {
      lane.target.active = false;
      lanes_.emplace(id, std::move(lane));
    }
  }
  has_lanes_ = !lanes_.empty();
}

void WebhookSender::take_turns(TimeMs now) {
  bool scan = false;
  if (SteadyClock::now() >= next_scan_ && committed_.exchange(false)) {
    scan = true;
    next_scan_ = SteadyClock::now() + kScanPause;
  }
  std::vector<Lane*> due;
  for (auto& [id, lane] : lanes_) {
    lane.take_over = lane.take_over || scan;
    const bool wanted =
        lane.target.active && (scan || (lane.next_at.has_value() && *lane.next_at <= now));
    if (wanted || unsure_ || !lane.results.empty()) {
      due.push_back(&lane);
    }
  }
  const auto begun = SteadyClock::now();
  for (std::size_t first = 0; first < due.size(); first += kLanesOfTransaction) {
    const std::size_t end = std::min(first + kLanesOfTransaction, due.size());
    const std::vector<Lane*> some(due.begin() + static_cast<std::ptrdiff_t>(first),
                                  due.begin() + static_cast<std::ptrdiff_t>(end));
    if (const auto done = take_turns_of(some, now); !done.ok()) {
      store_failed(done.error());
      return;
    }
  }
  unsure_ = false;
  if (scan) {
    // Commits that come one after the other are looked at together, at a fifth of the time.
    next_scan_ = std::max(next_scan_, SteadyClock::now() + 4 * (SteadyClock::now() - begun));
  }
}

Result<void> WebhookSender::take_turns_of(const std::vector<Lane*>& lanes, TimeMs now) {
  std::vector<WebhookTurn> turns;
  std::size_t capacity = kMostInFlight - std::min(kMostInFlight, http_->in_flight());
  for (Lane* const lane : lanes) {
    const auto most = static_cast<std::uint32_t>(
        lane->target.active ? std::min<std::size_t>(refill(*lane, now), capacity) : 0);
    turns.push_back({.endpoint_id = lane->target.endpoint_id,
                     .owner = owner_,
                     .now = now,
                     .results = lane->results,
                     .in_flight = {lane->in_flight.begin(), lane->in_flight.end()},
                     .most_new = std::min<std::uint32_t>(most, kMostWebhookInFlight),
                     .take_over = lane->take_over,
                     .unsure = unsure_});
    capacity -= turns.back().most_new;
  }
  std::vector<WebhookTurned> turned;
  HOLDFAST_CHECK(store_.deliver([&](SqlSession& session) -> Result<void> {
    turned.clear();
    for (const WebhookTurn& turn : turns) {
      HOLDFAST_TRY(WebhookTurned one, take_webhook_turn(session, turn));
      turned.push_back(std::move(one));
    }
    return {};
  }));
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    use_turn(*lanes[i], turned[i], turns[i].most_new, now);
  }
  return {};
}

// It is not known what was committed.
void WebhookSender::store_failed(const Error& error) {
  log_.write(LogLevel::warning, "webhooks wait: the store failed", {{"why", error.text()}});
  retry_at_ = SteadyClock::now() + kStoreRetry;
  unsure_ = true;
}

// What the rate of an endpoint allows; unused time counts for one second.
std::uint32_t WebhookSender::refill(Lane& lane, TimeMs now) const {
  const std::uint32_t rate = lane.target.rate_per_second;
  if (rate == 0) {
    return kMostWebhookInFlight;
  }
  const auto passed =
      static_cast<double>(std::max<std::int64_t>(now.value - lane.budget_at.value, 0));
  lane.budget = std::min(lane.budget + passed * rate / static_cast<double>(kSecondsMs),
                         static_cast<double>(rate));
  lane.budget_at = now;
  return static_cast<std::uint32_t>(lane.budget);
}

void WebhookSender::use_turn(Lane& lane, const WebhookTurned& turned, std::uint32_t allowed,
                             TimeMs now) {
  lane.results.clear();
  lane.take_over = turned.more || turned.full;
  report(lane, turned);
  for (const ClaimedWebhook& claimed : turned.claimed) {
    post(lane, turned, claimed, now);
  }
  lane.budget -= lane.target.rate_per_second > 0 ? static_cast<double>(turned.claimed.size()) : 0;
  lane.next_at = turned.more ? std::optional(now) : turned.next_at;
  if (!turned.owned || turned.disabled.has_value()) {
    lane.next_at.reset();
    endpoints_changed_ = true;
    return;
  }
  if (!lane.next_at.has_value() || *lane.next_at > now || turned.more) {
    return;
  }
  // More is due than may be on its way: the end of a request, or the rate, brings the next turn.
  const bool limited = lane.target.rate_per_second > 0 && allowed <= turned.claimed.size();
  lane.next_at.reset();
  if (limited) {
    const double missing = std::max(1.0 - lane.budget, 0.0);
    lane.next_at = TimeMs{now.value + 1 +
                          static_cast<std::int64_t>(missing * static_cast<double>(kSecondsMs) /
                                                    lane.target.rate_per_second)};
  } else if (lane.in_flight.empty()) {
    lane.next_at = TimeMs{now.value + kStoreRetry.count()};
  }
}

void WebhookSender::post(Lane& lane, const WebhookTurned& turned, const ClaimedWebhook& claimed,
                         TimeMs now) {
  lane.in_flight.insert(claimed.message.broker_message_id);
  ++counters_.in_flight;
  const WebhookTarget& target = lane.target;
  WebhookResult result;
  result.broker_message_id = claimed.message.broker_message_id;
  result.attempt = claimed.attempt;
  result.started_at = now;
  const auto url = parse_webhook_url(turned.url, nullptr);
  const auto body = to_json(event_of(claimed.message, target.workspace));
  if (!url.ok() || !body.ok()) {
    net::SenderOutcome failed;
    failed.response.reason = url.ok() ? body.error().text() : url.error().text();
    ended(target.endpoint_id, std::move(result), std::move(failed));
    return;
  }
  const std::string id = webhook_id_of(target.endpoint_id, result.broker_message_id);
  const std::int64_t timestamp = now.value / kSecondsMs;
  net::SenderRequest request;
  request.url = url.value().origin;
  request.target = url.value().target;
  request.body = std::string(body.value().view());
  request.headers = {
      {"Content-Type", "application/json"},
      {"webhook-id", id},
      {"webhook-timestamp", std::to_string(timestamp)},
      {"webhook-signature", sign_webhook(turned.secrets, id, timestamp, request.body)}};
  http_->post(std::move(request), [this, id = target.endpoint_id,
                                   result = std::move(result)](net::SenderOutcome outcome) mutable {
    ended(id, std::move(result), std::move(outcome));
  });
}

void WebhookSender::ended(const std::string& endpoint_id, WebhookResult result,
                          net::SenderOutcome outcome) {
  const net::HttpOutcome& response = outcome.response;
  --counters_.in_flight;
  result.outcome = outcome_of(outcome);
  result.duration_ms = outcome.took.count();
  std::array<std::byte, sizeof result.random> entropy{};
  random_.fill(entropy);
  result.random = std::bit_cast<std::uint64_t>(entropy);
  ++counters_.attempts.at(static_cast<std::size_t>(result.outcome));
  if (result.outcome == WebhookOutcome::forbidden_address) {
    result.error = "the address is not public, and not allowed with --webhook-allow";
  } else if (response.status == 0) {
    result.error = valid_utf8(response.reason);
  } else {
    result.status = response.status;
    result.response = excerpt_of(response.body);
    const std::string_view wait = response.header("retry-after");
    result.retry_after_ms = retry_after_ms(wait, net::parse_http_date(wait), clock_.now());
  }
  const auto found = lanes_.find(endpoint_id);
  if (found != lanes_.end()) {
    found->second.in_flight.erase(result.broker_message_id);
    found->second.results.push_back(std::move(result));
  }
}

void WebhookSender::report(const Lane& lane, const WebhookTurned& turned) {
  const std::string& endpoint = lane.target.endpoint_id;
  counters_.exhausted += turned.dead.size();
  for (const std::string& message : turned.dead) {
    log_.write(LogLevel::warning, "a message was given up for a webhook",
               {{"event", "delivery.exhausted"}, {"webhook", endpoint}, {"message", message}});
  }
  if (turned.disabled.has_value()) {
    ++counters_.disabled;
    log_.write(LogLevel::warning, "a webhook was disabled",
               {{"event", "webhook.disabled"},
                {"webhook", endpoint},
                {"workspace", lane.target.workspace.slug},
                {"reason", std::string(to_text(*turned.disabled))}});
  }
}

milliseconds WebhookSender::pause(TimeMs now) const {
  const auto from_now = [](SteadyTime time) {
    return std::max(std::chrono::ceil<milliseconds>(time - SteadyClock::now()), milliseconds(0));
  };
  if (SteadyClock::now() < retry_at_) {
    return from_now(retry_at_);
  }
  milliseconds pause = several_ ? from_now(next_refresh_) : kLongestPause;
  if (endpoints_changed_) {
    return milliseconds(0);
  }
  if (committed_ && has_lanes_) {
    pause = std::min(pause, from_now(next_scan_));
  }
  for (const auto& [id, lane] : lanes_) {
    if (!lane.results.empty()) {
      return milliseconds(0);
    }
    if (lane.target.active && lane.next_at.has_value()) {
      pause =
          std::min(pause, milliseconds(std::max<std::int64_t>(lane.next_at->value - now.value, 0)));
    }
  }
  return pause;
}

void WebhookSender::finish() {
  const auto deadline = SteadyClock::now() + kFinish;
  for (auto& [id, lane] : lanes_) {
    lane.target.active = false;  // nothing new
  }
  while (http_->in_flight() > 0 && SteadyClock::now() < deadline) {
    http_->run(std::chrono::ceil<milliseconds>(deadline - SteadyClock::now()));
  }
  const TimeMs now = clock_.now();
  take_turns(now);
  const auto released =
      store_.deliver([&](SqlSession& session) { return release_webhooks(session, owner_, now); });
  if (!released.ok()) {
    log_.write(LogLevel::warning, "webhooks could not be given back",
               {{"why", released.error().text()}});
  }
}

}  // namespace holdfast::delivery
