#include "delivery/broker/delivery_rows.h"

#include <fmt/format.h>

#include <algorithm>

#include "holdfast/assert.h"

namespace holdfast::delivery {

namespace {

// A claim looks at so many rows beyond its limit for lanes that are not blocked.
constexpr std::int64_t kLookAhead = 1000;
constexpr std::string_view kNoAcknowledgement = "no acknowledgement after the last attempt";
constexpr std::string_view kOverdue = "not acknowledged within its time";

// The message of a delivery, whichever its table.
constexpr std::string_view kMessageOf =
    "LEFT JOIN @.topic_message {0}t ON {0}t.broker_message_id = {0}.broker_message_id "
    "LEFT JOIN @.message_queue {0}q ON {0}q.broker_message_id = {0}.broker_message_id";
constexpr std::string_view kLaneOf =
    "{0}.priority AS priority, COALESCE({0}t.sender_member_id, {0}q.sender_member_id) AS sender, "
    "COALESCE({0}t.destination_kind, {0}q.destination_kind) AS kind, "
    "COALESCE({0}t.destination_ref, {0}q.destination_ref) AS ref";

// The words of priority sort from low to now.
constexpr std::string_view kOrder = "priority DESC, history_seq, delivery_id";

std::int64_t signed_of(std::uint64_t number) { return static_cast<std::int64_t>(number); }

// $1t member, $2t owner, $3i now, $4i end of the lease, $5i most attempts, $6i limit, $7i bytes,
// $8i rows to look at.
std::string claim_statement() {
  const std::string held_lane = fmt::format(kLaneOf, "h");
  const std::string due_lane = fmt::format(kLaneOf, "d");
  const std::string held_message = fmt::format(kMessageOf, "h");
  const std::string due_message = fmt::format(kMessageOf, "d");
  return fmt::format(
      "WITH busy AS MATERIALIZED (SELECT DISTINCT {h_lane} FROM @.delivery_queue h {h_message} "
      "WHERE h.recipient_member_id = $1t AND h.state = 'leased' AND h.lease_until > $3i "
      "AND h.lease_owner <> $2t AND h.channel = 'ws') "
      "UPDATE @.delivery_queue SET state = 'leased', attempts = attempts + 1, lease_owner = $2t, "
      "lease_until = $4i WHERE delivery_id IN (SELECT y.delivery_id FROM ("
      "SELECT x.delivery_id, x.bytes, sum(x.bytes) OVER (ORDER BY x.priority DESC, x.history_seq, "
      "x.delivery_id) AS total FROM (SELECT d.delivery_id, d.history_seq, {d_lane}, "
      "COALESCE(length(dt.body), length(dq.body), 0) AS bytes FROM ("
      "SELECT * FROM @.delivery_queue WHERE recipient_member_id = $1t AND channel = 'ws' "
      "AND state IN ('queued', 'leased') AND attempts < $5i AND ((state = 'queued' "
      "AND next_attempt_at <= $3i) OR (state = 'leased' AND lease_until <= $3i)) "
      "ORDER BY {order} LIMIT $8i) d {d_message}) x WHERE NOT EXISTS (SELECT 1 FROM busy b "
      "WHERE b.priority = x.priority AND b.sender = x.sender AND b.kind = x.kind "
      "AND b.ref = x.ref) ORDER BY x.priority DESC, x.history_seq, x.delivery_id LIMIT $6i) y "
      "WHERE y.total - y.bytes < $7i) "
      // Once more, for a row that was acknowledged while the statement waited for it.
      "AND (state = 'queued' OR (state = 'leased' AND lease_until <= $3i)) "
      "RETURNING delivery_id, attempts",
      fmt::arg("h_lane", held_lane), fmt::arg("d_lane", due_lane),
      fmt::arg("h_message", held_message), fmt::arg("d_message", due_message),
      fmt::arg("order", kOrder));
}

// A statement about the rows d of delivery_queue: the columns of their lane, and their messages.
std::string with_lane_and_message(std::string_view statement) {
  const std::string lane = fmt::format(kLaneOf, "d");
  const std::string message = fmt::format(kMessageOf, "d");
  return fmt::format(fmt::runtime(statement), lane, message);
}

// The update of rows whose lease has ended after fewer attempts than allowed, or not fewer.
std::string ended_leases(std::string_view update, std::string_view attempts) {
  return fmt::format(
      "{} WHERE delivery_id IN (SELECT delivery_id FROM @.delivery_queue WHERE state = 'leased' "
      "AND lease_until <= $1i AND attempts {} $2i LIMIT $3i) AND state = 'leased' "
      "AND lease_until <= $1i",
      update, attempts);
}

std::vector<SqlParams> ids_as_params(std::span<const std::uint64_t> ids, const SqlParams& rest) {
  std::vector<SqlParams> params;
  params.reserve(ids.size());
  for (const std::uint64_t id : ids) {
    SqlParams& each = params.emplace_back(SqlParams{signed_of(id)});
    each.insert(each.end(), rest.begin(), rest.end());
  }
  return params;
}

// The statement once for each id as $1i; gives the ids for which it returned a row.
Result<std::vector<std::uint64_t>> for_each_id(SqlSession& session, std::string_view sql,
                                               std::span<const std::uint64_t> ids,
                                               const SqlParams& rest) {
  std::vector<std::uint64_t> found;
  if (ids.empty()) {
    return found;
  }
  HOLDFAST_TRY(const auto rows, session.query_each(sql, ids_as_params(ids, rest)));
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (!rows.at(i).empty()) {
      found.push_back(ids[i]);
    }
  }
  return found;
}

std::optional<TimeMs> optional_time(const SqlCell& cell) {
  return cell.null ? std::nullopt : std::optional(TimeMs{cell.integer});
}

Destination destination_of(const SqlCell& kind, const SqlCell& ref) {
  return {enum_from<DestinationKind>(kind.bytes).value_or(DestinationKind::topic), ref.bytes};
}

Priority priority_of(const SqlCell& cell) {
  return enum_from<Priority>(cell.bytes).value_or(Priority::next);
}

}  // namespace

