// The requests and responses about webhooks, and the body that is posted to them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "access/http_operation.h"
#include "base/clock.h"
#include "base/fields.h"
#include "delivery/api/broker_requests.h"
#include "delivery/api/delivery_requests.h"
#include "delivery/broker/webhook_endpoints.h"
#include "delivery/broker/webhook_log.h"
#include "delivery/contract/envelope.h"
#include "delivery/contract/webhook_decision.h"

namespace holdfast::delivery {

struct WebhookMessage {
  DeliveryView message = {};

  static void visit(auto& self, auto& v) { DeliveryView::visit_message(self.message, v); }
};

// What is posted.
struct WebhookEvent {
  std::string type = "message.accepted";
  std::string timestamp = {};  // of the accept
  WebhookMessage data = {};

  static void visit(auto& self, auto& v) {
    v.required("type", self.type);
    v.required("timestamp", self.timestamp);
    v.required("data", self.data);
  }
};

struct CreateWebhookRequest {
  std::string url = {};
  std::string description = {};
  std::vector<Destination> destinations = {};
  NumberFromTo<1, kMostWebhookInFlight> max_in_flight = {};
  NumberUpTo<kMostWebhookRate> rate_per_second = {};
  std::string secret = {};

  static void visit(auto& self, auto& v) {
    v.required("url", self.url);
    v.optional("description", self.description);
    v.optional("destinations", self.destinations);
    v.optional("max_in_flight", self.max_in_flight);
    v.optional("rate_per_second", self.rate_per_second);
    v.optional("secret", self.secret);
  }
};

// What is not given keeps its value.
struct UpdateWebhookRequest {
  std::optional<std::string> url = {};
  std::optional<std::string> description = {};
  std::optional<std::vector<Destination>> destinations = {};
  NumberFromTo<1, kMostWebhookInFlight> max_in_flight = {};
  NumberUpTo<kMostWebhookRate> rate_per_second = {};

  static void visit(auto& self, auto& v) {
    v.optional("url", self.url);
    v.optional("description", self.description);
    v.optional("destinations", self.destinations);
    v.optional("max_in_flight", self.max_in_flight);
    v.optional("rate_per_second", self.rate_per_second);
  }
};

struct WebhookView {
  std::string webhook_id = {};
  std::string url = {};
  std::string description = {};
  std::vector<Destination> destinations = {};
  std::uint64_t max_in_flight = 0;
  std::uint64_t rate_per_second = 0;
  WebhookState state = WebhookState::active;
  std::optional<DisableReason> disabled = {};
  TimeMs state_at = {};
  BreakerState breaker = BreakerState::closed;
  std::uint32_t consecutive_failures = 0;
  std::optional<TimeMs> failing_since = {};
  std::optional<TimeMs> held_until = {};
  std::optional<TimeMs> last_success_at = {};
  std::optional<TimeMs> last_failure_at = {};
  std::string last_error = {};
  std::optional<TimeMs> old_secret_until = {};
  TimeMs created_at = {};

  static void visit(auto& self, auto& v) {
    v.required("webhook_id", self.webhook_id);
    v.required("url", self.url);
    v.optional("description", self.description);
    v.required("destinations", self.destinations);
    v.required("max_in_flight", self.max_in_flight);
    v.required("rate_per_second", self.rate_per_second);
    v.required("state", self.state);
    v.optional("disabled", self.disabled);
    v.required("state_at", self.state_at);
    v.required("breaker", self.breaker);
    v.required("consecutive_failures", self.consecutive_failures);
    v.optional("failing_since", self.failing_since);
    v.optional("held_until", self.held_until);
    v.optional("last_success_at", self.last_success_at);
    v.optional("last_failure_at", self.last_failure_at);
    v.optional("last_error", self.last_error);
    v.optional("old_secret_until", self.old_secret_until);
    v.required("created_at", self.created_at);
  }
};

struct WebhookList {
  std::vector<WebhookView> webhooks = {};

  static void visit(auto& self, auto& v) { v.required("webhooks", self.webhooks); }
};

struct WebhookCreated {
  WebhookView webhook = {};
  std::string secret = {};

  static void visit(auto& self, auto& v) {
    v.required("webhook", self.webhook);
    v.required("secret", self.secret);
  }
};

struct EnableWebhookRequest {
  bool skip = false;

  static void visit(auto& self, auto& v) { v.optional("skip", self.skip); }
};

struct DisableWebhookRequest {
  static void visit(auto& /*self*/, auto& /*v*/) {}
};

struct RotateWebhookRequest {
  NumberUpTo<kMostOverlapSeconds> overlap_seconds = {};
  std::string secret = {};

