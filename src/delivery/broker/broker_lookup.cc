#include "delivery/broker/broker_lookup.h"

#include <fmt/format.h>

#include "delivery/broker/accept_facts.h"
#include "delivery/broker/workspace_row.h"
#include "holdfast/assert.h"

namespace holdfast::delivery {

namespace {

// Columns: the workspace, then the member, then the dedupe row.
constexpr std::size_t kMemberAt = kWorkspaceColumnCount;
constexpr std::size_t kTokenHashAt = kMemberAt + 4;
constexpr std::size_t kRecordAt = kMemberAt + 5;
constexpr std::string_view kMemberColumns =
    "m.member_id, m.mesh_id, m.pubkey, m.revoked_at, m.token_hash";
constexpr std::size_t kTokenKeyBytes = 8;  // as in the index

// PostgreSQL plans the query for a table of any size, perhaps an empty one, and then may find a row
// by some columns of its key and search for the others. In a query of its own they are all known.
constexpr std::string_view kDedupeJoin =
    "LEFT JOIN @.client_message_dedupe d ON d.mesh_id = w.mesh_id AND m.mesh_id = w.mesh_id "
    "AND d.sender_member_id = m.member_id AND d.client_message_id = i.client_message_id";
constexpr std::string_view kLateralDedupeJoin =
    "LEFT JOIN LATERAL (SELECT * FROM @.client_message_dedupe r WHERE r.mesh_id = m.mesh_id "
    "AND r.sender_member_id = m.member_id AND r.client_message_id = i.client_message_id OFFSET 0) "
    "d "
    "ON m.mesh_id = w.mesh_id";

std::string lookup_query(std::string_view dedupe_join) {
  return fmt::format(
      "SELECT {}, {}, d.broker_message_id, d.history_id, d.request_fingerprint, d.first_seen_at, "
      "d.history_available "
      "FROM (SELECT $1t AS slug, $2b AS token_key, $3t AS client_message_id) i "
      "LEFT JOIN @.mesh w ON w.slug = i.slug "
      "LEFT JOIN @.member m ON substr(m.token_hash, 1, 8) = i.token_key {}",
      kWorkspaceColumns, kMemberColumns, dedupe_join);
}

const std::string& lookup_query(SqlDialect dialect) {
  static const std::string sqlite = lookup_query(kDedupeJoin);
  static const std::string postgres = lookup_query(kLateralDedupeJoin);
  return dialect == SqlDialect::sqlite ? sqlite : postgres;
}

template <typename T>
T number(const SqlCell& cell) {
  return static_cast<T>(cell.integer);
}

SqlBytes token_key(const Digest& token_hash) {
  return {sql_bytes(token_hash).bytes.substr(0, kTokenKeyBytes)};
}

CallerState caller_state(const std::vector<SqlCell>& row) {
  if (row[kMemberAt].null) {
    return CallerState::unauthenticated;
  }
  if (row[0].null) {
    return CallerState::no_workspace;
  }
  if (row[kMemberAt + 1].bytes != row[0].bytes) {
    return CallerState::stranger;
  }
  return row[kMemberAt + 3].null ? CallerState::member : CallerState::revoked;
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
  result.workspace = workspace_of(row);
  if (result.caller == CallerState::member) {
    result.member_id = row[kMemberAt].bytes;
    result.pubkey = row[kMemberAt + 2].bytes;
    if (row.size() > kRecordAt && !row[kRecordAt].null) {
      result.dedupe = record_at(row, kRecordAt);
    }
  }
  return result;
}

// Of the members whose hashes begin alike, the one that has the token.
LookupResult result_among(const SqlRows& rows, const Digest& token_hash) {
  LookupResult result;
  for (const auto& row : rows) {
    if (equal_secrets(row[kTokenHashAt].bytes, sql_bytes(token_hash).bytes)) {
      result = result_of(row);
    }
  }
  return result;
}

}  // namespace

Result<std::vector<LookupResult>> look_up(SqlSession& session, std::span<const LookupKey> keys) {
  std::vector<SqlParams> params;
  params.reserve(keys.size());
  for (const LookupKey& key : keys) {
    params.push_back({key.slug, token_key(key.token_hash), key.client_message_id});
  }
  HOLDFAST_TRY(const std::vector<SqlRows> found,
               session.query_each(lookup_query(session.dialect()), params));
  std::vector<LookupResult> results;
  results.reserve(keys.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    results.push_back(result_among(found[i], keys[i].token_hash));
  }
  return results;
}

Result<LookupResult> find_caller(SqlSession& session, const Digest& token_hash) {
  static const std::string text = fmt::format(
      "SELECT {}, {} FROM @.member m JOIN @.mesh w ON w.mesh_id = m.mesh_id "
      "WHERE substr(m.token_hash, 1, 8) = $1b",
      kWorkspaceColumns, kMemberColumns);
  HOLDFAST_TRY(const SqlRows rows, session.query(text, {token_key(token_hash)}));
  return result_among(rows, token_hash);
}

Result<LookupResult> find_member_by_key(SqlSession& session, std::string_view slug,
                                        std::string_view pubkey) {
  static const std::string text = fmt::format(
      "SELECT {}, {} FROM @.mesh w JOIN @.member m ON m.mesh_id = w.mesh_id "
      "WHERE w.slug = $1t AND m.pubkey = $2t",
      kWorkspaceColumns, kMemberColumns);
  HOLDFAST_TRY(const SqlRows rows, session.query(text, {slug, pubkey}));
  return rows.empty() ? LookupResult() : result_of(rows.front());
}

Result<std::optional<Rejection>> check_readable(SqlSession& session, const LookupResult& caller,
                                                const Destination& destination) {
  static const std::string text = fmt::format(
      "SELECT {} FROM (SELECT $1t AS mesh_id, $2t AS destination_kind, $3t AS destination_ref, "
      "$4t AS sender_member_id) i{}",
      kDestinationColumns, kDestinationJoins);
  if (destination.kind == DestinationKind::dm && destination.ref != caller.pubkey) {
    return std::optional(Rejection::not_allowed);
  }
  HOLDFAST_TRY(const SqlRows rows,
               session.query(text, {caller.workspace.mesh_id, to_text(destination.kind),
                                    destination.ref, caller.member_id}));
  HOLDFAST_ASSERT(rows.size() == 1);
  const auto& row = rows.front();
  if (row[0].integer == 0) {
    return std::optional(Rejection::unknown_destination);
  }
  const bool closed = row[3].bytes == to_text(TopicAccess::closed) && row[4].bytes.empty();
  return closed ? std::optional(Rejection::not_allowed) : std::nullopt;
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
                    "COALESCE(t.body, q.body), h.created_at, "
                    "COALESCE(t.priority, q.priority), COALESCE(t.reply_to_id, q.reply_to_id), "
                    "COALESCE(t.meta, q.meta), m.pubkey, m.display_name, h.redacted_at "
                    "FROM @.message_history h "
                    "LEFT JOIN @.topic_message t ON t.broker_message_id = h.broker_message_id "
                    "LEFT JOIN @.message_queue q ON q.broker_message_id = h.broker_message_id "
                    "LEFT JOIN @.member m ON m.member_id = "
                    "COALESCE(t.sender_member_id, q.sender_member_id) "
                    "WHERE h.mesh_id = $1t AND h.destination_kind = $2t "
                    "AND h.destination_ref = $3t AND h.history_seq > $4i "
                    "ORDER BY h.history_seq LIMIT $5i",
                    {mesh_id, to_text(destination.kind), destination.ref,
                     static_cast<std::int64_t>(after_seq), std::int64_t{limit}}));
  std::vector<HistoryEntry> entries;
  entries.reserve(rows.size());
  for (const auto& row : rows) {
    entries.push_back({.history_seq = number<std::uint64_t>(row[0]),
                       .history_id = row[1].bytes,
                       .broker_message_id = row[2].bytes,
                       .created_at = TimeMs{row[7].integer},
                       .pruned = !row[3].null,
                       .redacted = !row[13].null,
                       .sender_member_id = row[4].bytes,
                       .sender_pubkey = row[11].bytes,
                       .sender_name = row[12].bytes,
                       .client_message_id = row[5].bytes,
                       .priority = enum_from<Priority>(row[8].bytes).value_or(Priority::next),
                       .reply_to_id = row[9].bytes,
                       .meta = row[10].bytes,
                       .body = row[6].bytes});
  }
  return entries;
}

Result<std::vector<MentionEntry>> read_mentions(SqlSession& session, std::string_view mesh_id,
                                                std::string_view pubkey, std::string_view after_id,
                                                std::uint32_t limit) {
  HOLDFAST_TRY(const SqlRows rows,
               session.query("SELECT i.broker_message_id, i.history_seq, h.destination_kind, "
                             "h.destination_ref, h.created_at FROM @.mention_index i "
                             "JOIN @.message_history h ON h.broker_message_id = "
                             "i.broker_message_id AND h.pruned_at IS NULL "
                             "WHERE i.mesh_id = $1t AND i.mentioned_pubkey = $2t "
                             "AND i.broker_message_id > $3t ORDER BY i.broker_message_id LIMIT $4i",
                             {mesh_id, pubkey, after_id, std::int64_t{limit}}));
  std::vector<MentionEntry> entries;
  entries.reserve(rows.size());
  for (const auto& row : rows) {
    entries.push_back(
        {row[0].bytes,
         number<std::uint64_t>(row[1]),
         {enum_from<DestinationKind>(row[2].bytes).value_or(DestinationKind::topic), row[3].bytes},
         TimeMs{row[4].integer}});
  }
  return entries;
}

}  // namespace holdfast::delivery
