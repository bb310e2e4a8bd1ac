// The rows of deliveries: claimed under a lease, acknowledged, released, ended, replayed and
// listed. A delivery belongs to one recipient and is queued, leased, delivered or dead.
//
// Deliveries with the same recipient, sender, destination and priority form a lane. A claim takes
// the deliveries of a lane in the order of their history sequence, and none of a lane in which
// another owner holds a delivery: a message never overtakes an earlier one of its lane.
//
// Every function runs inside a transaction of BrokerStore; those that change rows inside deliver().
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/fields.h"
#include "delivery/broker/sql_session.h"
#include "delivery/contract/envelope.h"
#include "holdfast/result.h"

namespace holdfast::delivery {

struct DeliveryRules {
  std::int64_t lease_ms = 30'000;
  // A delivery that was claimed so often is dead when its lease ends.
  std::uint32_t most_attempts = 100;
  // A delivery that was not claimed and acknowledged within this time is dead. Receivers must
  // remember the ids of messages for longer.
  std::int64_t ttl_ms = 30 * std::int64_t{86'400'000};
};

struct ClaimRequest {
  std::string member_id;
  std::string owner;  // of the lease; what one owner holds does not block its own lanes
  TimeMs now;
  std::uint32_t limit = 0;       // deliveries
  std::uint64_t most_bytes = 0;  // of bodies; the first delivery is taken whatever its size
};

struct ClaimedRow {
  std::uint64_t delivery_id = 0;
  std::uint32_t attempt = 0;  // 1 for the first
};

// Leases rows of the recipient and counts the attempt. Claims for one member take turns; a revoked
// member gets none.
Result<std::vector<ClaimedRow>> claim_rows(SqlSession& session, const ClaimRequest& request,
                                           const DeliveryRules& rules);

// A delivery with its message.
struct Delivery {
  std::uint64_t delivery_id = 0;
  std::uint32_t attempt = 0;
  std::string broker_message_id;
  std::string client_message_id;
  std::string sender_pubkey;
  std::string sender_name;
  std::uint64_t history_seq = 0;
  TimeMs created_at;
  bool redacted = false;  // the envelope has neither meta nor body
  Envelope envelope;
};

// In the order of priority, then history sequence. A row whose message is gone is left out.
Result<std::vector<Delivery>> read_claimed(SqlSession& session, std::span<const ClaimedRow> rows);

struct AckRequest {
  std::string member_id;
  std::string owner;
  std::vector<std::uint64_t> delivery_ids;
};

struct AckOutcome {
  std::vector<std::uint64_t> acked;   // now or before, under this lease
  std::vector<std::uint64_t> fenced;  // not leased by this owner, or of another recipient
};

Result<AckOutcome> acknowledge_rows(SqlSession& session, const AckRequest& request, TimeMs now);

// Whether the recipient has a delivery that could be claimed, unless its lane is blocked.
Result<std::vector<bool>> have_claimable(SqlSession& session,
                                         const std::vector<std::string>& member_ids, TimeMs now);

struct LeaseSweep {
  std::uint64_t released = 0;
  std::uint64_t dead = 0;
};

// Whether a lease has ended.
Result<bool> has_ended_leases(SqlSession& session, TimeMs now);
// Ends them: the delivery is queued again, or dead after the last attempt.
Result<LeaseSweep> end_leases(SqlSession& session, TimeMs now, const DeliveryRules& rules,
                              std::uint32_t limit);
// Deliveries beyond their time.
Result<std::vector<std::uint64_t>> find_overdue(SqlSession& session, TimeMs now,
                                                const DeliveryRules& rules, std::uint32_t limit);
// Those of them that have not ended meanwhile are dead.
Result<std::uint64_t> end_overdue(SqlSession& session, std::span<const std::uint64_t> delivery_ids,
                                  TimeMs now);

HOLDFAST_ENUM(DeliveryState, queued, leased, delivered, dead);

// A delivery without its message, for lists.
struct DeliveryEntry {
  std::uint64_t delivery_id = 0;
  std::string broker_message_id;
  Destination destination;
  std::uint64_t history_seq = 0;
  std::string sender_name;
  std::string recipient_name;
  Priority priority = Priority::next;
  DeliveryState state = DeliveryState::queued;
  std::uint32_t attempts = 0;
  TimeMs created_at;
  std::optional<TimeMs> lease_until;
  std::optional<TimeMs> delivered_at;
  std::string reason;  // why it is dead
};

struct DeliveryFilter {
  std::string mesh_id;
  std::string member_id = {};               // empty: of all members
  std::optional<DeliveryState> state = {};  // none: of all states
  std::uint64_t after_id = 0;
  std::uint32_t limit = 0;
};

// In the order of their ids.
Result<std::vector<DeliveryEntry>> list_deliveries(SqlSession& session,
                                                   const DeliveryFilter& filter);

// Queues dead deliveries again, with their attempts at 0 and their full time. member_id: of this
// recipient only, unless empty. Gives the number of those that were dead.
Result<std::uint64_t> replay_rows(SqlSession& session, std::string_view mesh_id,
                                  std::string_view member_id,
                                  std::span<const std::uint64_t> delivery_ids, TimeMs now);

}  // namespace holdfast::delivery