Result<std::vector<ClaimedRow>> claim_rows(SqlSession& session, const ClaimRequest& request,
                                           const DeliveryRules& rules) {
  HOLDFAST_ASSERT(request.limit > 0 && !request.owner.empty());
  HOLDFAST_TRY(const SqlRows member,
               session.query("SELECT revoked_at FROM @.member WHERE member_id = $1t #for_update",
                             {request.member_id}));
  if (member.empty() || !member[0][0].null) {
    return std::vector<ClaimedRow>();
  }
  static const std::string text = claim_statement();
  HOLDFAST_TRY(
      const SqlRows rows,
      session.query(text, {request.member_id, request.owner, request.now.value,
                           request.now.value + rules.lease_ms, std::int64_t{rules.most_attempts},
                           std::int64_t{request.limit}, signed_of(request.most_bytes),
                           std::int64_t{request.limit} + kLookAhead}));
  std::vector<ClaimedRow> claimed;
  claimed.reserve(rows.size());
  for (const auto& row : rows) {
    claimed.push_back(
        {static_cast<std::uint64_t>(row[0].integer), static_cast<std::uint32_t>(row[1].integer)});
  }
  return claimed;
}

Result<std::vector<Delivery>> read_claimed(SqlSession& session, std::span<const ClaimedRow> rows) {
  static const std::string text = with_lane_and_message(
      "SELECT d.broker_message_id, d.history_seq, d.created_at, {}, "
      "COALESCE(dt.client_message_id, dq.client_message_id), "
      "COALESCE(dt.envelope_version, dq.envelope_version), "
      "COALESCE(dt.reply_to_id, dq.reply_to_id), COALESCE(dt.meta, dq.meta), "
      "COALESCE(dt.body, dq.body), m.pubkey, m.display_name, h.redacted_at "
      "FROM @.delivery_queue d {} "
      "LEFT JOIN @.message_history h ON h.broker_message_id = d.broker_message_id "
      "LEFT JOIN @.member m ON m.member_id = COALESCE(dt.sender_member_id, dq.sender_member_id) "
      "WHERE d.delivery_id = $1i AND COALESCE(dt.broker_message_id, dq.broker_message_id) "
      "IS NOT NULL");
  std::vector<Delivery> deliveries;
  if (rows.empty()) {
    return deliveries;
  }
  std::vector<SqlParams> params;
  for (const ClaimedRow& row : rows) {
    params.push_back({signed_of(row.delivery_id)});
  }
  HOLDFAST_TRY(const auto found, session.query_each(text, params));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (const auto& cells : found.at(i)) {
      deliveries.push_back({.delivery_id = rows[i].delivery_id,
                            .attempt = rows[i].attempt,
                            .broker_message_id = cells[0].bytes,
                            .client_message_id = cells[7].bytes,
                            .sender_pubkey = cells[12].bytes,
                            .sender_name = cells[13].bytes,
                            .history_seq = static_cast<std::uint64_t>(cells[1].integer),
                            .created_at = TimeMs{cells[2].integer},
                            .redacted = !cells[14].null,
                            .envelope = {.version = static_cast<std::uint32_t>(cells[8].integer),
                                         .destination = destination_of(cells[5], cells[6]),
                                         .reply_to = cells[9].bytes,
                                         .priority = priority_of(cells[3]),
                                         .meta = cells[10].bytes,
                                         .body = cells[11].bytes}});
    }
  }
  std::sort(deliveries.begin(), deliveries.end(), [](const Delivery& a, const Delivery& b) {
    return std::tuple(a.envelope.priority, a.history_seq, a.delivery_id) <
           std::tuple(b.envelope.priority, b.history_seq, b.delivery_id);
  });
  return deliveries;
}

