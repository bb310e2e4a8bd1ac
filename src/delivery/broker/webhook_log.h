// What an operator sees of the deliveries to a webhook, and how they are repeated.
//
// Every function runs inside a transaction of BrokerStore; those that change rows inside write().
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/fields.h"
#include "delivery/broker/broker_store.h"
#include "delivery/broker/sql_session.h"
#include "delivery/contract/envelope.h"
#include "delivery/contract/webhook_decision.h"
#include "holdfast/result.h"

namespace holdfast::delivery {

HOLDFAST_ENUM(WebhookDeliveryState, queued, sending, delivered, dead);

struct WebhookDeliveryEntry {
  std::string broker_message_id = {};
  Destination destination = {};
  std::uint64_t history_seq = 0;
  WebhookDeliveryState state = WebhookDeliveryState::queued;
  std::uint32_t attempts = 0;
  std::uint32_t failures = 0;
  TimeMs queued_at = {};
  TimeMs next_attempt_at = {};  // of a queued one
  std::optional<TimeMs> ended_at = {};
  std::string last_error = {};
};

struct WebhookDeliveryFilter {
  std::string endpoint_id = {};
  std::optional<WebhookDeliveryState> state = {};
  std::string after_id = {};  // a broker message id
  std::uint32_t limit = 0;
};

// In the order of the ids of the messages.
Result<std::vector<WebhookDeliveryEntry>> list_webhook_deliveries(
    SqlSession& session, const WebhookDeliveryFilter& filter);

struct WebhookAttemptEntry {
  std::uint64_t attempt_id = 0;
  std::string broker_message_id = {};
  std::uint32_t attempt = 0;
  TimeMs started_at = {};
  std::int64_t duration_ms = 0;
  WebhookOutcome outcome = WebhookOutcome::failed;
  int status = 0;
  std::string error = {};
  std::string response = {};
};

struct WebhookAttemptFilter {
  std::string endpoint_id = {};
  std::string broker_message_id = {};  // empty: of all messages
  std::uint64_t before_id = 0;         // 0: from the newest
  std::uint32_t limit = 0;
};

// The newest first.
Result<std::vector<WebhookAttemptEntry>> list_webhook_attempts(SqlSession& session,
                                                               const WebhookAttemptFilter& filter);

struct WebhookReplay {
  std::string endpoint_id = {};
  std::string mesh_id = {};
  // One message, or those that were accepted from a time until before another.
  std::string broker_message_id = {};
  TimeMs from = {};
  TimeMs until = {};
  // Only deliveries that were given up; else every message of the endpoint that exists.
  enum class Choice : std::uint8_t { all, dead };
  Choice choice = Choice::all;
  std::string after_id = {};  // continues behind this message
  std::uint32_t limit = 0;
};

struct WebhookReplayed {
  std::uint64_t messages = 0;
  // Of them, by what they were before. `fresh` has no delivery to the endpoint (any more).
  std::uint64_t fresh = 0;
  std::uint64_t queued = 0;
  std::uint64_t sending = 0;  // is left alone, and not counted as a message
  std::uint64_t delivered = 0;
  std::uint64_t dead = 0;
  std::string last_id;  // there may be more behind it; empty: there are none
};

// What a replay would do.
Result<WebhookReplayed> preview_webhook_replay(SqlSession& session, const WebhookReplay& replay);
// Queues the messages at once, with all of their attempts before them.
Result<WebhookReplayed> replay_webhook(SqlSession& session, const WebhookReplay& replay,
                                       TimeMs now);

// Removes attempts and ended deliveries from before the time, in bounded transactions.
Result<std::uint64_t> prune_webhook_log(BrokerStore& store, TimeMs before, std::uint32_t limit);

}  // namespace holdfast::delivery
