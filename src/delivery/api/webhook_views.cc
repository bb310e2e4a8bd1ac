#include "delivery/api/webhook_views.h"

namespace holdfast::delivery {

WebhookView view_of(const WebhookEndpoint& endpoint, TimeMs now) {
  WebhookView view;
  view.webhook_id = endpoint.endpoint_id;
  view.url = endpoint.settings.url;
  view.description = endpoint.settings.description;
  view.destinations = endpoint.settings.destinations;
  view.max_in_flight = endpoint.settings.max_in_flight;
  view.rate_per_second = endpoint.settings.rate_per_second;
  view.state = endpoint.state;
  view.disabled = endpoint.disabled;
  view.state_at = endpoint.state_at;
  view.breaker = breaker_of(endpoint.health, now);
  view.consecutive_failures = endpoint.health.consecutive_failures;
  view.failing_since = endpoint.health.failing_since;
  if (now < endpoint.health.hold_until) {
    view.held_until = endpoint.health.hold_until;
  }
  view.last_success_at = endpoint.last_success_at;
  view.last_failure_at = endpoint.last_failure_at;
  view.last_error = endpoint.last_error;
  if (endpoint.old_secret_until.has_value() && now < *endpoint.old_secret_until) {
    view.old_secret_until = endpoint.old_secret_until;
  }
  view.created_at = endpoint.created_at;
  return view;
}

WebhookDeliveryView view_of(const WebhookDeliveryEntry& entry) {
  const bool waits = entry.state == WebhookDeliveryState::queued;
  return {entry.broker_message_id, entry.destination,
          entry.history_seq,       entry.state,
          entry.attempts,          entry.failures,
          entry.queued_at,         waits ? std::optional(entry.next_attempt_at) : std::nullopt,
          entry.ended_at,          entry.last_error};
}

WebhookAttemptView view_of(const WebhookAttemptEntry& entry) {
  return {entry.attempt_id,
          entry.broker_message_id,
          entry.attempt,
          entry.started_at,
          static_cast<std::uint64_t>(entry.duration_ms),
          entry.outcome,
          static_cast<std::uint32_t>(entry.status),
          entry.error,
          entry.response};
}

WebhookReplayResponse view_of(const WebhookReplayed& replayed) {
  return {.messages = replayed.messages,
          .fresh = replayed.fresh,
          .queued = replayed.queued,
          .sending = replayed.sending,
          .delivered = replayed.delivered,
          .dead = replayed.dead,
          .next_after = replayed.last_id};
}

WebhookEvent event_of(const Delivery& message, const Workspace& workspace) {
  return {.timestamp = format_time(message.created_at), .data = {view_of(message, workspace)}};
}

}  // namespace holdfast::delivery