Result<AckOutcome> acknowledge_rows(SqlSession& session, const AckRequest& request, TimeMs now) {
  AckOutcome outcome;
  HOLDFAST_TRY(outcome.acked,
               for_each_id(session,
                           "UPDATE @.delivery_queue SET state = 'delivered', "
                           "delivered_at = COALESCE(delivered_at, $4i), lease_until = NULL "
                           "WHERE delivery_id = $1i AND recipient_member_id = $2t "
                           "AND lease_owner = $3t AND state IN ('leased', 'delivered') "
                           "RETURNING delivery_id",
                           request.delivery_ids, {request.member_id, request.owner, now.value}));
  for (const std::uint64_t id : request.delivery_ids) {
    if (std::find(outcome.acked.begin(), outcome.acked.end(), id) == outcome.acked.end()) {
      outcome.fenced.push_back(id);
    }
  }
  return outcome;
}

Result<std::vector<bool>> have_claimable(SqlSession& session,
                                         const std::vector<std::string>& member_ids, TimeMs now) {
  std::vector<SqlParams> params;
  params.reserve(member_ids.size());
  for (const std::string& id : member_ids) {
    params.push_back({id, now.value});
  }
  std::vector<bool> have(member_ids.size());
  if (params.empty()) {
    return have;
  }
  HOLDFAST_TRY(const auto rows,
               session.query_each("SELECT 1 FROM @.delivery_queue WHERE recipient_member_id = $1t "
                                  "AND channel = 'ws' AND state IN ('queued', 'leased') "
                                  "AND (state = 'queued' OR lease_until <= $2i) LIMIT 1",
                                  params));
  for (std::size_t i = 0; i < have.size(); ++i) {
    have[i] = !rows.at(i).empty();
  }
  return have;
}

Result<bool> has_ended_leases(SqlSession& session, TimeMs now) {
  HOLDFAST_TRY(const SqlRows rows,
               session.query("SELECT 1 FROM @.delivery_queue WHERE state = 'leased' "
                             "AND lease_until <= $1i LIMIT 1",
                             {now.value}));
  return !rows.empty();
}

Result<LeaseSweep> end_leases(SqlSession& session, TimeMs now, const DeliveryRules& rules,
                              std::uint32_t limit) {
  LeaseSweep sweep;
  static const std::string to_dead = ended_leases(
      "UPDATE @.delivery_queue SET state = 'dead', lease_owner = NULL, lease_until = NULL, "
      "last_error = $4t",
      ">=");
  static const std::string to_queued = ended_leases(
      "UPDATE @.delivery_queue SET state = 'queued', lease_owner = NULL, lease_until = NULL", "<");
  const std::int64_t most = rules.most_attempts;
  HOLDFAST_TRY(sweep.dead, session.execute(to_dead, {now.value, most, std::int64_t{limit},
                                                     kNoAcknowledgement}));
  HOLDFAST_TRY(sweep.released, session.execute(to_queued, {now.value, most, std::int64_t{limit}}));
  return sweep;
}

