#include "delivery/broker/webhook_log.h"

#include <array>

#include "delivery/contract/message_id.h"

namespace holdfast::delivery {

namespace {

std::int64_t signed_number(std::uint64_t number) { return static_cast<std::int64_t>(number); }

// The least id that a message of this time can have.
std::string first_id_of(TimeMs time) {
  return UlidSequence().next(time, std::array<std::byte, 10>{}).text();
}

struct Selected {
  std::string broker_message_id;
  std::string state;  // empty: none
};

// The messages of a replay, by their ids, which sort by time.
Result<std::vector<Selected>> select_messages(SqlSession& session, const WebhookReplay& replay) {
  static const std::string all =
      "SELECT h.broker_message_id, COALESCE(w.state, '') FROM @.message_history h "
      "LEFT JOIN @.webhook_delivery w ON w.endpoint_id = $1t "
      "AND w.broker_message_id = h.broker_message_id "
      "WHERE h.broker_message_id >= $3t AND h.broker_message_id < $4t "
      "AND h.broker_message_id > $5t AND h.mesh_id = $2t AND h.pruned_at IS NULL "
      "AND (NOT EXISTS (SELECT 1 FROM @.webhook_filter f WHERE f.endpoint_id = $1t) "
      "OR EXISTS (SELECT 1 FROM @.webhook_filter f WHERE f.endpoint_id = $1t "
      "AND f.destination_kind = h.destination_kind AND f.destination_ref = h.destination_ref)) ";
  constexpr std::string_view kOrder = "ORDER BY h.broker_message_id LIMIT $6i";
  static const std::string dead = all + "AND w.state = 'dead' " + std::string(kOrder);
  static const std::string any = all + std::string(kOrder);
  const bool one = !replay.broker_message_id.empty();
  const std::string from = one ? replay.broker_message_id : first_id_of(replay.from);
  // No character of an id is above Z.
  const std::string until = one ? from + "Z" : first_id_of(replay.until);
  HOLDFAST_TRY(const SqlRows rows,
               session.query(replay.choice == WebhookReplay::Choice::dead ? dead : any,
                             {replay.endpoint_id, replay.mesh_id, from, until, replay.after_id,
                              std::int64_t{replay.limit}}));
  std::vector<Selected> selected;
  for (const auto& row : rows) {
    selected.push_back({row[0].bytes, row[1].bytes});
  }
  return selected;
}

WebhookReplayed count_selected(const std::vector<Selected>& selected, std::uint32_t limit) {
  WebhookReplayed counts;
  for (const Selected& one : selected) {
    const auto state = enum_from<WebhookDeliveryState>(one.state);
    std::uint64_t& count = !state.has_value()                          ? counts.fresh
                           : *state == WebhookDeliveryState::queued    ? counts.queued
                           : *state == WebhookDeliveryState::sending   ? counts.sending
                           : *state == WebhookDeliveryState::delivered ? counts.delivered
                                                                       : counts.dead;
    ++count;
    counts.messages += state == WebhookDeliveryState::sending ? 0U : 1U;
  }
  if (selected.size() == limit) {
    counts.last_id = selected.back().broker_message_id;
  }
  return counts;
}

}  // namespace

Result<std::vector<WebhookDeliveryEntry>> list_webhook_deliveries(
    SqlSession& session, const WebhookDeliveryFilter& filter) {
  const std::string state(filter.state.has_value() ? to_text(*filter.state) : "");
  HOLDFAST_TRY(
      const SqlRows rows,
      session.query("SELECT w.broker_message_id, h.destination_kind, h.destination_ref, "
                    "h.history_seq, w.state, w.attempts, w.failures, w.queued_at, "
                    "w.next_attempt_at, w.ended_at, COALESCE(w.last_error, '') "
                    "FROM @.webhook_delivery w JOIN @.message_history h "
                    "ON h.broker_message_id = w.broker_message_id WHERE w.endpoint_id = $1t "
                    "AND ($2t = '' OR w.state = $2t) AND w.broker_message_id > $3t "
                    "ORDER BY w.broker_message_id LIMIT $4i",
                    {filter.endpoint_id, state, filter.after_id, std::int64_t{filter.limit}}));
  std::vector<WebhookDeliveryEntry> entries;
  for (const auto& row : rows) {
    entries.push_back(
        {.broker_message_id = row[0].bytes,
         .destination = {enum_from<DestinationKind>(row[1].bytes).value_or(DestinationKind::topic),
                         row[2].bytes},
         .history_seq = static_cast<std::uint64_t>(row[3].integer),
         .state =
             enum_from<WebhookDeliveryState>(row[4].bytes).value_or(WebhookDeliveryState::queued),
         .attempts = static_cast<std::uint32_t>(row[5].integer),
         .failures = static_cast<std::uint32_t>(row[6].integer),
         .queued_at = TimeMs{row[7].integer},
         .next_attempt_at = TimeMs{row[8].integer},
         .ended_at = row[9].null ? std::nullopt : std::optional(TimeMs{row[9].integer}),
         .last_error = row[10].bytes});
  }
  return entries;
}

Result<std::vector<WebhookAttemptEntry>> list_webhook_attempts(SqlSession& session,
                                                               const WebhookAttemptFilter& filter) {
  HOLDFAST_TRY(
      const SqlRows rows,
      session.query("SELECT attempt_id, broker_message_id, attempt, started_at, duration_ms, "
                    "outcome, status, error, response FROM @.webhook_attempt "
                    "WHERE endpoint_id = $1t AND ($2t = '' OR broker_message_id = $2t) "
                    "AND ($3i = 0 OR attempt_id < $3i) ORDER BY attempt_id DESC LIMIT $4i",
                    {filter.endpoint_id, filter.broker_message_id, signed_number(filter.before_id),
                     std::int64_t{filter.limit}}));
  std::vector<WebhookAttemptEntry> entries;
  for (const auto& row : rows) {
    entries.push_back(
        {.attempt_id = static_cast<std::uint64_t>(row[0].integer),
         .broker_message_id = row[1].bytes,
         .attempt = static_cast<std::uint32_t>(row[2].integer),
         .started_at = TimeMs{row[3].integer},
         .duration_ms = row[4].integer,
         .outcome = enum_from<WebhookOutcome>(row[5].bytes).value_or(WebhookOutcome::failed),
         .status = static_cast<int>(row[6].integer),
         .error = row[7].bytes,
         .response = row[8].bytes});
  }
  return entries;
}

Result<WebhookReplayed> preview_webhook_replay(SqlSession& session, const WebhookReplay& replay) {
  HOLDFAST_TRY(const std::vector<Selected> selected, select_messages(session, replay));
  return count_selected(selected, replay.limit);
}

Result<WebhookReplayed> replay_webhook(SqlSession& session, const WebhookReplay& replay,
                                       TimeMs now) {
  // Its owner changes the same rows.
  HOLDFAST_CHECK(
      session.query("SELECT 1 FROM @.webhook_endpoint WHERE endpoint_id = $1t #for_update",
                    {replay.endpoint_id}));
  HOLDFAST_TRY(const std::vector<Selected> selected, select_messages(session, replay));
  std::vector<SqlParams> params;
  for (const Selected& one : selected) {
    params.push_back({replay.endpoint_id, one.broker_message_id, now.value});
  }
  if (!params.empty()) {
    HOLDFAST_CHECK(session.query_each(
        "INSERT INTO @.webhook_delivery(endpoint_id, broker_message_id, state, attempts, failures, "
        "interruptions, queued_at, next_attempt_at) "
        "VALUES ($1t, $2t, 'queued', 0, 0, 0, $3i, $3i) "
        "ON CONFLICT(endpoint_id, broker_message_id) DO UPDATE SET state = 'queued', failures = 0, "
        "interruptions = 0, next_attempt_at = excluded.next_attempt_at, ended_at = NULL "
        "WHERE webhook_delivery.state <> 'sending'",
        params));
  }
  return count_selected(selected, replay.limit);
}

Result<std::uint64_t> prune_webhook_log(BrokerStore& store, TimeMs before, std::uint32_t limit) {
  std::uint64_t removed = 0;
  for (const std::string_view sql :
       {"DELETE FROM @.webhook_attempt WHERE attempt_id IN (SELECT attempt_id "
        "FROM @.webhook_attempt WHERE started_at < $1i ORDER BY started_at LIMIT $2i)",
        "DELETE FROM @.webhook_delivery WHERE (endpoint_id, broker_message_id) IN (SELECT "
        "endpoint_id, broker_message_id FROM @.webhook_delivery WHERE ended_at IS NOT NULL "
        "AND ended_at < $1i ORDER BY ended_at LIMIT $2i)"}) {
    for (std::uint64_t rows = limit; rows == limit; removed += rows) {
      HOLDFAST_CHECK(store.write([&](SqlSession& session) -> Result<void> {
        HOLDFAST_TRY(rows, session.execute(sql, {before.value, std::int64_t{limit}}));
        return {};
      }));
    }
  }
  return removed;
}

}  // namespace holdfast::delivery
