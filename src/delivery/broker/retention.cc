#include "delivery/broker/retention.h"

#include <fmt/format.h>

#include "delivery/contract/max_age.h"

namespace holdfast::delivery {

namespace {

// Of one table of messages.
Result<SqlRows> find_expired(SqlSession& session, std::string_view table, TimeMs now,
                             std::uint32_t limit) {
  return session.query(
      fmt::format("SELECT q.broker_message_id, q.mesh_id, q.sender_member_id, "
                  "q.client_message_id FROM @.{} q JOIN @.mesh w ON w.mesh_id = q.mesh_id "
                  "WHERE w.message_retention_days > 0 "
                  "AND q.created_at + w.message_retention_days * $1i < $2i "
                  "AND NOT EXISTS (SELECT 1 FROM @.delivery_queue d "
                  "WHERE d.broker_message_id = q.broker_message_id "
                  "AND d.state IN ('queued', 'leased')) "
                  "ORDER BY q.broker_message_id LIMIT $3i",
                  table),
      {kDayMs, now.value, std::int64_t{limit}});
}

Result<void> prune_one(SqlSession& session, std::string_view table, const std::vector<SqlCell>& row,
                       TimeMs now) {
  const std::string_view id = row[0].bytes;
  for (const std::string_view from :
       {table, std::string_view("delivery_queue"), std::string_view("mention_index")}) {
    HOLDFAST_CHECK(
        session.execute(fmt::format("DELETE FROM @.{} WHERE broker_message_id = $1t", from), {id}));
  }
  HOLDFAST_CHECK(
      session.execute("UPDATE @.message_history SET pruned_at = $2i WHERE broker_message_id = $1t",
                      {id, now.value}));
  HOLDFAST_CHECK(session.execute(
      "UPDATE @.client_message_dedupe SET history_available = 0, history_pruned_at = $5i "
      "WHERE mesh_id = $1t AND sender_member_id = $2t AND client_message_id = $3t "
      "AND broker_message_id = $4t",
      {row[1].bytes, row[2].bytes, row[3].bytes, id, now.value}));
  return {};
}

}  // namespace

Result<std::uint64_t> sweep_dedupe(BrokerStore& store, TimeMs now, std::uint32_t limit) {
  std::uint64_t deleted = 0;
  HOLDFAST_CHECK(store.write([&](SqlSession& session) -> Result<void> {
    HOLDFAST_TRY(deleted,
                 session.execute("DELETE FROM @.client_message_dedupe WHERE (mesh_id, "
                                 "sender_member_id, client_message_id) IN (SELECT mesh_id, "
                                 "sender_member_id, client_message_id FROM "
                                 "@.client_message_dedupe WHERE expires_at IS NOT NULL "
                                 "AND expires_at < $1i ORDER BY expires_at LIMIT $2i)",
                                 {now.value, std::int64_t{limit}}));
    return store.reach(FaultPoint::rows_swept);
  }));
  return deleted;
}

Result<std::uint64_t> prune_messages(BrokerStore& store, TimeMs now, std::uint32_t limit) {
  std::uint64_t pruned = 0;
  HOLDFAST_CHECK(store.write([&](SqlSession& session) -> Result<void> {
    pruned = 0;
    for (const std::string_view table : {"topic_message", "message_queue"}) {
      const auto left = limit - static_cast<std::uint32_t>(pruned);
      HOLDFAST_TRY(const SqlRows rows, find_expired(session, table, now, left));
      for (const auto& row : rows) {
        HOLDFAST_CHECK(prune_one(session, table, row, now));
        HOLDFAST_CHECK(store.reach(FaultPoint::message_pruned));
      }
      pruned += rows.size();
    }
    return {};
  }));
  return pruned;
}

}  // namespace holdfast::delivery
