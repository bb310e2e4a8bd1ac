// Broker: accepts messages. Each is accepted exactly once, with all of its rows, or not at all; a
// retry gets the ids of the first. The messages of a group share reads, a transaction and a sync,
// and one group at a time is on its way: a broker spends its time in commits, and a larger group
// costs hardly more than a small one.
//
// Failures of the store are errors with an HTTP status of 500 or above, so that a daemon tries
// again: a lock that could not be taken is not a verdict on the message.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "delivery/broker/broker_lookup.h"
#include "delivery/broker/broker_store.h"
#include "delivery/broker/rate_limiter.h"
#include "delivery/contract/message_request.h"
#include "holdfast/result.h"

namespace holdfast::delivery {

struct AcceptReply {
  bool duplicate = false;  // the HTTP status is 200, else 201
  std::string broker_message_id;
  std::string client_message_id;
  std::string history_id;
  bool history_available = true;
  TimeMs first_seen_at;
  std::uint64_t fanout_count = 0;  // of a new message
};

// A message on its way in; both must outlive the call.
struct AcceptCall {
  std::string_view token;  // the secret of the sender
  const MessageRequest* request;
};

// Counted since the start of the process.
struct BrokerCounters {
  std::atomic<std::uint64_t> created{0};    // cm_broker_accept_total{result="created"}
  std::atomic<std::uint64_t> duplicate{0};  // ... and so on
  std::atomic<std::uint64_t> conflict{0};
  std::atomic<std::uint64_t> b1_rejected{0};
  std::atomic<std::uint64_t> b2_rejected{0};
  std::atomic<std::uint64_t> error{0};
  std::atomic<std::uint64_t> b0_hit{0};
  std::atomic<std::uint64_t> rate_limit_rejection{0};
  std::atomic<std::uint64_t> limiter_error{0};
  // Units that were spent on messages which the transaction then refused.
  std::atomic<std::uint64_t> consumed_then_b2_rejected{0};
};

class Broker {
 public:
  // All must outlive the broker.
  Broker(BrokerStore& store, RateLimiter& limiter, Clock& clock, Random& random);

  // One reply for each call, in their order, when the outcome of all is durable. What happens to
  // one does not change the reply to another, but for calls with the same id: they are examined in
  // their order, and the first that is accepted makes the others duplicates or conflicts.
  // Thread-safe: groups wait for each other.
  //
  // Refusals are those of rejection.h; two of them have fields of their own:
  // idempotency_key_reused has conflict, client_message_id and broker_fingerprint_prefix (the
  // stored one), rate_limited has retry_after_ms.
  std::vector<Result<AcceptReply>> accept_group(std::span<const AcceptCall> calls);
  Result<AcceptReply> accept(std::string_view token, const MessageRequest& request);

  [[nodiscard]] const BrokerCounters& counters() const { return counters_; }

 private:
  struct Examined;
  using Open = std::vector<Examined*>;  // calls that have no reply yet

  void run_round(const Open& open);
  bool look_up_all(const Open& open);
  bool examine(Examined& examined);
  Result<void> find_out(AcceptStep step, Examined& examined);
  void consume_budgets(const Open& open, TimeMs now);
  void commit(const Open& open);
  void conclude(Examined& examined, Result<AcceptReply> reply);
  void conclude(Examined& examined, const AcceptAnswer& decided);
  Error refuse(const Examined& examined, AcceptPhase phase, Rejection rejection);
  Ulid next_id(TimeMs now);

  BrokerStore& store_;
  RateLimiter& limiter_;
  Clock& clock_;
  Random& random_;
  BrokerCounters counters_;
  std::mutex mutex_;  // held by the group that is on its way; guards what follows
  UlidSequence ids_;
};

}  // namespace holdfast::delivery
