// Broker: accepts messages. Each is accepted exactly once, with all of its rows, or not at all; a
// retry gets the ids of the first. Requests that arrive together share reads, transactions and
// syncs.
//
// Failures of the store are errors with an HTTP status of 500 or above, so that a daemon tries
// again: a lock that could not be taken is not a verdict on the message.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/random.h"
#include "delivery/broker/broker_lookup.h"
#include "delivery/broker/broker_store.h"
#include "delivery/broker/group_runner.h"
#include "delivery/broker/key_locks.h"
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

  // token: the caller's secret. Thread-safe; returns when the outcome is durable.
  //
  // Refusals are those of rejection.h; two of them have fields of their own:
  // idempotency_key_reused has conflict, client_message_id and broker_fingerprint_prefix (the
  // stored one), rate_limited has retry_after_ms.
  Result<AcceptReply> accept(std::string_view token, const MessageRequest& request);

  [[nodiscard]] const BrokerCounters& counters() const { return counters_; }

 private:
  struct Examined;

  Result<AcceptReply> decide(std::string_view token, const MessageRequest& request);
  Result<void> find_out(AcceptStep step, const MessageRequest& request, Examined& examined);
  void consume_budget(Examined& examined);
  Result<void> commit(Examined& examined);
  Result<AcceptReply> answer(const Examined& examined, const AcceptAnswer& answer);
  Error refuse(const Examined& examined, AcceptPhase phase, Rejection rejection);
  Ulid next_id(TimeMs now);

  BrokerStore& store_;
  RateLimiter& limiter_;
  Clock& clock_;
  Random& random_;
  BrokerCounters counters_;
  KeyLocks keys_;
  GroupRunner<LookupKey, LookupResult> lookups_;
  GroupRunner<AcceptRow, AcceptOutcome> accepts_;
  std::mutex id_mutex_;
  UlidSequence ids_;  // guarded by id_mutex_
};

}  // namespace holdfast::delivery
