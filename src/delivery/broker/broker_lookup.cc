#include "delivery/broker/broker_lookup.h"

#include "holdfast/assert.h"

namespace holdfast::delivery {

namespace {

constexpr std::string_view kLookup =
    "SELECT w.mesh_id, w.slug, w.body_form, w.dedupe_mode, w.dedupe_retention_days, "
    "w.message_retention_days, w.rate_limit_per_window, w.window_seconds, w.max_inline_bytes, "
    "m.member_id, m.mesh_id, m.pubkey, m.revoked_at, "
    "d.broker_message_id, d.history_id, d.request_fingerprint, d.first_seen_at, "
    "d.history_available "
    "FROM (SELECT $1t AS slug, $2b AS token_hash, $3t AS client_message_id) i "
    "LEFT JOIN @.mesh w ON w.slug = i.slug "
    "LEFT JOIN @.member m ON m.token_hash = i.token_hash "
    "LEFT JOIN @.client_message_dedupe d ON d.mesh_id = w.mesh_id AND m.mesh_id = w.mesh_id "
    "AND d.sender_member_id = m.member_id AND d.client_message_id = i.client_message_id";

template <typename T>
T number(const SqlCell& cell) {
  return static_cast<T>(cell.integer);
}

CallerState caller_state(const std::vector<SqlCell>& row) {
  if (row[9].null) {
    return CallerState::unauthenticated;
  }
  if (row[0].null) {
    return CallerState::no_workspace;
  }
  if (row[10].bytes != row[0].bytes) {
    return CallerState::stranger;
  }
  return row[12].null ? CallerState::member : CallerState::revoked;
}

DedupeRecord record_at(const std::vector<SqlCell>& row, std::size_t first) {
  return {row[first].bytes, row[first + 1].bytes, digest_of(row[first + 2]),
          TimeMs{row[first + 3].integer}, row[first + 4].integer != 0};
}

LookupResult result_of(const std::vector<SqlCell>& row) {
  LookupResult result;
  result.caller = caller_state(row);
  if (result.caller == CallerState::unauthenticated || result.caller == CallerState::no_workspace) {
    return result;
  }
  result.workspace = {
      .mesh_id = row[0].bytes,
      .slug = row[1].bytes,
      .body_form = enum_from<BodyForm>(row[2].bytes).value_or(BodyForm::plain),
      .dedupe = {enum_from<DedupeMode>(row[3].bytes).value_or(DedupeMode::retention_scoped),
                 number<std::uint32_t>(row[4])},
      .message_retention_days = number<std::uint32_t>(row[5]),
      .rate_limit_per_window = number<std::uint64_t>(row[6]),
      .window_seconds = number<std::uint32_t>(row[7]),
      .max_inline_bytes = number<std::uint64_t>(row[8])};
  if (result.caller == CallerState::member) {
    result.member_id = row[9].bytes;
    result.pubkey = row[11].bytes;
    if (!row[13].null) {
      result.dedupe = record_at(row, 13);
    }
  }
  return result;
}

}  // namespace

Result<std::vector<LookupResult>> look_up(SqlSession& session, std::span<const LookupKey> keys) {
  std::vector<SqlParams> params;
  params.reserve(keys.size());
  for (const LookupKey& key : keys) {
    params.push_back({key.slug, sql_bytes(key.token_hash), key.client_message_id});
  }
  HOLDFAST_TRY(const std::vector<SqlRows> found, session.query_each(kLookup, params));
  std::vector<LookupResult> results;
  results.reserve(keys.size());
  for (const SqlRows& rows : found) {
    HOLDFAST_ASSERT(rows.size() == 1);
    results.push_back(result_of(rows.front()));
  }
  return results;
}

Result<std::optional<DedupeRecord>> find_dedupe(SqlSession& session, std::string_view mesh_id,
                                                std::string_view member_id,
                                                const ClientMessageId& id) {
  HOLDFAST_TRY(const SqlRows rows,
               session.query("SELECT broker_message_id, history_id, request_fingerprint, "
                             "first_seen_at, history_available FROM @.client_message_dedupe "
                             "WHERE mesh_id = $1t AND sender_member_id = $2t "
                             "AND client_message_id = $3t",
                             {mesh_id, member_id, id.text()}));
  return rows.empty() ? std::nullopt : std::optional(record_at(rows.front(), 0));
}

Result<std::vector<HistoryEntry>> read_history(SqlSession& session, std::string_view mesh_id,
                                               const Destination& destination,
                                               std::uint64_t after_seq, std::uint32_t limit) {
  HOLDFAST_TRY(
      const SqlRows rows,
      session.query("SELECT h.history_seq, h.history_id, h.broker_message_id, h.pruned_at, "
                    "COALESCE(t.sender_member_id, q.sender_member_id), "
                    "COALESCE(t.client_message_id, q.client_message_id), "
                    "COALESCE(t.body, q.body) FROM @.message_history h "
                    "LEFT JOIN @.topic_message t ON t.broker_message_id = h.broker_message_id "
                    "LEFT JOIN @.message_queue q ON q.broker_message_id = h.broker_message_id "
                    "WHERE h.mesh_id = $1t AND h.destination_kind = $2t "
                    "AND h.destination_ref = $3t AND h.history_seq > $4i "
                    "ORDER BY h.history_seq LIMIT $5i",
                    {mesh_id, to_text(destination.kind), destination.ref,
                     static_cast<std::int64_t>(after_seq), std::int64_t{limit}}));
  std::vector<HistoryEntry> entries;
  entries.reserve(rows.size());
  for (const auto& row : rows) {
    entries.push_back({number<std::uint64_t>(row[0]), row[1].bytes, row[2].bytes, !row[3].null,
                       row[4].bytes, row[5].bytes, row[6].bytes});
  }
  return entries;
}

Result<std::vector<MentionEntry>> read_mentions(SqlSession& session, std::string_view mesh_id,
                                                std::string_view pubkey, std::string_view after_id,
                                                std::uint32_t limit) {
  HOLDFAST_TRY(const SqlRows rows,
               session.query("SELECT i.broker_message_id, i.history_seq FROM @.mention_index i "
                             "JOIN @.message_history h ON h.broker_message_id = "
                             "i.broker_message_id AND h.pruned_at IS NULL "
                             "WHERE i.mesh_id = $1t AND i.mentioned_pubkey = $2t "
                             "AND i.broker_message_id > $3t ORDER BY i.broker_message_id LIMIT $4i",
                             {mesh_id, pubkey, after_id, std::int64_t{limit}}));
  std::vector<MentionEntry> entries;
  entries.reserve(rows.size());
  for (const auto& row : rows) {
    entries.push_back({row[0].bytes, number<std::uint64_t>(row[1])});
  }
  return entries;
}

}  // namespace holdfast::delivery
