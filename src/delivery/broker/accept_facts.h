// What the accept transaction reads and writes about one message, for both stores.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "delivery/broker/broker_store.h"

namespace holdfast::delivery {

// Selects DestinationFacts in the order of their members, from a relation i with mesh_id,
// destination_kind, destination_ref and sender_member_id.
inline constexpr std::string_view kDestinationColumns =
    "CASE WHEN d.destination_ref IS NULL THEN 0 ELSE 1 END, COALESCE(d.last_seq, 0), "
    "CASE WHEN t.archived_at IS NULL AND m.revoked_at IS NULL THEN 0 ELSE 1 END, "
    "COALESCE(t.access, ''), COALESCE(s.role, '')";
inline constexpr std::string_view kDestinationJoins =
    " LEFT JOIN @.destination d ON d.mesh_id = i.mesh_id "
    "AND d.destination_kind = i.destination_kind AND d.destination_ref = i.destination_ref "
    "LEFT JOIN @.topic t ON i.destination_kind = 'topic' AND t.mesh_id = i.mesh_id "
    "AND t.name = i.destination_ref "
    "LEFT JOIN @.topic_subscription s ON i.destination_kind = 'topic' AND s.mesh_id = i.mesh_id "
    "AND s.topic = i.destination_ref AND s.member_id = i.sender_member_id "
    "LEFT JOIN @.member m ON i.destination_kind = 'dm' AND m.mesh_id = i.mesh_id "
    "AND m.pubkey = i.destination_ref";

// The row of a message in its queue: kQueueEntryInsert, a relation with the columns that it names,
// and kQueueEntryJoin. In a queue with lanes a message is in the lane of its sender and ordering
// key.
inline constexpr std::string_view kQueueEntryInsert =
    "INSERT INTO @.queue_entry(broker_message_id, mesh_id, queue, lane, ordering_key, rank, "
    "history_seq, state, due_at, expires_at, deliveries, lease, lease_member_id, ended_at, reason) "
    "SELECT i.broker_message_id, i.mesh_id, i.queue, CASE WHEN q.ordering = 'lanes' "
    "THEN i.sender_member_id || '/' || i.ordering_key ELSE '' END, i.ordering_key, i.rank, "
    "i.history_seq, CASE WHEN i.due_at > 0 THEN 'delayed' ELSE 'ready' END, i.due_at, "
    "i.expires_at, 0, '', '', 0, '' FROM (";
inline constexpr std::string_view kQueueEntryJoin =
    ") i JOIN @.queue q ON q.mesh_id = i.mesh_id AND q.name = i.queue";

struct DestinationFacts {
  bool exists = false;
  std::uint64_t last_seq = 0;
  bool ended = false;       // archived or revoked
  std::string access;       // of a topic: open or closed
  std::string sender_role;  // of the sender's subscription; empty: none
};

DestinationState destination_state(DestinationKind kind, const DestinationFacts& facts);

// record: the row under the key after the claim; no value: it is not there.
ClaimState claim_state(const AcceptRow& row, const std::optional<DedupeRecord>& record);

// Whether the message has left rows.
bool is_accepted(const AcceptOutcome& outcome);

// The record that an accepted message leaves.
DedupeRecord record_of(const AcceptRow& row);

// When the message of a queue is ready; 0: at once.
TimeMs due_at_of(const AcceptRow& row);

// How mentions and display names are compared: ASCII letters in lower case.
std::string name_key(std::string_view name);

}  // namespace holdfast::delivery
