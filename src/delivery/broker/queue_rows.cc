#include "delivery/broker/queue_rows.h"

#include <fmt/format.h>

#include <algorithm>

#include "holdfast/assert.h"

namespace holdfast::delivery {

namespace {

// Of an entry e; read by place_at.
constexpr std::string_view kPlace =
    "e.state, e.due_at, e.expires_at, e.deliveries, e.lease, e.lease_member_id, e.ended_at, "
    "e.reason";
constexpr std::size_t kPlaceCells = 8;
constexpr std::string_view kOfQueue = "e.mesh_id = $1t AND e.queue = $2t";

using Cells = std::vector<SqlCell>;

QueuePlace place_at(const Cells& row, std::size_t first) {
  return {.state = enum_from<QueueState>(row.at(first).bytes).value_or(QueueState::dead),
          .due_at = TimeMs{row.at(first + 1).integer},
          .expires_at = TimeMs{row.at(first + 2).integer},
          .deliveries = static_cast<std::uint32_t>(row.at(first + 3).integer),
          .lease = row.at(first + 4).bytes,
          .lease_member_id = row.at(first + 5).bytes,
          .ended_at = TimeMs{row.at(first + 6).integer},
          .reason = row.at(first + 7).bytes};
}

constexpr std::string_view kSettings = "q.ordering, q.access, q.max_deliveries, q.lease_ms";

// broker_message_id, then the place.
std::vector<PlaceRow> place_rows(const SqlRows& rows) {
  std::vector<PlaceRow> places;
  places.reserve(rows.size());
  for (const Cells& row : rows) {
    places.push_back({row.at(0).bytes, place_at(row, 1)});
  }
  return places;
}

// What candidates are read from: an entry e and its message.
constexpr std::string_view kCandidate =
    "SELECT e.broker_message_id, e.rank, e.history_seq, length(m.body), {} FROM "
    "(SELECT * FROM @.queue_entry e WHERE {} ORDER BY {} LIMIT {}) e "
    "JOIN @.message_queue m ON m.broker_message_id = e.broker_message_id "
    "ORDER BY e.rank, e.history_seq";

std::vector<QueueCandidate> candidates_of(const SqlRows& rows) {
  std::vector<QueueCandidate> candidates;
  candidates.reserve(rows.size());
  for (const Cells& row : rows) {
    candidates.push_back({.broker_message_id = row.at(0).bytes,
                          .rank = static_cast<std::uint32_t>(row.at(1).integer),
                          .history_seq = static_cast<std::uint64_t>(row.at(2).integer),
                          .bytes = static_cast<std::uint64_t>(row.at(3).integer),
                          .place = place_at(row, 4)});
  }
  return candidates;
}

// The entry whose lane comes first, of those with this condition. Two conditions are two looks into
// the index: SQLite would look through a whole lane for one behind (rank, lane).
std::string first_lane(std::string_view condition) {
  return fmt::format(
      "(SELECT n.broker_message_id FROM @.queue_entry n WHERE n.mesh_id = $1t AND n.queue = $2t "
      "AND n.state IN ('ready', 'delayed', 'leased') AND n.lane <> '' AND {} "
      "ORDER BY n.rank, n.lane, n.history_seq LIMIT 1)",
      condition);
}

// The heads of the lanes, each found by one look into the index. A head that another lease holds,
// or that is delayed, blocks its lane. $3t lease, $4i limit.
std::string heads_statement() {
  return fmt::format(
      "WITH RECURSIVE head(id) AS (SELECT {} UNION ALL SELECT COALESCE({}, {}) FROM head h "
      "JOIN @.queue_entry c ON c.broker_message_id = h.id) "
      "SELECT e.rank, e.lane FROM head h JOIN @.queue_entry e ON e.broker_message_id = h.id "
      "WHERE e.state = 'ready' OR (e.state = 'leased' AND e.lease = $3t) "
      "ORDER BY e.rank, e.history_seq LIMIT $4i",
      first_lane("n.rank >= 0"), first_lane("n.rank = c.rank AND n.lane > c.lane"),
      first_lane("n.rank > c.rank"));
}

struct CountText {
  std::string_view states;
  std::uint64_t QueueCounts::*into;
};

}  // namespace

QueueSettings settings_of(const std::vector<SqlCell>& row, std::size_t first) {
  return {enum_from<QueueOrder>(row.at(first).bytes).value_or(QueueOrder::lanes),
          enum_from<QueueAccess>(row.at(first + 1).bytes).value_or(QueueAccess::closed),
          static_cast<std::uint32_t>(row.at(first + 2).integer), row.at(first + 3).integer};
}

Result<std::map<QueueKey, QueueSettings>> lock_queues(SqlSession& session,
                                                      std::span<const QueueKey> keys) {
  HOLDFAST_ASSERT(std::ranges::is_sorted(keys));
  std::vector<SqlParams> params;
  params.reserve(keys.size());
  for (const auto& [mesh_id, name] : keys) {
    params.push_back({mesh_id, name});
  }
  std::map<QueueKey, QueueSettings> queues;
  if (params.empty()) {
    return queues;
  }
  static const std::string text = fmt::format(
      "SELECT {} FROM @.queue q WHERE q.mesh_id = $1t AND q.name = $2t #for_update", kSettings);
  HOLDFAST_TRY(const auto rows, session.query_each(text, params));
  for (std::size_t i = 0; i < keys.size(); ++i) {
    for (const Cells& row : rows.at(i)) {
      queues.emplace(keys[i], settings_of(row, 0));
    }
  }
  return queues;
}

Result<std::optional<QueueSettings>> find_queue(SqlSession& session, const QueueKey& key) {
  static const std::string text =
      fmt::format("SELECT {} FROM @.queue q WHERE q.mesh_id = $1t AND q.name = $2t", kSettings);
  HOLDFAST_TRY(const SqlRows rows, session.query(text, {key.first, key.second}));
  return rows.empty() ? std::nullopt : std::optional(settings_of(rows.front(), 0));
}

Result<std::vector<ConsumerGrant>> find_grants(SqlSession& session,
                                               std::span<const ConsumerKey> keys) {
  std::vector<ConsumerGrant> grants(keys.size(), ConsumerGrant::revoked);
  std::vector<SqlParams> params;
  for (const ConsumerKey& key : keys) {
    params.push_back({key.queue.first, key.queue.second, key.member_id});
  }
  if (params.empty()) {
    return grants;
  }
  HOLDFAST_TRY(const auto rows,
               session.query_each("SELECT COALESCE(c.granted_at, 0) FROM @.member m "
                                  "LEFT JOIN @.queue_consumer c ON c.mesh_id = m.mesh_id "
                                  "AND c.queue = $2t AND c.member_id = m.member_id "
                                  "WHERE m.member_id = $3t AND m.mesh_id = $1t "
                                  "AND m.revoked_at IS NULL",
                                  params));
  for (std::size_t i = 0; i < keys.size(); ++i) {
    for (const Cells& row : rows.at(i)) {
      grants[i] = row[0].integer > 0 ? ConsumerGrant::granted : ConsumerGrant::member;
    }
  }
  return grants;
}

Result<std::vector<std::optional<QueuePlace>>> read_places(SqlSession& session,
                                                           std::span<const PlaceKey> keys) {
  static const std::string text = fmt::format(
      "SELECT {} FROM @.queue_entry e WHERE {} AND e.broker_message_id = $3t", kPlace, kOfQueue);
  std::vector<std::optional<QueuePlace>> places(keys.size());
  std::vector<SqlParams> params;
  params.reserve(keys.size());
  for (const PlaceKey& key : keys) {
    params.push_back({key.queue.first, key.queue.second, key.broker_message_id});
  }
  if (params.empty()) {
    return places;
  }
  HOLDFAST_TRY(const auto rows, session.query_each(text, params));
  for (std::size_t i = 0; i < keys.size(); ++i) {
    for (const Cells& row : rows.at(i)) {
      places[i] = place_at(row, 0);
    }
  }
  return places;
}

Result<void> write_places(SqlSession& session, std::span<const PlaceRow> rows) {
  std::vector<SqlParams> params;
  params.reserve(rows.size());
  for (const PlaceRow& row : rows) {
    const QueuePlace& place = row.place;
    params.push_back({row.broker_message_id, to_text(place.state), place.due_at.value,
                      place.expires_at.value, std::int64_t{place.deliveries}, place.lease,
                      place.lease_member_id, place.ended_at.value, place.reason});
  }
  if (params.empty()) {
    return {};
  }
  HOLDFAST_CHECK(session.query_each(
      "UPDATE @.queue_entry SET state = $2t, due_at = $3i, expires_at = $4i, deliveries = $5i, "
      "lease = $6t, lease_member_id = $7t, ended_at = $8i, reason = $9t "
      "WHERE broker_message_id = $1t",
      params));
  return {};
}

Result<std::vector<PlaceRow>> find_due(SqlSession& session, const QueueKey& key, TimeMs now,
                                       std::uint32_t limit) {
  static const std::string due = fmt::format(
      "SELECT e.broker_message_id, {} FROM @.queue_entry e WHERE {} "
      "AND e.state IN ('delayed', 'leased') AND e.due_at <= $3i ORDER BY e.due_at LIMIT $4i",
      kPlace, kOfQueue);
  static const std::string expired = fmt::format(
      "SELECT e.broker_message_id, {} FROM @.queue_entry e WHERE {} AND e.state = 'ready' "
      "AND e.expires_at > 0 AND e.expires_at <= $3i ORDER BY e.expires_at LIMIT $4i",
      kPlace, kOfQueue);
  const SqlParams params{key.first, key.second, now.value, std::int64_t{limit}};
  HOLDFAST_TRY(const SqlRows first, session.query(due, params));
  HOLDFAST_TRY(const SqlRows second, session.query(expired, params));
  std::vector<PlaceRow> found = place_rows(first);
  for (PlaceRow& row : place_rows(second)) {
    found.push_back(std::move(row));
  }
  return found;
}

Result<std::optional<TimeMs>> next_due(SqlSession& session, const QueueKey& key) {
  static const std::string text = fmt::format(
      "SELECT e.due_at FROM @.queue_entry e WHERE {} AND e.state IN ('delayed', 'leased') "
      "ORDER BY e.due_at LIMIT 1",
      kOfQueue);
  HOLDFAST_TRY(const SqlRows rows, session.query(text, {key.first, key.second}));
  return rows.empty() ? std::nullopt : std::optional(TimeMs{rows[0][0].integer});
}

Result<std::vector<QueueCandidate>> find_candidates(SqlSession& session,
                                                    const CandidateQuery& query, TimeMs now) {
  constexpr std::string_view kAlive = " AND (e.expires_at = 0 OR e.expires_at > $3i)";
  static const std::string any =
      fmt::format(kCandidate, kPlace,
                  fmt::format("{} AND e.state = 'ready' AND e.lane = ''{}", kOfQueue, kAlive),
                  "e.rank, e.history_seq", "$4i");
  static const std::string of_key = fmt::format(
      kCandidate, kPlace,
      fmt::format("{} AND e.state = 'ready' AND e.ordering_key <> '' AND e.ordering_key = $5t{}",
                  kOfQueue, kAlive),
      "e.rank, e.history_seq", "$4i");
  SqlParams params{query.queue.first, query.queue.second, now.value, std::int64_t{query.limit}};
  if (!query.key.empty()) {
    params.emplace_back(query.key);
  }
  HOLDFAST_TRY(const SqlRows rows, session.query(query.key.empty() ? any : of_key, params));
  return candidates_of(rows);
}

Result<std::vector<QueueLane>> find_lanes(SqlSession& session, const QueueKey& key,
                                          std::string_view lease, std::uint32_t limit) {
  // What the lease itself holds at the head of a lane is read too.
  constexpr std::int64_t kLookAhead = 1000;
  static const std::string heads = heads_statement();
  static const std::string of_lane =
      fmt::format(kCandidate, kPlace,
                  fmt::format("{} AND e.state IN ('ready', 'delayed', 'leased') AND e.lane <> '' "
                              "AND e.rank = $3i AND e.lane = $4t",
                              kOfQueue),
                  "e.history_seq", "$5i");
  HOLDFAST_TRY(const SqlRows rows, session.query(heads, {key.first, key.second, lease,
                                                         std::int64_t{limit} + kLookAhead}));
  std::vector<QueueLane> lanes;
  std::uint32_t free = 0;
  for (const Cells& head : rows) {
    HOLDFAST_TRY(const SqlRows found,
                 session.query(of_lane, {key.first, key.second, head[0].integer, head[1].bytes,
                                         std::int64_t{limit} + (lease.empty() ? 0 : kLookAhead)}));
    if (found.empty()) {
      continue;  // its messages are gone: a row that the orphan check finds
    }
    lanes.push_back(candidates_of(found));
    free += lanes.back().front().place.state == QueueState::ready ? 1U : 0U;
    if (free == limit) {
      break;
    }
  }
  return lanes;
}

Result<std::vector<QueueMessage>> read_messages(SqlSession& session,
                                                std::span<const std::string> broker_message_ids) {
  std::vector<QueueMessage> messages;
  std::vector<SqlParams> params;
  for (const std::string& id : broker_message_ids) {
    params.push_back({id});
  }
  if (params.empty()) {
    return messages;
  }
  HOLDFAST_TRY(
      const auto rows,
      session.query_each(
          "SELECT q.client_message_id, m.pubkey, m.display_name, e.ordering_key, e.deliveries, "
          "e.history_seq, q.created_at, e.expires_at, h.redacted_at, q.envelope_version, "
          "q.destination_ref, q.reply_to_id, q.priority, q.meta, q.body FROM @.queue_entry e "
          "JOIN @.message_queue q ON q.broker_message_id = e.broker_message_id "
          "LEFT JOIN @.message_history h ON h.broker_message_id = e.broker_message_id "
          "LEFT JOIN @.member m ON m.member_id = q.sender_member_id "
          "WHERE e.broker_message_id = $1t",
          params));
  for (std::size_t i = 0; i < params.size(); ++i) {
    for (const Cells& row : rows.at(i)) {
      messages.push_back(
          {.broker_message_id = broker_message_ids[i],
           .client_message_id = row[0].bytes,
           .sender_pubkey = row[1].bytes,
           .sender_name = row[2].bytes,
           .ordering_key = row[3].bytes,
           .delivery = static_cast<std::uint32_t>(row[4].integer),
           .history_seq = static_cast<std::uint64_t>(row[5].integer),
           .created_at = TimeMs{row[6].integer},
           .expires_at = TimeMs{row[7].integer},
           .redacted = !row[8].null,
           .envelope = {.version = static_cast<std::uint32_t>(row[9].integer),
                        .destination = {DestinationKind::queue, row[10].bytes},
                        .reply_to = row[11].bytes,
                        .priority = enum_from<Priority>(row[12].bytes).value_or(Priority::next),
                        .meta = row[13].bytes,
                        .body = row[14].bytes}});
    }
  }
  return messages;
}

Result<std::vector<QueueNews>> find_news(SqlSession& session,
                                         std::span<const CandidateQuery> queries) {
  static const std::string any = fmt::format(
      "SELECT count(*) FROM (SELECT 1 FROM @.queue_entry e WHERE {} AND e.state = 'ready' "
      "AND e.lane = '' LIMIT $3i) found",
      kOfQueue);
  static const std::string laned = fmt::format(
      "SELECT count(*) FROM (SELECT 1 FROM @.queue_entry e WHERE {} "
      "AND e.state IN ('ready', 'delayed', 'leased') AND e.lane <> '' LIMIT $3i) found",
      kOfQueue);
  static const std::string of_key = fmt::format(
      "SELECT count(*) FROM (SELECT 1 FROM @.queue_entry e WHERE {} AND e.state = 'ready' "
      "AND e.ordering_key <> '' AND e.ordering_key = $4t LIMIT $3i) found",
      kOfQueue);
  std::vector<QueueNews> news;
  news.reserve(queries.size());
  for (const CandidateQuery& query : queries) {
    SqlParams params{query.queue.first, query.queue.second, std::int64_t{query.limit}};
    QueueNews& one = news.emplace_back();
    if (!query.key.empty()) {
      params.emplace_back(query.key);
      HOLDFAST_TRY(const SqlRows rows, session.query(of_key, params));
      one.ready = static_cast<std::uint64_t>(rows.at(0).at(0).integer);
    } else {
      HOLDFAST_TRY(const SqlRows rows, session.query(any, params));
      HOLDFAST_TRY(const SqlRows in_lanes, session.query(laned, params));
      one.ready =
          static_cast<std::uint64_t>(rows.at(0).at(0).integer + in_lanes.at(0).at(0).integer);
    }
    HOLDFAST_TRY(one.next_at, next_due(session, query.queue));
  }
  return news;
}

Result<std::vector<QueueListEntry>> list_dead(SqlSession& session, const QueueListFilter& filter) {
  static const std::string text = fmt::format(
      "SELECT e.broker_message_id, COALESCE(q.client_message_id, ''), "
      "COALESCE(m.display_name, ''), e.ordering_key, e.rank, e.history_seq, "
      "COALESCE(q.created_at, 0), {} FROM @.queue_entry e "
      "LEFT JOIN @.message_queue q ON q.broker_message_id = e.broker_message_id "
      "LEFT JOIN @.member m ON m.member_id = q.sender_member_id "
      "WHERE {} AND e.state = 'dead' AND e.broker_message_id > $3t "
      "AND ($4t = '' OR e.reason = $4t) ORDER BY e.broker_message_id LIMIT $5i",
      kPlace, kOfQueue);
  HOLDFAST_TRY(const SqlRows rows,
               session.query(text, {filter.queue.first, filter.queue.second, filter.after_id,
                                    filter.reason, std::int64_t{filter.limit}}));
  std::vector<QueueListEntry> entries;
  entries.reserve(rows.size());
  for (const Cells& row : rows) {
    HOLDFAST_ASSERT(row.size() == 7 + kPlaceCells);
    entries.push_back({.broker_message_id = row[0].bytes,
                       .client_message_id = row[1].bytes,
                       .sender_name = row[2].bytes,
                       .ordering_key = row[3].bytes,
                       .priority = static_cast<Priority>(row[4].integer),
                       .history_seq = static_cast<std::uint64_t>(row[5].integer),
                       .created_at = TimeMs{row[6].integer},
                       .place = place_at(row, 7)});
  }
  return entries;
}

Result<QueueCounts> count_queue(SqlSession& session, const QueueKey& key) {
  // Each as its index has it.
  static constexpr CountText kTexts[] = {
      {"e.state = 'ready' AND e.lane = ''", &QueueCounts::ready},
      {"e.state IN ('ready', 'delayed', 'leased') AND e.lane <> '' AND e.state = 'ready'",
       &QueueCounts::ready},
      {"e.state IN ('delayed', 'leased') AND e.state = 'delayed'", &QueueCounts::delayed},
      {"e.state IN ('delayed', 'leased') AND e.state = 'leased'", &QueueCounts::leased},
      {"e.state = 'dead'", &QueueCounts::dead}};
  QueueCounts counts;
  for (const CountText& one : kTexts) {
    const std::string text = fmt::format(
        "SELECT count(*) FROM (SELECT 1 FROM @.queue_entry e WHERE {} AND {} "
        "LIMIT $3i) found",
        kOfQueue, one.states);
    HOLDFAST_TRY(
        const SqlRows rows,
        session.query(text, {key.first, key.second, static_cast<std::int64_t>(kMostCounted)}));
    counts.*one.into += static_cast<std::uint64_t>(rows.at(0).at(0).integer);
  }
  return counts;
}

Result<std::vector<QueueKey>> all_queues(SqlSession& session) {
  HOLDFAST_TRY(
      const SqlRows rows,
      session.query("SELECT q.mesh_id, q.name FROM @.queue q ORDER BY q.mesh_id, q.name", {}));
  std::vector<QueueKey> keys;
  keys.reserve(rows.size());
  for (const Cells& row : rows) {
    keys.emplace_back(row[0].bytes, row[1].bytes);
  }
  return keys;
}

Result<std::vector<std::optional<std::string>>> find_sent(
    SqlSession& session, const QueueKey& key, std::string_view sender_member_id,
    std::span<const std::string> client_message_ids) {
  std::vector<std::optional<std::string>> found(client_message_ids.size());
  std::vector<SqlParams> params;
  for (const std::string& id : client_message_ids) {
    params.push_back({key.first, key.second, sender_member_id, id});
  }
  if (params.empty()) {
    return found;
  }
  HOLDFAST_TRY(const auto rows,
               session.query_each("SELECT d.broker_message_id FROM @.client_message_dedupe d "
                                  "WHERE d.mesh_id = $1t AND d.destination_kind = 'queue' "
                                  "AND d.destination_ref = $2t AND d.sender_member_id = $3t "
                                  "AND d.client_message_id = $4t",
                                  params));
  for (std::size_t i = 0; i < found.size(); ++i) {
    for (const Cells& row : rows.at(i)) {
      found[i] = row[0].bytes;
    }
  }
  return found;
}

}  // namespace holdfast::delivery