  static void visit(auto& self, auto& v) {
    v.optional("overlap_seconds", self.overlap_seconds);
    v.optional("secret", self.secret);
  }
};

HOLDFAST_ENUM(WebhookDeliveryChoice, all, queued, sending, delivered, dead);

struct WebhookDeliveriesRequest {
  WebhookDeliveryChoice state = WebhookDeliveryChoice::all;
  std::string after = {};
  PageLimit<kMostEntries> limit = {};

  static void visit(auto& self, auto& v) {
    v.optional("state", self.state);
    v.optional("after", self.after);
    v.optional("limit", self.limit);
  }
};

struct WebhookDeliveryView {
  std::string broker_message_id = {};
  Destination destination = {};
  std::uint64_t history_seq = 0;
  WebhookDeliveryState state = WebhookDeliveryState::queued;
  std::uint32_t attempts = 0;
  std::uint32_t failures = 0;
  TimeMs queued_at = {};
  std::optional<TimeMs> next_attempt_at = {};
  std::optional<TimeMs> ended_at = {};
  std::string last_error = {};

  static void visit(auto& self, auto& v) {
    v.required("broker_message_id", self.broker_message_id);
    v.required("destination", self.destination);
    v.required("history_seq", self.history_seq);
    v.required("state", self.state);
    v.required("attempts", self.attempts);
    v.required("failures", self.failures);
    v.required("queued_at", self.queued_at);
    v.optional("next_attempt_at", self.next_attempt_at);
    v.optional("ended_at", self.ended_at);
    v.optional("last_error", self.last_error);
  }
};

struct WebhookDeliveryList {
  std::vector<WebhookDeliveryView> deliveries = {};
  std::string next_after = {};

  static void visit(auto& self, auto& v) {
    v.required("deliveries", self.deliveries);
    v.optional("next_after", self.next_after);
  }
};

struct WebhookAttemptsRequest {
  std::string message = {};
  NumberUpTo<kLastSequence> before = {};
  PageLimit<kMostEntries> limit = {};

  static void visit(auto& self, auto& v) {
    v.optional("message", self.message);
    v.optional("before", self.before);
    v.optional("limit", self.limit);
  }
};

struct WebhookAttemptView {
  std::uint64_t attempt_id = 0;
  std::string broker_message_id = {};
  std::uint32_t attempt = 0;
  TimeMs started_at = {};
  std::uint64_t duration_ms = 0;
  WebhookOutcome outcome = WebhookOutcome::failed;
  std::uint32_t status = 0;
  std::string error = {};
  std::string response = {};

  static void visit(auto& self, auto& v) {
    v.required("attempt_id", self.attempt_id);
    v.required("broker_message_id", self.broker_message_id);
    v.required("attempt", self.attempt);
    v.required("started_at", self.started_at);
    v.required("duration_ms", self.duration_ms);
    v.required("outcome", self.outcome);
    v.optional("status", self.status);
    v.optional("error", self.error);
    v.optional("response", self.response);
  }
};

struct WebhookAttemptList {
  std::vector<WebhookAttemptView> attempts = {};
  std::uint64_t next_before = 0;

  static void visit(auto& self, auto& v) {
    v.required("attempts", self.attempts);
    v.required("next_before", self.next_before);
  }
};

HOLDFAST_ENUM(WebhookReplayChoice, all, dead);

struct WebhookReplayRequest {
  std::string broker_message_id = {};
  std::optional<TimeMs> from = {};
  std::optional<TimeMs> until = {};
  WebhookReplayChoice choice = WebhookReplayChoice::all;
  std::string after = {};
  bool preview = false;

  static void visit(auto& self, auto& v) {
    v.optional("broker_message_id", self.broker_message_id);
    v.optional("from", self.from);
    v.optional("until", self.until);
    v.optional("choice", self.choice);
    v.optional("after", self.after);
    v.optional("preview", self.preview);
  }
};

struct WebhookReplayResponse {
  bool preview = false;
  std::uint64_t messages = 0;
  std::uint64_t fresh = 0;
  std::uint64_t queued = 0;
  std::uint64_t sending = 0;
  std::uint64_t delivered = 0;
  std::uint64_t dead = 0;
  std::string next_after = {};

  static void visit(auto& self, auto& v) {
    v.required("preview", self.preview);
    v.required("messages", self.messages);
    v.required("fresh", self.fresh);
    v.required("queued", self.queued);
    v.required("sending", self.sending);
    v.required("delivered", self.delivered);
    v.required("dead", self.dead);
    v.optional("next_after", self.next_after);
  }
};

}  // namespace holdfast::delivery
