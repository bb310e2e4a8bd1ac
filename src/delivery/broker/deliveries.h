// Deliveries: what a member receives. Messages are claimed under a lease and acknowledged with it;
// a delivery whose lease ends is claimed again, until it is acknowledged or dead.
//
// Calls that wait together share a transaction. Thread-safe; each call returns when its outcome is
// durable.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "delivery/broker/broker_store.h"
#include "delivery/broker/delivery_rows.h"
#include "delivery/broker/group_runner.h"
#include "delivery/contract/message_id.h"
#include "holdfast/result.h"

namespace holdfast::delivery {

// Counted since the start of the process.
struct DeliveryCounters {
  std::atomic<std::uint64_t> claimed{0};
  std::atomic<std::uint64_t> redelivered{0};  // of the claimed: not for the first time
  std::atomic<std::uint64_t> acked{0};
  std::atomic<std::uint64_t> fenced{0};
  std::atomic<std::uint64_t> leases_ended{0};
  std::atomic<std::uint64_t> dead{0};
};

struct ClaimedDeliveries {
  std::string owner;  // the lease
  TimeMs lease_until;
  std::vector<Delivery> deliveries;
};

class Deliveries {
 public:
  // All must outlive it.
  Deliveries(BrokerStore& store, Clock& clock, Random& random, DeliveryRules rules);

  struct Claim {
    std::string member_id;
    std::uint32_t limit = 0;
    std::string owner = {};                // empty: a lease of its own
    std::uint64_t most_bytes = 4U << 20U;  // of bodies
  };
  Result<ClaimedDeliveries> claim(const Claim& claim);
  Result<AckOutcome> acknowledge(const AckRequest& request);
  // For an owner of several claims.
  std::string new_owner() { return next_owner(clock_.now()); }
  // What the owner holds can be claimed by others at once. Nothing is written when it holds
  // nothing.
  Result<void> release(const std::string& member_id, const std::string& owner);

  // The jobs; see delivery_rows.h. Nothing is written when nothing has ended.
  Result<LeaseSweep> end_leases();
  Result<std::uint64_t> end_overdue();

  [[nodiscard]] const DeliveryCounters& counters() const { return counters_; }
  [[nodiscard]] const DeliveryRules& rules() const { return rules_; }

 private:
  using Rows = std::vector<ClaimedRow>;

  std::vector<Result<Rows>> claim_group(const std::vector<ClaimRequest>& requests);
  std::vector<Result<AckOutcome>> ack_group(const std::vector<AckRequest>& requests);
  std::string next_owner(TimeMs now);

  BrokerStore& store_;
  Clock& clock_;
  Random& random_;
  const DeliveryRules rules_;
  DeliveryCounters counters_;
  GroupRunner<ClaimRequest, Rows> claims_;
  GroupRunner<AckRequest, AckOutcome> acks_;
  std::mutex owner_mutex_;
  UlidSequence owners_;  // guarded by owner_mutex_
};

}  // namespace holdfast::delivery
