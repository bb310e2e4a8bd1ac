// The deliveries to webhooks: taken over from the history of messages, claimed, and ended by the
// outcome of their attempts.
//
// An endpoint belongs to one broker at a time, by a lease: only its owner takes over, claims and
// records, so that limits of an endpoint hold for all brokers together. What a broker had claimed
// when it died is claimed again by the next owner: a message is delivered at least once.
//
// Messages are taken over from committed history alone: an endpoint has a place in the history of
// each destination, which moves in the same transaction. Each row belongs to one message and one
// endpoint, so that nothing is taken over twice.
//
// Every function runs inside a transaction of BrokerStore; those that change rows inside deliver().
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "delivery/broker/delivery_rows.h"
#include "delivery/broker/sql_session.h"
#include "delivery/contract/webhook_decision.h"
#include "delivery/contract/webhook_signature.h"
#include "holdfast/result.h"

namespace holdfast::delivery {

struct WebhookLease {
  std::string owner = {};
  TimeMs now = {};
  TimeMs until = {};
  TimeMs free_since = {};  // leases that ended until then are taken from their owners
};

// Whether an endpoint could be taken.
Result<bool> has_free_webhooks(SqlSession& session, const WebhookLease& lease);
// Takes what is free and keeps what the owner has. Interrupted deliveries are queued again.
Result<void> lease_webhooks(SqlSession& session, const WebhookLease& lease);
// The owner gives all of its endpoints back. What it has claimed was not sent, or is sent again.
Result<void> release_webhooks(SqlSession& session, std::string_view owner, TimeMs now);

// What is kept of a response.
inline constexpr std::size_t kWebhookResponseBytes = 1024;

struct WebhookResult {
  std::string broker_message_id = {};
  std::uint32_t attempt = 0;
  TimeMs started_at = {};
  std::int64_t duration_ms = 0;
  WebhookOutcome outcome = WebhookOutcome::failed;
  int status = 0;  // 0: there was no response
  std::optional<std::int64_t> retry_after_ms = {};
  std::string error = {};     // why there was no response
  std::string response = {};  // UTF-8, at most kWebhookResponseBytes
  std::uint64_t random = 0;
};

// One turn of an endpoint.
struct WebhookTurn {
  std::string endpoint_id = {};
  std::string owner = {};
  TimeMs now = {};
  std::vector<WebhookResult> results = {};
  std::vector<std::string> in_flight = {};  // messages, besides the results
  std::uint32_t most_new = 0;               // how many may be claimed
  bool take_over = true;                    // look for new messages
  // It is not known whether the last turn was committed: what is claimed and not in flight was not
  // sent.
  bool unsure = false;
};

struct ClaimedWebhook {
  std::uint32_t attempt = 0;
  Delivery message;  // without a number of its own
};

struct WebhookTurned {
  bool owned = false;  // else nothing was done: another broker has the endpoint
  std::string url;
  std::vector<WebhookSecret> secrets;  // that sign now, the newest first
  std::vector<ClaimedWebhook> claimed;
  bool more = false;              // messages that the next turn can take over
  bool full = false;              // messages that wait until fewer are due
  std::optional<TimeMs> next_at;  // when the next delivery is due; none: nothing waits
  std::optional<DisableReason> disabled;
  std::vector<std::string> dead;  // messages that were given up
};

// Records the results, takes over new messages, and claims what is due, as far as the endpoint may
// have deliveries on their way.
Result<WebhookTurned> take_webhook_turn(SqlSession& session, const WebhookTurn& turn);

}  // namespace holdfast::delivery
