#include "delivery/broker/webhook_queue.h"

#include <fmt/format.h>

#include <algorithm>

#include "delivery/broker/webhook_endpoints.h"
#include "holdfast/assert.h"

namespace holdfast::delivery {

namespace {

// While so many are due, the others stay in the history.
constexpr std::int64_t kMostDue = 1000;
constexpr std::int64_t kMostTakenOver = 500;  // in a turn
constexpr std::int64_t kMostDestinations = 100;
constexpr std::string_view kRemoved = "the message was removed";

constexpr std::string_view kFree =
    "state = 'active' AND (owner IS NULL OR (owner <> $1t AND lease_until <= $2i))";

struct Endpoint {
  std::string mesh_id;
  bool active = false;
  std::uint32_t max_in_flight = 0;
  EndpointHealth health;
  std::string url;
  std::string secret;
  std::string old_secret;  // empty: it does not sign any more
};

// Locked until the end of the transaction; none: another broker has it, or it is gone.
Result<std::optional<Endpoint>> lock_owned(SqlSession& session, const WebhookTurn& turn) {
  static const std::string text = fmt::format(
      "SELECT e.mesh_id, e.state, e.max_in_flight, {}, e.url, e.secret, "
      "COALESCE(CASE WHEN e.old_secret_until > $3i THEN e.old_secret END, '') "
      "FROM @.webhook_endpoint e WHERE e.endpoint_id = $1t AND e.owner = $2t #for_update",
      kHealthColumns);
  HOLDFAST_TRY(const SqlRows rows,
               session.query(text, {turn.endpoint_id, turn.owner, turn.now.value}));
  if (rows.empty()) {
    return std::optional<Endpoint>();
  }
  const auto& row = rows.front();
  return std::optional(Endpoint{row[0].bytes, row[1].bytes == to_text(WebhookState::active),
                                static_cast<std::uint32_t>(row[2].integer), health_of(row, 3),
                                row[7].bytes, row[8].bytes, row[9].bytes});
}

Result<void> log_attempt(SqlSession& session, const std::string& endpoint_id,
                         const WebhookResult& result) {
  HOLDFAST_CHECK(session.execute(
      "INSERT INTO @.webhook_attempt(endpoint_id, broker_message_id, attempt, started_at, "
      "duration_ms, outcome, status, error, response) "
      "VALUES ($1t, $2t, $3i, $4i, $5i, $6t, $7i, $8t, $9t) ON CONFLICT DO NOTHING",
      {endpoint_id, result.broker_message_id, std::int64_t{result.attempt}, result.started_at.value,
       std::max<std::int64_t>(result.duration_ms, 0), to_text(result.outcome),
       std::int64_t{result.status}, result.error, result.response}));
  return {};
}

std::string failure_text(const WebhookResult& result) {
  return result.error.empty() ? fmt::format("status {}", result.status) : result.error;
}

Result<void> write_verdict(SqlSession& session, const std::string& endpoint_id,
                           const WebhookResult& result, const WebhookVerdict& verdict, TimeMs now) {
  const std::string error =
      verdict.progress == WebhookProgress::delivered ? "" : failure_text(result);
  if (verdict.progress == WebhookProgress::queued) {
    HOLDFAST_CHECK(session.execute(
        "UPDATE @.webhook_delivery SET state = 'queued', failures = $3i, next_attempt_at = $4i, "
        "last_error = $5t WHERE endpoint_id = $1t AND broker_message_id = $2t",
        {endpoint_id, result.broker_message_id, std::int64_t{verdict.failures},
         verdict.next_attempt_at.value, error}));
    return {};
  }
  const std::string_view state =
      verdict.progress == WebhookProgress::delivered ? "delivered" : "dead";
  HOLDFAST_CHECK(session.execute(
      "UPDATE @.webhook_delivery SET state = $3t, failures = $4i, ended_at = $5i, "
      "last_error = NULLIF($6t, '') WHERE endpoint_id = $1t AND broker_message_id = $2t",
      {endpoint_id, result.broker_message_id, state, std::int64_t{verdict.failures}, now.value,
       error}));
  return {};
}

Result<void> write_health(SqlSession& session, const WebhookTurn& turn, const Endpoint& endpoint) {
  const WebhookResult& last = turn.results.back();
  const bool delivered = last.outcome == WebhookOutcome::delivered;
  const EndpointHealth& health = endpoint.health;
  const std::string error = delivered ? "" : failure_text(last);
  HOLDFAST_CHECK(session.execute(
      fmt::format("UPDATE @.webhook_endpoint SET consecutive_failures = $2i, "
                  "failing_since = NULLIF($3i, 0), hold_until = $4i, hold_ms = $5i, {} "
                  "WHERE endpoint_id = $1t",
                  delivered ? "last_success_at = $6i, last_error = NULLIF($7t, '')"
                            : "last_failure_at = $6i, last_error = $7t"),
      {turn.endpoint_id, std::int64_t{health.consecutive_failures},
       health.failing_since.value_or(TimeMs{}).value, health.hold_until.value, health.hold_ms,
       turn.now.value, error}));
  return {};
}

// A result counts for the attempt that was claimed, and once.
Result<void> record_results(SqlSession& session, const WebhookTurn& turn, Endpoint& endpoint,
                            WebhookTurned& turned) {
  bool counted = false;
  for (const WebhookResult& result : turn.results) {
    HOLDFAST_TRY(
        const SqlRows rows,
        session.query("SELECT failures FROM @.webhook_delivery WHERE endpoint_id = $1t "
                      "AND broker_message_id = $2t AND state = 'sending' "
                      "AND attempts = $3i",
                      {turn.endpoint_id, result.broker_message_id, std::int64_t{result.attempt}}));
    HOLDFAST_CHECK(log_attempt(session, turn.endpoint_id, result));
    if (rows.empty()) {
      continue;
    }
    const WebhookVerdict verdict =
        decide_after_attempt(endpoint.health,
                             {result.outcome, result.retry_after_ms,
                              static_cast<std::uint32_t>(rows[0][0].integer), result.random},
                             turn.now);
    HOLDFAST_CHECK(write_verdict(session, turn.endpoint_id, result, verdict, turn.now));
    counted = true;
    endpoint.health = verdict.health;
    if (verdict.progress == WebhookProgress::dead) {
      turned.dead.push_back(result.broker_message_id);
    }
    if (verdict.disable.has_value() && endpoint.active) {
      endpoint.active = false;
      turned.disabled = verdict.disable;
      HOLDFAST_CHECK(disable_webhook(session, turn.endpoint_id, *verdict.disable, turn.now));
    }
  }
  return counted ? write_health(session, turn, endpoint) : Result<void>();
}

struct NewMessages {
  std::string kind;
  std::string ref;
  std::int64_t after_seq = 0;
  std::int64_t last_seq = 0;
};

// The destinations that have messages behind the place of the endpoint.
Result<std::vector<NewMessages>> find_new(SqlSession& session, const WebhookTurn& turn,
                                          const Endpoint& endpoint) {
  constexpr std::string_view kSelect =
      "SELECT d.destination_kind, d.destination_ref, COALESCE(c.last_seq, 0), d.last_seq FROM ";
  constexpr std::string_view kCursor =
      " LEFT JOIN @.webhook_cursor c ON c.endpoint_id = $1t "
      "AND c.destination_kind = d.destination_kind AND c.destination_ref = d.destination_ref ";
  constexpr std::string_view kNewer = "d.last_seq > COALESCE(c.last_seq, 0) LIMIT $3i";
  static const std::string of_filter = fmt::format(
      "{}@.webhook_filter f JOIN @.destination d ON d.mesh_id = $2t "
      "AND d.destination_kind = f.destination_kind AND d.destination_ref = f.destination_ref{}"
      "WHERE f.endpoint_id = $1t AND {}",
      kSelect, kCursor, kNewer);
  static const std::string of_all = fmt::format(
      "{}@.destination d{}WHERE d.mesh_id = $2t AND NOT EXISTS (SELECT 1 FROM @.webhook_filter f "
      "WHERE f.endpoint_id = $1t) AND {}",
      kSelect, kCursor, kNewer);
  std::vector<NewMessages> found;
  for (const std::string* const text : {&of_filter, &of_all}) {
    HOLDFAST_TRY(const SqlRows rows,
                 session.query(*text, {turn.endpoint_id, endpoint.mesh_id, kMostDestinations}));
    for (const auto& row : rows) {
      found.push_back({row[0].bytes, row[1].bytes, row[2].integer, row[3].integer});
    }
  }
  return found;
}

Result<bool> has_capacity(SqlSession& session, const WebhookTurn& turn) {
  HOLDFAST_TRY(const SqlRows due,
               session.query("SELECT count(*) FROM (SELECT 1 FROM @.webhook_delivery "
                             "WHERE endpoint_id = $1t AND state = 'queued' "
                             "AND next_attempt_at <= $2i LIMIT $3i) due",
                             {turn.endpoint_id, turn.now.value, kMostDue}));
  return due[0][0].integer < kMostDue;
}

Result<void> take_over(SqlSession& session, const WebhookTurn& turn, const Endpoint& endpoint,
                       WebhookTurned& turned) {
  HOLDFAST_TRY(const std::vector<NewMessages> found, find_new(session, turn, endpoint));
  if (found.empty()) {
    return {};
  }
  HOLDFAST_TRY(const bool capacity, has_capacity(session, turn));
  turned.full = !capacity;
  if (!capacity) {
    return {};
  }
  std::int64_t left = kMostTakenOver;
  turned.more = found.size() == kMostDestinations;
  for (const NewMessages& each : found) {
    if (left == 0) {
      turned.more = true;
      return {};
    }
    const std::int64_t last = std::min(each.last_seq, each.after_seq + left);
    HOLDFAST_CHECK(session.execute(
        "INSERT INTO @.webhook_delivery(endpoint_id, broker_message_id, state, attempts, failures, "
        "interruptions, queued_at, next_attempt_at) SELECT $1t, h.broker_message_id, 'queued', 0, "
        "0, 0, $7i, $7i FROM @.message_history h WHERE h.mesh_id = $2t "
        "AND h.destination_kind = $3t AND h.destination_ref = $4t AND h.history_seq > $5i "
        "AND h.history_seq <= $6i AND h.pruned_at IS NULL ON CONFLICT DO NOTHING",
        {turn.endpoint_id, endpoint.mesh_id, each.kind, each.ref, each.after_seq, last,
         turn.now.value}));
    HOLDFAST_CHECK(session.execute(
        "INSERT INTO @.webhook_cursor(endpoint_id, destination_kind, destination_ref, last_seq) "
        "VALUES ($1t, $2t, $3t, $4i) ON CONFLICT(endpoint_id, destination_kind, destination_ref) "
        "DO UPDATE SET last_seq = excluded.last_seq",
        {turn.endpoint_id, each.kind, each.ref, last}));
    left -= last - each.after_seq;
    turned.more = turned.more || last < each.last_seq;
  }
  return {};
}

struct Claimed {
  std::string broker_message_id;
  std::uint32_t attempt = 0;
};

Result<std::vector<Claimed>> claim_due(SqlSession& session, const WebhookTurn& turn,
                                       std::uint32_t limit) {
  HOLDFAST_TRY(
      const SqlRows rows,
      session.query("UPDATE @.webhook_delivery SET state = 'sending', attempts = attempts + 1 "
                    "WHERE endpoint_id = $1t AND broker_message_id IN (SELECT broker_message_id "
                    "FROM @.webhook_delivery WHERE endpoint_id = $1t AND state = 'queued' "
                    "AND next_attempt_at <= $2i ORDER BY next_attempt_at, broker_message_id "
                    "LIMIT $3i) RETURNING broker_message_id, attempts",
                    {turn.endpoint_id, turn.now.value, std::int64_t{limit}}));
  std::vector<Claimed> claimed;
  for (const auto& row : rows) {
    claimed.push_back({row[0].bytes, static_cast<std::uint32_t>(row[1].integer)});
  }
  std::ranges::sort(claimed, {}, &Claimed::broker_message_id);
  return claimed;
}

Delivery message_of(const std::vector<SqlCell>& row, const Claimed& claimed) {
  return {
      .attempt = claimed.attempt,
      .broker_message_id = claimed.broker_message_id,
      .client_message_id = row[3].bytes,
      .sender_pubkey = row[9].bytes,
      .sender_name = row[10].bytes,
      .history_seq = static_cast<std::uint64_t>(row[2].integer),
      .created_at = TimeMs{row[12].integer},
      .redacted = !row[11].null,
      .envelope = {
          .version = static_cast<std::uint32_t>(row[4].integer),
          .destination = {enum_from<DestinationKind>(row[0].bytes).value_or(DestinationKind::topic),
                          row[1].bytes},
          .reply_to = row[5].bytes,
          .priority = enum_from<Priority>(row[6].bytes).value_or(Priority::next),
          .meta = row[7].bytes,
          .body = row[8].bytes}};
}

// A message that is gone ends its delivery.
Result<void> read_messages(SqlSession& session, const WebhookTurn& turn,
                           const std::vector<Claimed>& claimed, WebhookTurned& turned) {
  if (claimed.empty()) {
    return {};
  }
  std::vector<SqlParams> ids;
  for (const Claimed& one : claimed) {
    ids.push_back({one.broker_message_id});
  }
  HOLDFAST_TRY(
      const auto rows,
      session.query_each(
          "SELECT h.destination_kind, h.destination_ref, h.history_seq, "
          "COALESCE(t.client_message_id, q.client_message_id), "
          "COALESCE(t.envelope_version, q.envelope_version), "
          "COALESCE(t.reply_to_id, q.reply_to_id), COALESCE(t.priority, q.priority), "
          "COALESCE(t.meta, q.meta), COALESCE(t.body, q.body), m.pubkey, m.display_name, "
          "h.redacted_at, h.created_at FROM @.message_history h "
          "LEFT JOIN @.topic_message t ON t.broker_message_id = h.broker_message_id "
          "LEFT JOIN @.message_queue q ON q.broker_message_id = h.broker_message_id "
          "LEFT JOIN @.member m ON m.member_id = COALESCE(t.sender_member_id, q.sender_member_id) "
          "WHERE h.broker_message_id = $1t AND h.pruned_at IS NULL",
          ids));
  for (std::size_t i = 0; i < claimed.size(); ++i) {
    if (!rows.at(i).empty()) {
      turned.claimed.push_back({claimed[i].attempt, message_of(rows[i].front(), claimed[i])});
      continue;
    }
    turned.dead.push_back(claimed[i].broker_message_id);
    HOLDFAST_CHECK(session.execute(
        "UPDATE @.webhook_delivery SET state = 'dead', ended_at = $3i, last_error = $4t "
        "WHERE endpoint_id = $1t AND broker_message_id = $2t",
        {turn.endpoint_id, claimed[i].broker_message_id, turn.now.value, kRemoved}));
  }
  return {};
}

// The next delivery, or the end of the hold if that is later.
Result<std::optional<TimeMs>> next_time(SqlSession& session, const WebhookTurn& turn,
                                        const Endpoint& endpoint) {
  HOLDFAST_TRY(const SqlRows next,
               session.query("SELECT min(next_attempt_at) FROM @.webhook_delivery "
                             "WHERE endpoint_id = $1t AND state = 'queued'",
                             {turn.endpoint_id}));
  if (next[0][0].null) {
    return std::optional<TimeMs>();
  }
  return std::optional(std::max(TimeMs{next[0][0].integer}, endpoint.health.hold_until));
}

// What was claimed by a turn whose commit the owner did not see.
Result<void> requeue_unsent(SqlSession& session, const WebhookTurn& turn) {
  HOLDFAST_TRY(const SqlRows rows, session.query("SELECT broker_message_id FROM @.webhook_delivery "
                                                 "WHERE endpoint_id = $1t AND state = 'sending'",
                                                 {turn.endpoint_id}));
  for (const auto& row : rows) {
    if (std::ranges::find(turn.in_flight, row[0].bytes) == turn.in_flight.end()) {
      HOLDFAST_CHECK(
          session.execute("UPDATE @.webhook_delivery SET state = 'queued', next_attempt_at = $3i "
                          "WHERE endpoint_id = $1t AND broker_message_id = $2t",
                          {turn.endpoint_id, row[0].bytes, turn.now.value}));
    }
  }
  return {};
}

// What a former owner had on its way. An attempt that was interrupted does not count as a failure.
Result<void> requeue_interrupted(SqlSession& session, std::string_view endpoint_id, TimeMs now) {
  HOLDFAST_CHECK(session.execute(
      "INSERT INTO @.webhook_attempt(endpoint_id, broker_message_id, attempt, started_at, "
      "duration_ms, outcome, status, error, response) SELECT endpoint_id, broker_message_id, "
      "attempts, $2i, 0, 'interrupted', 0, 'the broker ended before it knew the outcome', '' "
      "FROM @.webhook_delivery WHERE endpoint_id = $1t AND state = 'sending' "
      "ON CONFLICT DO NOTHING",
      {endpoint_id, now.value}));
  HOLDFAST_CHECK(
      session.execute("UPDATE @.webhook_delivery SET state = 'dead', ended_at = $2i, "
                      "last_error = 'the broker ended during each of the last attempts' "
                      "WHERE endpoint_id = $1t AND state = 'sending' AND interruptions + 1 >= $3i",
                      {endpoint_id, now.value, std::int64_t{kMostInterruptions}}));
  HOLDFAST_CHECK(session.execute(
      "UPDATE @.webhook_delivery SET state = 'queued', interruptions = interruptions + 1, "
      "next_attempt_at = $2i WHERE endpoint_id = $1t AND state = 'sending'",
      {endpoint_id, now.value}));
  return {};
}

}  // namespace

Result<bool> has_free_webhooks(SqlSession& session, const WebhookLease& lease) {
  static const std::string text =
      fmt::format("SELECT 1 FROM @.webhook_endpoint WHERE {} LIMIT 1", kFree);
  HOLDFAST_TRY(const SqlRows rows, session.query(text, {lease.owner, lease.free_since.value}));
  return !rows.empty();
}

Result<void> lease_webhooks(SqlSession& session, const WebhookLease& lease) {
  static const std::string text = fmt::format(
      "UPDATE @.webhook_endpoint SET owner = $1t, lease_until = $3i WHERE {} "
      "RETURNING endpoint_id",
      kFree);
  HOLDFAST_TRY(const SqlRows taken,
               session.query(text, {lease.owner, lease.free_since.value, lease.until.value}));
  for (const auto& row : taken) {
    HOLDFAST_CHECK(requeue_interrupted(session, row[0].bytes, lease.now));
  }
  HOLDFAST_CHECK(session.execute(
      "UPDATE @.webhook_endpoint SET lease_until = $2i WHERE owner = $1t AND lease_until <> $2i",
      {lease.owner, lease.until.value}));
  return {};
}

Result<void> release_webhooks(SqlSession& session, std::string_view owner, TimeMs now) {
  HOLDFAST_TRY(const SqlRows owned,
               session.query("SELECT endpoint_id FROM @.webhook_endpoint WHERE owner = $1t "
                             "ORDER BY endpoint_id #for_update",
                             {owner}));
  for (const auto& row : owned) {
    HOLDFAST_CHECK(requeue_interrupted(session, row[0].bytes, now));
  }
  HOLDFAST_CHECK(
      session.execute("UPDATE @.webhook_endpoint SET owner = NULL, lease_until = 0 "
                      "WHERE owner = $1t",
                      {owner}));
  return {};
}

Result<WebhookTurned> take_webhook_turn(SqlSession& session, const WebhookTurn& turn) {
  WebhookTurned turned;
  HOLDFAST_TRY(auto endpoint, lock_owned(session, turn));
  if (!endpoint.has_value()) {
    return turned;
  }
  turned.owned = true;
  turned.url = endpoint->url;
  for (const std::string* const text : {&endpoint->secret, &endpoint->old_secret}) {
    if (!text->empty()) {
      HOLDFAST_TRY(WebhookSecret secret, WebhookSecret::parse(*text));
      turned.secrets.push_back(std::move(secret));
    }
  }
  if (!turn.results.empty()) {
    HOLDFAST_CHECK(record_results(session, turn, *endpoint, turned));
  }
  if (turn.unsure) {
    HOLDFAST_CHECK(requeue_unsent(session, turn));
  }
  if (!endpoint->active) {
    return turned;
  }
  if (turn.take_over) {
    HOLDFAST_CHECK(take_over(session, turn, *endpoint, turned));
  }
  const std::uint32_t most = most_in_flight(endpoint->health, endpoint->max_in_flight, turn.now);
  const std::uint32_t free =
      most - std::min(most, static_cast<std::uint32_t>(turn.in_flight.size()));
  if (const std::uint32_t limit = std::min(free, turn.most_new); limit > 0) {
    HOLDFAST_TRY(const std::vector<Claimed> claimed, claim_due(session, turn, limit));
    HOLDFAST_CHECK(read_messages(session, turn, claimed, turned));
  }
  HOLDFAST_TRY(turned.next_at, next_time(session, turn, *endpoint));
  return turned;
}

}  // namespace holdfast::delivery
