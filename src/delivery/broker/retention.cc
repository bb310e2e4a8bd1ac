#include "delivery/broker/retention.h"

#include <fmt/format.h>

#include "delivery/contract/max_age.h"

namespace holdfast::delivery {

namespace {

constexpr std::string_view kNoOpenDelivery =
    "NOT EXISTS (SELECT 1 FROM @.delivery_queue d WHERE d.broker_message_id = "
    "{0}.broker_message_id "
    "AND d.state IN ('queued', 'leased')) AND NOT EXISTS (SELECT 1 FROM @.queue_entry e "
    "WHERE e.broker_message_id = {0}.broker_message_id "
    "AND e.state IN ('ready', 'delayed', 'leased'))";

// The rows of a history are small and have no bodies.
Result<std::vector<HistoryPlace>> find_expired(SqlSession& session, const HistoryPlace& after,
                                               TimeMs now, std::uint32_t limit) {
  static const std::string text = fmt::format(
      "SELECT h.mesh_id, h.destination_kind, h.destination_ref, h.history_seq, "
      "h.broker_message_id FROM @.message_history h JOIN @.mesh w ON w.mesh_id = h.mesh_id "
      "WHERE w.message_retention_days > 0 AND h.pruned_at IS NULL "
      "AND h.created_at + w.message_retention_days * $1i < $2i AND {} "
      "AND (h.mesh_id, h.destination_kind, h.destination_ref, h.history_seq) "
      "> ($4t, $5t, $6t, $7i) ORDER BY h.mesh_id, h.destination_kind, h.destination_ref, "
      "h.history_seq LIMIT $3i",
      fmt::format(kNoOpenDelivery, "h"));
  HOLDFAST_TRY(const SqlRows rows,
               session.query(text, {kDayMs, now.value, std::int64_t{limit}, after.mesh_id,
                                    after.kind, after.ref, after.history_seq}));
  std::vector<HistoryPlace> found;
  found.reserve(rows.size());
  for (const auto& row : rows) {
    found.push_back({row[0].bytes, row[1].bytes, row[2].bytes, row[3].integer, row[4].bytes});
  }
  return found;
}

// Whether the message was there, and nothing waits for it: a delivery may have been replayed since
// it was found.
Result<bool> prune_one(SqlSession& session, const HistoryPlace& place, TimeMs now) {
  const std::string& id = place.broker_message_id;
  const std::string_view table = place.kind == "topic" ? "topic_message" : "message_queue";
  HOLDFAST_TRY(const SqlRows rows,
               session.query(fmt::format("SELECT q.sender_member_id, q.client_message_id "
                                         "FROM @.{} q WHERE q.broker_message_id = $1t AND {}",
                                         table, fmt::format(kNoOpenDelivery, "q")),
                             {id}));
  if (rows.empty()) {
    return false;
  }
  for (const std::string_view from :
       {table, std::string_view("delivery_queue"), std::string_view("queue_entry"),
        std::string_view("mention_index")}) {
    HOLDFAST_CHECK(
        session.execute(fmt::format("DELETE FROM @.{} WHERE broker_message_id = $1t", from), {id}));
  }
  HOLDFAST_CHECK(
      session.execute("UPDATE @.message_history SET pruned_at = $2i WHERE broker_message_id = $1t",
                      {id, now.value}));
  const auto& row = rows.front();
  HOLDFAST_CHECK(session.execute(
      "UPDATE @.client_message_dedupe SET history_available = 0, history_pruned_at = $5i "
      "WHERE mesh_id = $1t AND sender_member_id = $2t AND client_message_id = $3t "
      "AND broker_message_id = $4t",
      {place.mesh_id, row[0].bytes, row[1].bytes, id, now.value}));
  return true;
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

Result<Pruned> prune_messages(BrokerStore& store, TimeMs now, std::uint32_t limit,
                              const HistoryPlace& after) {
  std::vector<HistoryPlace> places;
  HOLDFAST_CHECK(store.scan([&](SqlSession& session) -> Result<void> {
    HOLDFAST_TRY(places, find_expired(session, after, now, limit));
    return {};
  }));
  Pruned pruned;
  if (places.empty()) {
    return pruned;
  }
  HOLDFAST_CHECK(store.write([&](SqlSession& session) -> Result<void> {
    pruned.messages = 0;
    for (const HistoryPlace& place : places) {
      HOLDFAST_TRY(const bool there, prune_one(session, place, now));
      pruned.messages += there ? 1U : 0U;
      HOLDFAST_CHECK(store.reach(FaultPoint::message_pruned));
    }
    return {};
  }));
  if (places.size() == limit) {
    pruned.last = std::move(places.back());
  }
  return pruned;
}

}  // namespace holdfast::delivery
