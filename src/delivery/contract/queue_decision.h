// The rules of queues: where a message is when a consumer has ended or lost its lease, and which
// messages a claim takes.
//
// A message of a queue is ready, delayed, leased, done, dead or discarded. Order: a claim takes
// ready messages by priority, then in the order in which they were accepted. In a queue of order
// `shared` that is all: consumers work side by side, and a message that comes again takes its old
// place. In a queue of order `lanes` the messages with the same sender, priority and ordering key
// are a lane: while one of them has not ended, those behind it wait, unless the same lease takes
// them. A lane never holds up another one.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/fields.h"

namespace holdfast::delivery {

HOLDFAST_ENUM(QueueState, ready, delayed, leased, done, dead, discarded);
HOLDFAST_ENUM(QueueOrder, shared, lanes);
// Who may claim: every member of the workspace, or those that were granted it.
HOLDFAST_ENUM(QueueAccess, open, closed);

inline constexpr std::int64_t kLongestLeaseMs = 12 * 3'600'000;
inline constexpr std::uint32_t kMostDeliveries = 10'000;

struct QueueSettings {
  QueueOrder order = QueueOrder::shared;
  QueueAccess access = QueueAccess::open;
  std::uint32_t max_deliveries = 20;  // 0: no limit
  std::int64_t lease_ms = 30'000;     // unless a claim names another
};

// What changes about a message of a queue.
struct QueuePlace {
  QueueState state = QueueState::ready;
  TimeMs due_at = {};                // of delayed and leased
  TimeMs expires_at = {};            // 0: never
  std::uint32_t deliveries = 0;      // how often it was leased
  std::string lease = {};            // the newest; it stays when the message is done
  std::string lease_member_id = {};  // likewise
  TimeMs ended_at = {};              // of done, dead and discarded
  std::string reason = {};           // of dead and discarded

  friend bool operator==(const QueuePlace&, const QueuePlace&) = default;
};

struct QueueLease {
  std::string_view token;
  std::string_view member_id;
};

// A delayed message whose time has come, a lease that has ended, or a message that has expired:
// what it is from then on. A message in the hands of a consumer does not expire.
QueuePlace advance_place(const QueuePlace& place, const QueueSettings& settings, TimeMs now);

// Leases a ready message.
QueuePlace lease_place(const QueuePlace& place, const QueueLease& lease, TimeMs now,
                       std::int64_t lease_ms);

// How a consumer ends or keeps its lease on a message.
struct QueueSettlement {
  enum class Kind : std::uint8_t { ack, nack, extend };
  Kind kind = Kind::ack;
  std::int64_t delay_ms = 0;     // nack: until it is ready again
  std::int64_t lease_ms = 0;     // extend: from now
  std::string_view reason = {};  // nack: kept if the message is dead now
};

HOLDFAST_ENUM(QueueFence, unknown_message, other_lease, lease_ended, already_ended);

struct Settled {
  std::optional<QueueFence> fence;  // why nothing was changed
  QueuePlace place;                 // afterwards
};

// place: none when the queue has no such message. A lease counts until it is ended: by its own
// holder, by another claim, or by a job. Repeating an ack changes nothing and succeeds.
Settled settle_place(const std::optional<QueuePlace>& place, const QueueLease& lease,
                     const QueueSettlement& settlement, const QueueSettings& settings, TimeMs now);

// Ready again, from the beginning.
QueuePlace redrive_place(const QueuePlace& dead, TimeMs now, std::int64_t delay_ms);
// Ended by its sender or an operator: dead, with their reason, or discarded.
QueuePlace bury_place(const QueuePlace& place, TimeMs now, std::string_view reason);
QueuePlace discard_place(const QueuePlace& place, TimeMs now, std::string_view reason);

// A message that a claim could take.
struct QueueCandidate {
  std::string broker_message_id = {};
  std::uint32_t rank = 0;  // by priority: 0 comes first
  std::uint64_t history_seq = 0;
  std::uint64_t bytes = 0;
  QueuePlace place = {};
};

struct QueueClaimLimits {
  std::uint32_t messages = 1;
  std::uint64_t bytes = 0;  // of bodies; the first message is taken whatever its size
};

// Which of the candidates, which are in their order, a claim takes: their indexes. Those that are
// not ready, or have expired, are passed over.
std::vector<std::size_t> choose_shared(std::span<const QueueCandidate> candidates,
                                       const QueueClaimLimits& limits, TimeMs now);

// The messages of a lane that have not ended, from its head on, as far as they were read.
using QueueLane = std::vector<QueueCandidate>;

// Which messages a claim takes under the lease, as (lane, index) in the order in which it gets
// them. A lane is taken from behind what the lease holds in it, up to the first message that is
// neither held by the lease nor ready.
struct QueueChoice {
  std::size_t lane = 0;
  std::size_t index = 0;
  friend bool operator==(const QueueChoice&, const QueueChoice&) = default;
};
std::vector<QueueChoice> choose_lanes(std::span<const QueueLane> lanes, std::string_view lease,
                                      const QueueClaimLimits& limits, TimeMs now);

}  // namespace holdfast::delivery
