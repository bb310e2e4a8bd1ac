// BrokerQueueClient: the calls on queues of a message broker that a lease backend makes, over HTTP.
//
// Any thread may use it. Errors: unavailable when nothing is known about the outcome; others are
// those of the broker, and permanent.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "apps/bridges/broker_lease_url.h"
#include "base/json_value.h"
#include "holdfast/result.h"
#include "net/http_client.h"

namespace holdfast::bridges {

struct BrokerQueueStatus {
  std::string workspace;
  std::string life;  // another one when the broker has lost its store
  std::uint64_t ready = 0;
  std::uint64_t delayed = 0;
  std::uint64_t leased = 0;
  std::uint64_t dead = 0;
};

struct BrokerQueueMessage {
  std::string broker_message_id;
  std::string lease;
  std::string body;
};

struct BrokerClaim {
  std::string queue;
  std::uint64_t limit = 1;
  std::chrono::milliseconds wait{0};  // at most 10 s
  std::uint64_t lease_ms = 0;
  std::string key = {};
};

struct BrokerPost {
  std::string queue;
  std::string client_message_id;
  std::string body;
  std::string ordering_key = {};
  std::int64_t expires_at_ms = 0;  // 0: never
};

class BrokerQueueClient {
 public:
  static Result<std::unique_ptr<BrokerQueueClient>> create(const BrokerLeaseUrl& url);

  Result<BrokerQueueStatus> status(const std::string& queue);
  // Repeating it with the same id is harmless. False: it was accepted before.
  Result<bool> post(const std::string& workspace, const BrokerPost& post);
  Result<std::vector<BrokerQueueMessage>> claim(const BrokerClaim& claim);
  Result<void> ack(const std::string& queue, const std::string& lease,
                   const std::vector<std::string>& broker_message_ids);
  Result<void> extend(const std::string& queue, const BrokerQueueMessage& held,
                      std::uint64_t lease_ms);
  // Where each message is: unknown, ready, delayed, leased, done, dead, discarded.
  Result<std::vector<std::string>> find(const std::string& queue,
                                        const std::vector<std::string>& client_message_ids);
  Result<std::vector<std::string>> withdraw(const std::string& queue,
                                            const std::vector<std::string>& client_message_ids,
                                            std::string_view dead_reason);
  // The sender's ids of dead messages.
  Result<std::vector<std::string>> list_dead(const std::string& queue);

 private:
  BrokerQueueClient(std::string shown, std::unique_ptr<net::HttpClient> http)
      : shown_(std::move(shown)), http_(std::move(http)) {}

  Result<Json> call(std::string_view method, const std::string& path, const std::string& body,
                    std::chrono::milliseconds wait = {}, int* status = nullptr);
  Result<std::vector<std::string>> states(const std::string& queue, std::string_view action,
                                          const std::vector<std::string>& client_message_ids,
                                          std::string_view dead_reason);

  const std::string shown_;
  std::unique_ptr<net::HttpClient> http_;
};

}  // namespace holdfast::bridges