Result<std::vector<std::uint64_t>> find_overdue(SqlSession& session, TimeMs now,
                                                const DeliveryRules& rules, std::uint32_t limit) {
  HOLDFAST_TRY(const SqlRows rows,
               session.query("SELECT delivery_id FROM @.delivery_queue WHERE state IN ('queued', "
                             "'leased') AND next_attempt_at + $2i < $1i LIMIT $3i",
                             {now.value, rules.ttl_ms, std::int64_t{limit}}));
  std::vector<std::uint64_t> ids;
  ids.reserve(rows.size());
  for (const auto& row : rows) {
    ids.push_back(static_cast<std::uint64_t>(row[0].integer));
  }
  return ids;
}

// One that is leased is left to its holder: the lease ends first.
Result<std::uint64_t> end_overdue(SqlSession& session, std::span<const std::uint64_t> delivery_ids,
                                  TimeMs now) {
  HOLDFAST_TRY(const auto ended,
               for_each_id(session,
                           "UPDATE @.delivery_queue SET state = 'dead', lease_owner = NULL, "
                           "lease_until = NULL, last_error = $2t WHERE delivery_id = $1i "
                           "AND (state = 'queued' OR (state = 'leased' AND lease_until <= $3i)) "
                           "RETURNING delivery_id",
                           delivery_ids, {kOverdue, now.value}));
  return ended.size();
}

Result<std::vector<DeliveryEntry>> list_deliveries(SqlSession& session,
                                                   const DeliveryFilter& filter) {
  static const std::string text = with_lane_and_message(
      "SELECT d.delivery_id, d.broker_message_id, d.history_seq, d.state, d.attempts, "
      "d.created_at, d.lease_until, d.delivered_at, COALESCE(d.last_error, ''), {}, "
      "COALESCE(s.display_name, ''), COALESCE(r.display_name, '') FROM @.delivery_queue d {} "
      "LEFT JOIN @.member s ON s.member_id = COALESCE(dt.sender_member_id, dq.sender_member_id) "
      "LEFT JOIN @.member r ON r.member_id = d.recipient_member_id "
      "WHERE d.mesh_id = $1t AND ($2t = '' OR d.recipient_member_id = $2t) "
      "AND COALESCE(dt.broker_message_id, dq.broker_message_id) IS NOT NULL "
      "AND d.delivery_id > $3i");
  // The state stands in the text: dead rows have an index of their own.
  const std::string state =
      filter.state.has_value() ? fmt::format(" AND d.state = '{}'", to_text(*filter.state)) : "";
  HOLDFAST_TRY(const SqlRows rows,
               session.query(text + state + " ORDER BY d.delivery_id LIMIT $4i",
                             {filter.mesh_id, filter.member_id, signed_of(filter.after_id),
                              std::int64_t{filter.limit}}));
  std::vector<DeliveryEntry> entries;
  entries.reserve(rows.size());
  for (const auto& row : rows) {
    entries.push_back(
        {.delivery_id = static_cast<std::uint64_t>(row[0].integer),
         .broker_message_id = row[1].bytes,
         .destination = destination_of(row[11], row[12]),
         .history_seq = static_cast<std::uint64_t>(row[2].integer),
         .sender_name = row[13].bytes,
         .recipient_name = row[14].bytes,
         .priority = priority_of(row[9]),
         .state = enum_from<DeliveryState>(row[3].bytes).value_or(DeliveryState::queued),
         .attempts = static_cast<std::uint32_t>(row[4].integer),
         .created_at = TimeMs{row[5].integer},
         .lease_until = optional_time(row[6]),
         .delivered_at = optional_time(row[7]),
         .reason = row[8].bytes});
  }
  return entries;
}

Result<std::uint64_t> replay_rows(SqlSession& session, std::string_view mesh_id,
                                  std::string_view member_id,
                                  std::span<const std::uint64_t> delivery_ids, TimeMs now) {
  HOLDFAST_TRY(const auto replayed,
               for_each_id(session,
                           "UPDATE @.delivery_queue SET state = 'queued', attempts = 0, "
                           "next_attempt_at = $4i, last_error = NULL WHERE delivery_id = $1i "
                           "AND mesh_id = $2t AND ($3t = '' OR recipient_member_id = $3t) "
                           "AND state = 'dead' RETURNING delivery_id",
                           delivery_ids, {mesh_id, member_id, now.value}));
  return replayed.size();
}

}  // namespace holdfast::delivery
