// BrokerService: what the operations of a broker share, and the path of a request through them:
// route, authentication, operation, response.
//
// A request is served by one thread, which may wait for the store: never call respond() from a
// thread of net::HttpServer. MessageLoop serves messages in groups.
#pragma once

#include <atomic>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "apps/broker/broker_metrics.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/random.h"
#include "delivery/broker/broker.h"
#include "delivery/broker/broker_store.h"
#include "delivery/broker/deliveries.h"
#include "delivery/broker/queues.h"
#include "delivery/contract/features.h"
#include "net/http.h"
#include "net/http_server.h"

namespace holdfast::delivery {

// The largest body of a request.
inline constexpr std::size_t kMostBodyBytes = 1'048'576;

class DeliveryPolls;
class PushHub;
class WebhookSender;

struct BrokerService {
  BrokerStore& store;
  Clock& clock;
  Random& random;  // suitable for secrets
  BrokerMetrics& metrics;
  // Null: messages are not accepted (a command that administers a store).
  Broker* broker = nullptr;
  // Of the administrator; none: only the owner of the process, through a unix socket.
  std::optional<Digest> admin_token_hash = {};
  DedupeAdvertising dedupe = DedupeAdvertising::advertised;
  // Null where there is no broker.
  Deliveries* deliveries = nullptr;
  Queues* queues = nullptr;  // also of a command
  const DeliveryPolls* polls = nullptr;
  DeliveryPolls* queue_polls = nullptr;
  PushHub* push = nullptr;
  WebhookSender* webhooks = nullptr;
  // Whose connections are counted; null: none.
  std::atomic<const net::HttpServer*> listener{nullptr};

  // A member, or any of them, may have deliveries that it did not have before, without a new
  // message. After the commit. Never blocks.
  void deliveries_changed(const std::string& member_id = {}) const;
  // A webhook was made, changed or removed, or has deliveries that it did not have. Likewise.
  void webhooks_changed() const;
};

// A request for deliveries, or for messages of a queue, that found none, of a caller that waits for
// some.
struct DeliveryWait {
  enum class For : std::uint8_t { deliveries, queue };
  std::string key;  // a member, or QueueWait::key
  std::chrono::milliseconds time{0};
  For what = For::deliveries;
  std::optional<TimeMs> check_at = {};  // something is due then
};

struct Served {
  net::Response response;
  std::string failure = {};               // of the broker, for its log; empty: none
  std::optional<DeliveryWait> wait = {};  // the response may be withheld as long
};

// Any thread.
Served serve_request(BrokerService& service, const net::Request& request);
// Without waiting.
net::Response respond(BrokerService& service, const net::Request& request);

// Whether the request is one to accept a message.
bool is_message(const net::Request& request);

// Whether the request is one for deliveries or messages of queues or about them, by a member.
bool is_delivery(const net::Request& request);

// The response to a request that no thread can serve now.
net::Response busy_response();

}  // namespace holdfast::delivery
