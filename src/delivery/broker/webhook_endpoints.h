// The webhook endpoints of a workspace: URLs to which the broker posts messages. An endpoint gets
// the messages that are accepted after it was made, of the destinations that it names, or of all.
//
// Every function runs inside a transaction of BrokerStore; those that change rows inside write().
// Secrets are stored as they are, because the broker signs with them; only the turns of
// webhook_queue.h read them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "delivery/broker/broker_directory.h"
#include "delivery/broker/sql_session.h"
#include "delivery/contract/envelope.h"
#include "delivery/contract/webhook_decision.h"
#include "delivery/contract/webhook_signature.h"
#include "holdfast/result.h"

namespace holdfast::delivery {

inline constexpr std::uint64_t kMostWebhooks = 100;           // of a workspace
inline constexpr std::size_t kMostWebhookDestinations = 100;  // of an endpoint
inline constexpr std::uint64_t kMostWebhookInFlight = 64;
inline constexpr std::uint64_t kMostWebhookRate = 10'000;
inline constexpr std::uint64_t kMostOverlapSeconds = 7 * 86'400;

struct WebhookSettings {
  std::string url = {};
  std::string description = {};
  std::vector<Destination> destinations = {};  // sorted, each once; empty: all
  std::uint32_t max_in_flight = 4;
  std::uint32_t rate_per_second = 0;  // 0: no limit

  friend bool operator==(const WebhookSettings&, const WebhookSettings&) = default;
};

struct WebhookEndpoint {
  std::string endpoint_id = {};
  std::string mesh_id = {};
  WebhookSettings settings = {};
  WebhookState state = WebhookState::active;
  std::optional<DisableReason> disabled = {};
  TimeMs state_at = {};
  TimeMs created_at = {};
  EndpointHealth health = {};
  std::optional<TimeMs> old_secret_until = {};
  std::optional<TimeMs> last_success_at = {};
  std::optional<TimeMs> last_failure_at = {};
  std::string last_error = {};
};

// invalid_argument when the workspace has as many as it may have.
Result<void> create_webhook(SqlSession& session, const WebhookEndpoint& endpoint,
                            const WebhookSecret& secret);
// In the order in which they were made.
Result<std::vector<WebhookEndpoint>> list_webhooks(SqlSession& session, std::string_view mesh_id);
Result<std::optional<WebhookEndpoint>> find_webhook(SqlSession& session, std::string_view mesh_id,
                                                    std::string_view endpoint_id);
// Destinations that are added begin with the messages that are accepted from now on.
Result<void> change_webhook(SqlSession& session, const WebhookEndpoint& endpoint,
                            const WebhookSettings& settings);
Result<void> delete_webhook(SqlSession& session, std::string_view endpoint_id);

// An endpoint that is enabled continues where it stopped, with all that waits due at once, or gets
// nothing that was accepted before (skip).
enum class WebhookBacklog : std::uint8_t { keep, skip };
Result<void> enable_webhook(SqlSession& session, std::string_view endpoint_id,
                            WebhookBacklog backlog, TimeMs now);
Result<void> disable_webhook(SqlSession& session, std::string_view endpoint_id,
                             DisableReason reason, TimeMs now);

// Both secrets sign until old_until.
Result<void> rotate_webhook_secret(SqlSession& session, std::string_view endpoint_id,
                                   const WebhookSecret& secret, TimeMs old_until);

// What the owner of an endpoint knows of it.
struct WebhookTarget {
  std::string endpoint_id = {};
  std::uint32_t rate_per_second = 0;
  bool active = false;
  Workspace workspace = {};
};

// Those of an owner; see webhook_queue.h.
Result<std::vector<WebhookTarget>> read_targets(SqlSession& session, std::string_view owner);

// What is read of an endpoint e to decide about it, and how it is read.
inline constexpr std::string_view kHealthColumns =
    "e.consecutive_failures, e.failing_since, e.hold_until, e.hold_ms";
EndpointHealth health_of(const std::vector<SqlCell>& row, std::size_t first);

}  // namespace holdfast::delivery
