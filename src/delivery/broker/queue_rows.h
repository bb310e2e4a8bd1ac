// The rows of queues: what a group of consumers reads and writes about messages, and the reads of
// operators. The rules are in delivery/contract/queue_decision.h.
//
// Every function runs inside a transaction of BrokerStore; those that change rows inside consume(),
// with the queue locked. No statement looks at more rows than it returns, but for counts, which
// stop at a bound.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "delivery/broker/sql_session.h"
#include "delivery/contract/envelope.h"
#include "delivery/contract/queue_decision.h"
#include "holdfast/result.h"

namespace holdfast::delivery {

// A queue: its workspace and name. In this order every group locks its queues.
using QueueKey = std::pair<std::string, std::string>;

// From the columns ordering, access, max_deliveries and lease_ms. What cannot be read is taken for
// what allows less.
QueueSettings settings_of(const std::vector<SqlCell>& row, std::size_t first);

// Locks the queues; those that do not exist are missing.
Result<std::map<QueueKey, QueueSettings>> lock_queues(SqlSession& session,
                                                      std::span<const QueueKey> keys);
// Without a lock.
Result<std::optional<QueueSettings>> find_queue(SqlSession& session, const QueueKey& key);

// Whether each member, which was not revoked, was granted the queue.
enum class ConsumerGrant : std::uint8_t { revoked, member, granted };
struct ConsumerKey {
  QueueKey queue;
  std::string member_id;
};
Result<std::vector<ConsumerGrant>> find_grants(SqlSession& session,
                                               std::span<const ConsumerKey> keys);

// The place of each message that the queue has.
struct PlaceKey {
  QueueKey queue;
  std::string broker_message_id;
};
Result<std::vector<std::optional<QueuePlace>>> read_places(SqlSession& session,
                                                           std::span<const PlaceKey> keys);
struct PlaceRow {
  std::string broker_message_id;
  QueuePlace place;
};
Result<void> write_places(SqlSession& session, std::span<const PlaceRow> rows);

// Messages of a queue whose time has come or whose lease has ended, and ready ones that have
// expired.
Result<std::vector<PlaceRow>> find_due(SqlSession& session, const QueueKey& key, TimeMs now,
                                       std::uint32_t limit);
// When the next message of the queue is due; none: nothing waits.
Result<std::optional<TimeMs>> next_due(SqlSession& session, const QueueKey& key);

// What claims could take, in its order. key: the ordering key; empty: any message.
struct CandidateQuery {
  QueueKey queue = {};
  std::string key = {};
  std::uint32_t limit = 0;
};
Result<std::vector<QueueCandidate>> find_candidates(SqlSession& session,
                                                    const CandidateQuery& query, TimeMs now);
// The lanes of a queue with what has not ended in each, from its head on: the lanes whose heads
// come first, as many as `limit`, and as much of each.
Result<std::vector<QueueLane>> find_lanes(SqlSession& session, const QueueKey& key,
                                          std::string_view lease, std::uint32_t limit);

// A message in the hands of a consumer.
struct QueueMessage {
  std::string broker_message_id = {};
  std::string client_message_id = {};
  std::string sender_pubkey = {};
  std::string sender_name = {};
  std::string ordering_key = {};
  std::uint32_t delivery = 0;  // 1 for the first
  std::uint64_t history_seq = 0;
  TimeMs created_at = {};
  TimeMs expires_at = {};  // 0: never
  bool redacted = false;   // the envelope has neither meta nor body
  Envelope envelope = {};
};
// In the order of the ids.
Result<std::vector<QueueMessage>> read_messages(SqlSession& session,
                                                std::span<const std::string> broker_message_ids);

// What waits in each queue for polls: how many messages are ready, up to `limit`, and when the next
// one is due.
struct QueueNews {
  std::uint64_t ready = 0;
  std::optional<TimeMs> next_at;
};
Result<std::vector<QueueNews>> find_news(SqlSession& session,
                                         std::span<const CandidateQuery> queries);

// For operators

// A message of a queue without its content.
struct QueueListEntry {
  std::string broker_message_id = {};
  std::string client_message_id = {};
  std::string sender_name = {};
  std::string ordering_key = {};
  Priority priority = Priority::next;
  std::uint64_t history_seq = 0;
  TimeMs created_at = {};
  QueuePlace place = {};
};
struct QueueListFilter {
  QueueKey queue = {};
  std::string after_id = {};  // of the broker
  std::string reason = {};    // empty: any
  std::uint32_t limit = 0;
};
// Dead messages in the order of their ids.
Result<std::vector<QueueListEntry>> list_dead(SqlSession& session, const QueueListFilter& filter);

// Counts stop at kMostCounted.
inline constexpr std::uint64_t kMostCounted = 100'000;
struct QueueCounts {
  std::uint64_t ready = 0;
  std::uint64_t delayed = 0;
  std::uint64_t leased = 0;
  std::uint64_t dead = 0;
};
Result<QueueCounts> count_queue(SqlSession& session, const QueueKey& key);

// Every queue of the store.
Result<std::vector<QueueKey>> all_queues(SqlSession& session);

// The messages of a sender by its own ids; the ids of the broker.
Result<std::vector<std::optional<std::string>>> find_sent(
    SqlSession& session, const QueueKey& key, std::string_view sender_member_id,
    std::span<const std::string> client_message_ids);

}  // namespace holdfast::delivery
