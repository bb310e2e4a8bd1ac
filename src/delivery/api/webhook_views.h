// What is stored about webhooks, as a broker's responses show it, and what is posted to them.
#pragma once

#include "base/clock.h"
#include "delivery/api/broker_views.h"
#include "delivery/api/webhook_requests.h"
#include "delivery/broker/webhook_endpoints.h"
#include "delivery/broker/webhook_log.h"

namespace holdfast::delivery {

// Without a secret.
WebhookView view_of(const WebhookEndpoint& endpoint, TimeMs now);
WebhookDeliveryView view_of(const WebhookDeliveryEntry& entry);
WebhookAttemptView view_of(const WebhookAttemptEntry& entry);
WebhookReplayResponse view_of(const WebhookReplayed& replayed);
// The same for every attempt.
WebhookEvent event_of(const Delivery& message, const Workspace& workspace);

}  // namespace holdfast::delivery
