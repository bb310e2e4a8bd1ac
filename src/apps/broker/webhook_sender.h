// WebhookSender: delivers messages to the webhooks of a broker. One thread takes turns of the
// endpoints that this broker owns, posts what they are due, and records the outcomes; requests are
// on their way at the same time, a few for each endpoint. It sleeps until a commit, the end of a
// request, or the next time at which something is due.
//
// Brokers on one database share the endpoints by leases (webhook_queue.h): when a broker dies, the
// others take its endpoints over within kWebhookLease.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "apps/broker/webhook_url.h"
#include "apps/server/server_log.h"
#include "base/clock.h"
#include "base/random.h"
#include "base/threads.h"
#include "delivery/broker/broker_store.h"
#include "delivery/broker/webhook_endpoints.h"
#include "delivery/broker/webhook_queue.h"
#include "holdfast/result.h"
#include "net/address_policy.h"
#include "net/http_sender.h"

namespace holdfast::delivery {

inline constexpr std::chrono::seconds kWebhookLease{15};

struct WebhookOptions {
  std::vector<std::string> allow = {};  // networks that are not public
  std::string tls_ca_file = {};         // PEM; empty: the authorities of the system
  bool several = false;                 // other brokers may use the store
};

inline constexpr std::size_t kWebhookOutcomes = std::size(kEnumNames<WebhookOutcome>);

// Counted since the start of the process.
struct WebhookCounters {
  std::array<std::atomic<std::uint64_t>, kWebhookOutcomes> attempts{};
  std::atomic<std::uint64_t> exhausted{0};  // deliveries that were given up
  std::atomic<std::uint64_t> disabled{0};   // endpoints, by the broker
  std::atomic<std::uint64_t> in_flight{0};  // now
};

class WebhookSender {
 public:
  // All but the options must outlive it. invalid_argument: a network that cannot be read.
  static Result<std::unique_ptr<WebhookSender>> create(BrokerStore& store, Clock& clock,
                                                       Random& random, ServerLog& log,
                                                       const WebhookOptions& options);
  ~WebhookSender() { stop(); }
  WebhookSender(const WebhookSender&) = delete;
  WebhookSender& operator=(const WebhookSender&) = delete;

  Result<void> start();
  // Requests on their way have a few seconds; what is left is sent again by the next owner.
  void stop();

  // Any thread; they never block.
  void commits_changed();
  void endpoints_changed();

  [[nodiscard]] const WebhookCounters& counters() const { return counters_; }
  [[nodiscard]] const net::AddressPolicy& addresses() const { return policy_; }

 private:
  using SteadyTime = std::chrono::steady_clock::time_point;

  // An endpoint of this broker.
  struct Lane {
    WebhookTarget target;
    std::vector<WebhookResult> results;  // that are not recorded yet
    std::set<std::string> in_flight;     // messages
    std::optional<TimeMs> next_at;       // of its next turn; none: a commit or a result brings it
    bool take_over = true;               // there may be new messages
    double budget = 0;                   // requests that its rate allows now
    TimeMs budget_at;
  };

  WebhookSender(BrokerStore& store, Clock& clock, Random& random, ServerLog& log,
                const WebhookOptions& options, net::AddressPolicy policy,
                std::unique_ptr<net::HttpSender> http);

  void run();
  void refresh(TimeMs now);
  Result<void> lease(TimeMs now);
  [[nodiscard]] WebhookLease lease_of(TimeMs now) const;
  void take_turns(TimeMs now);
  Result<void> take_turns_of(const std::vector<Lane*>& lanes, TimeMs now);
  void store_failed(const Error& error);
  void use_turn(Lane& lane, const WebhookTurned& turned, std::uint32_t allowed, TimeMs now);
  std::uint32_t refill(Lane& lane, TimeMs now) const;
  void post(Lane& lane, const WebhookTurned& turned, const ClaimedWebhook& claimed, TimeMs now);
  void ended(const std::string& endpoint_id, WebhookResult result, net::SenderOutcome outcome);
  void report(const Lane& lane, const WebhookTurned& turned);
  [[nodiscard]] std::chrono::milliseconds pause(TimeMs now) const;
  void finish();

  BrokerStore& store_;
  Clock& clock_;
  Random& random_;
  ServerLog& log_;
  const bool several_;
  const net::AddressPolicy policy_;
  WebhookCounters counters_;
  std::unique_ptr<net::HttpSender> http_;
  std::atomic<bool> stopping_{false};
  std::atomic<bool> committed_{false};
  std::atomic<bool> endpoints_changed_{true};
  std::atomic<bool> has_lanes_{false};
  // Of the thread.
  std::string owner_;
  std::map<std::string, Lane> lanes_;
  SteadyTime next_refresh_;
  SteadyTime next_scan_;  // of the history, after commits
  SteadyTime retry_at_;   // after a failure of the store
  bool unsure_ = false;   // what the last transaction has done
  ThreadGroup thread_;
};

}  // namespace holdfast::delivery
