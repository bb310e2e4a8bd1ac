#include "delivery/broker/postgres_accept_sql.h"

#include <fmt/format.h>

#include <initializer_list>
#include <string_view>

#include "delivery/broker/accept_facts.h"

namespace holdfast::delivery {

namespace {

// The arrays as a relation i with ord. A name ends with its type: mesh_id:t is a text,
// first_seen_at:i an integer, body:b bytes.
std::string relation(std::initializer_list<std::string_view> columns) {
  std::string arrays;
  std::string names;
  int number = 0;
  for (const std::string_view column : columns) {
    const std::string_view type =
        column.ends_with(":b") ? "bytea" : (column.ends_with(":i") ? "bigint" : "text");
    arrays += fmt::format("{}${}::{}[]", number == 0 ? "" : ", ", number + 1, type);
    names += fmt::format("{}, ", column.substr(0, column.size() - 2));
    ++number;
  }
  return fmt::format("unnest({}) WITH ORDINALITY AS i({}ord)", arrays, names);
}

std::string keys() { return relation({"mesh_id:t", "sender_member_id:t", "client_message_id:t"}); }

constexpr std::string_view kSameKey =
    "d.mesh_id = i.mesh_id AND d.sender_member_id = i.sender_member_id "
    "AND d.client_message_id = i.client_message_id";

// The deliveries of `recipients`, then the messages with their number.
std::string message_sql(const std::string& s, std::string_view table, std::string_view recipients) {
  return fmt::format(
      "WITH i AS MATERIALIZED (SELECT * FROM {0}), sent AS (INSERT INTO {1}delivery_queue("
      "mesh_id, recipient_member_id, broker_message_id, channel, endpoint_id, history_seq, "
      "priority, state, attempts, next_attempt_at, created_at) SELECT i.mesh_id, m.member_id, "
      "i.broker_message_id, 'ws', '', i.history_seq, i.priority, 'queued', 0, i.created_at, "
      "i.created_at FROM i {3} RETURNING broker_message_id), counted AS (SELECT broker_message_id, "
      "count(*) AS copies FROM sent GROUP BY broker_message_id) INSERT INTO {1}{2}("
      "broker_message_id, mesh_id, destination_kind, destination_ref, sender_member_id, "
      "client_message_id, envelope_version, priority, reply_to_id, meta, body, created_at, "
      "fanout_count) SELECT i.broker_message_id, i.mesh_id, i.destination_kind, "
      "i.destination_ref, i.sender_member_id, i.client_message_id, i.envelope_version, i.priority, "
      "i.reply_to_id, i.meta, i.body, i.created_at, COALESCE(c.copies, 0) FROM i LEFT JOIN "
      "counted c ON c.broker_message_id = i.broker_message_id "
      "RETURNING broker_message_id, fanout_count",
      relation({"broker_message_id:t", "mesh_id:t", "destination_kind:t", "destination_ref:t",
                "sender_member_id:t", "client_message_id:t", "envelope_version:i", "priority:t",
                "reply_to_id:t", "meta:t", "body:b", "created_at:i", "history_seq:i"}),
      s, table, recipients);
}

}  // namespace

std::string claim_sql(const std::string& s) {
  return fmt::format(
      "INSERT INTO {}client_message_dedupe(mesh_id, sender_member_id, client_message_id, "
      "broker_message_id, history_id, request_fingerprint, destination_kind, destination_ref, "
      "first_seen_at, expires_at, history_available) SELECT mesh_id, sender_member_id, "
      "client_message_id, broker_message_id, history_id, request_fingerprint, destination_kind, "
      "destination_ref, first_seen_at, NULLIF(expires_at, 0), 1 FROM {} ORDER BY mesh_id, "
      "sender_member_id, client_message_id ON CONFLICT DO NOTHING",
      s,
      relation({"mesh_id:t", "sender_member_id:t", "client_message_id:t", "broker_message_id:t",
                "history_id:t", "request_fingerprint:b", "destination_kind:t", "destination_ref:t",
                "first_seen_at:i", "expires_at:i"}));
}

std::string records_sql(const std::string& s) {
  return fmt::format(
      "SELECT i.ord, d.broker_message_id, d.history_id, d.request_fingerprint, d.first_seen_at, "
      "d.history_available FROM {} JOIN {}client_message_dedupe d ON {}",
      keys(), s, kSameKey);
}

std::string lock_sql(const std::string& s) {
  return fmt::format(
      "SELECT d.last_seq FROM {}destination d WHERE (d.mesh_id, d.destination_kind, "
      "d.destination_ref) IN (SELECT mesh_id, destination_kind, destination_ref FROM {}) "
      "ORDER BY d.mesh_id, d.destination_kind, d.destination_ref FOR UPDATE",
      s, relation({"mesh_id:t", "destination_kind:t", "destination_ref:t"}));
}

std::string destinations_sql(const std::string& s) {
  return fmt::format(
      "SELECT {} FROM {}{} ORDER BY i.ord", kDestinationColumns,
      relation({"mesh_id:t", "destination_kind:t", "destination_ref:t", "sender_member_id:t"}),
      translate_sql(kDestinationJoins, SqlDialect::postgres, s));
}

std::string release_sql(const std::string& s) {
  return fmt::format("DELETE FROM {}client_message_dedupe d USING {} WHERE {}", s, keys(),
                     kSameKey);
}

std::string topic_message_sql(const std::string& s) {
  return message_sql(
      s, "topic_message",
      fmt::format("JOIN {0}topic t ON t.mesh_id = i.mesh_id AND t.name = i.destination_ref "
                  "JOIN {0}topic_subscription m ON m.mesh_id = i.mesh_id "
                  "AND m.topic = i.destination_ref "
                  "WHERE t.sender_copy = 'include' OR m.member_id <> i.sender_member_id",
                  s));
}

std::string queue_message_sql(const std::string& s) {
  return message_sql(s, "message_queue",
                     fmt::format("JOIN {}member m ON i.destination_kind = 'dm' "
                                 "AND m.mesh_id = i.mesh_id AND m.pubkey = i.destination_ref",
                                 s));
}

std::string queue_entry_sql(const std::string& s) {
  return fmt::format(
      "{}SELECT * FROM {}{}", translate_sql(kQueueEntryInsert, SqlDialect::postgres, s),
      relation({"broker_message_id:t", "mesh_id:t", "queue:t", "sender_member_id:t",
                "ordering_key:t", "rank:i", "history_seq:i", "due_at:i", "expires_at:i"}),
      translate_sql(kQueueEntryJoin, SqlDialect::postgres, s));
}

std::string history_sql(const std::string& s) {
  return fmt::format(
      "INSERT INTO {}message_history(mesh_id, destination_kind, destination_ref, history_seq, "
      "history_id, broker_message_id, created_at) SELECT mesh_id, destination_kind, "
      "destination_ref, history_seq, history_id, broker_message_id, created_at FROM {}",
      s,
      relation({"mesh_id:t", "destination_kind:t", "destination_ref:t", "history_seq:i",
                "history_id:t", "broker_message_id:t", "created_at:i"}));
}

std::string advance_sql(const std::string& s) {
  return fmt::format(
      "UPDATE {}destination d SET last_seq = i.history_seq FROM {} WHERE d.mesh_id = i.mesh_id "
      "AND d.destination_kind = i.destination_kind AND d.destination_ref = i.destination_ref",
      s, relation({"mesh_id:t", "destination_kind:t", "destination_ref:t", "history_seq:i"}));
}

std::string mention_sql(const std::string& s) {
  return fmt::format(
      "INSERT INTO {0}mention_index(mesh_id, mentioned_pubkey, broker_message_id, history_seq) "
      "SELECT m.mesh_id, m.pubkey, i.broker_message_id, i.history_seq FROM {1} JOIN {0}member m "
      "ON m.mesh_id = i.mesh_id AND (m.pubkey = i.mention OR m.name_key = i.mention_key) "
      "WHERE m.member_id <> i.sender_member_id AND m.revoked_at IS NULL ON CONFLICT DO NOTHING",
      s,
      relation({"mesh_id:t", "sender_member_id:t", "broker_message_id:t", "history_seq:i",
                "mention:t", "mention_key:t"}));
}

}  // namespace holdfast::delivery
