#include "delivery/broker/broker_listing.h"

#include <fmt/format.h>

#include "delivery/broker/accept_facts.h"
#include "delivery/broker/queue_rows.h"
#include "delivery/broker/workspace_row.h"

namespace holdfast::delivery {

namespace {

using Cells = std::vector<SqlCell>;

std::optional<TimeMs> time_at(const SqlCell& cell) {
  return cell.null ? std::nullopt : std::optional(TimeMs{cell.integer});
}

WorkspaceEntry workspace_entry(const Cells& row) {
  return {workspace_of(row), TimeMs{row[kWorkspaceColumnCount].integer}};
}

MemberEntry member_entry(const Cells& row) {
  return {row[0].bytes, row[1].bytes, row[2].bytes, TimeMs{row[3].integer}, time_at(row[4])};
}

TopicEntry topic_entry(const Cells& row) {
  return {{row[0].bytes, row[1].bytes,
           enum_from<TopicAccess>(row[2].bytes).value_or(TopicAccess::closed),
           enum_from<SenderCopy>(row[3].bytes).value_or(SenderCopy::include)},
          TimeMs{row[4].integer},
          time_at(row[5]),
          static_cast<std::uint64_t>(row[6].integer)};
}

template <typename Entry>
std::vector<Entry> entries_of(const SqlRows& rows, Entry (*make)(const Cells&)) {
  std::vector<Entry> entries;
  entries.reserve(rows.size());
  for (const Cells& row : rows) {
    entries.push_back(make(row));
  }
  return entries;
}

template <typename Entry>
std::optional<Entry> first_of(const SqlRows& rows, Entry (*make)(const Cells&)) {
  return rows.empty() ? std::nullopt : std::optional(make(rows.front()));
}

constexpr std::string_view kMembers =
    "SELECT m.member_id, m.pubkey, m.display_name, m.created_at, m.revoked_at FROM @.member m "
    "WHERE m.mesh_id = $1t";
constexpr std::string_view kTopics =
    "SELECT t.mesh_id, t.name, t.access, t.sender_copy, t.created_at, t.archived_at, d.last_seq "
    "FROM @.topic t JOIN @.destination d ON d.mesh_id = t.mesh_id "
    "AND d.destination_kind = 'topic' AND d.destination_ref = t.name WHERE t.mesh_id = $1t";

std::string workspace_query(std::string_view rest) {
  return fmt::format("SELECT {}, w.created_at FROM @.mesh w {}", kWorkspaceColumns, rest);
}

}  // namespace

Result<std::vector<WorkspaceEntry>> list_workspaces(SqlSession& session) {
  HOLDFAST_TRY(const SqlRows rows, session.query(workspace_query("ORDER BY w.slug"), {}));
  return entries_of(rows, workspace_entry);
}

Result<std::optional<WorkspaceEntry>> find_workspace(SqlSession& session, std::string_view slug) {
  HOLDFAST_TRY(const SqlRows rows, session.query(workspace_query("WHERE w.slug = $1t"), {slug}));
  return first_of(rows, workspace_entry);
}

Result<std::vector<MemberEntry>> list_members(SqlSession& session, std::string_view mesh_id) {
  HOLDFAST_TRY(const SqlRows rows,
               session.query(fmt::format("{} ORDER BY m.name_key", kMembers), {mesh_id}));
  return entries_of(rows, member_entry);
}

Result<std::optional<MemberEntry>> find_member(SqlSession& session, std::string_view mesh_id,
                                               std::string_view name) {
  const std::string key = name_key(name);
  HOLDFAST_TRY(
      const SqlRows rows,
      session.query(
          fmt::format("{} AND (m.name_key = $2t OR m.pubkey = $3t) ORDER BY m.member_id", kMembers),
          {mesh_id, key, name}));
  return first_of(rows, member_entry);
}

Result<std::vector<TopicEntry>> list_topics(SqlSession& session, std::string_view mesh_id) {
  HOLDFAST_TRY(const SqlRows rows,
               session.query(fmt::format("{} ORDER BY t.name", kTopics), {mesh_id}));
  return entries_of(rows, topic_entry);
}

Result<std::optional<TopicEntry>> find_topic(SqlSession& session, std::string_view mesh_id,
                                             std::string_view name) {
  HOLDFAST_TRY(const SqlRows rows,
               session.query(fmt::format("{} AND t.name = $2t", kTopics), {mesh_id, name}));
  return first_of(rows, topic_entry);
}

Result<std::vector<SubscriptionEntry>> list_subscriptions(SqlSession& session,
                                                          std::string_view mesh_id,
                                                          std::string_view topic) {
  HOLDFAST_TRY(const SqlRows rows,
               session.query("SELECT m.display_name, m.pubkey, s.role, s.joined_at "
                             "FROM @.topic_subscription s JOIN @.member m "
                             "ON m.member_id = s.member_id WHERE s.mesh_id = $1t "
                             "AND s.topic = $2t ORDER BY m.name_key",
                             {mesh_id, topic}));
  std::vector<SubscriptionEntry> entries;
  entries.reserve(rows.size());
  for (const Cells& row : rows) {
    entries.push_back({row[0].bytes, row[1].bytes,
                       enum_from<SubscriptionRole>(row[2].bytes).value_or(SubscriptionRole::reader),
                       TimeMs{row[3].integer}});
  }
  return entries;
}

Result<std::vector<Subscription>> list_member_subscriptions(SqlSession& session,
                                                            std::string_view member_id) {
  HOLDFAST_TRY(const SqlRows rows,
               session.query("SELECT mesh_id, topic, member_id, role FROM @.topic_subscription "
                             "WHERE member_id = $1t",
                             {member_id}));
  std::vector<Subscription> subscriptions;
  subscriptions.reserve(rows.size());
  for (const Cells& row : rows) {
    subscriptions.push_back(
        {row[0].bytes, row[1].bytes, row[2].bytes,
         enum_from<SubscriptionRole>(row[3].bytes).value_or(SubscriptionRole::reader)});
  }
  return subscriptions;
}

namespace {

// name: empty: of all queues.
Result<std::vector<QueueEntry>> read_queues(SqlSession& session, std::string_view mesh_id,
                                            std::string_view name) {
  HOLDFAST_TRY(const SqlRows rows,
               session.query("SELECT q.name, q.created_at, d.last_seq, q.ordering, q.access, "
                             "q.max_deliveries, q.lease_ms FROM @.queue q "
                             "JOIN @.destination d ON d.mesh_id = q.mesh_id "
                             "AND d.destination_kind = 'queue' AND d.destination_ref = q.name "
                             "WHERE q.mesh_id = $1t AND ($2t = '' OR q.name = $2t) "
                             "ORDER BY q.name",
                             {mesh_id, name}));
  std::vector<QueueEntry> entries;
  entries.reserve(rows.size());
  for (const Cells& row : rows) {
    entries.push_back({.name = row[0].bytes,
                       .created_at = TimeMs{row[1].integer},
                       .messages = static_cast<std::uint64_t>(row[2].integer),
                       .settings = settings_of(row, 3)});
  }
  return entries;
}

}  // namespace

Result<std::vector<QueueEntry>> list_queues(SqlSession& session, std::string_view mesh_id) {
  return read_queues(session, mesh_id, "");
}

Result<std::optional<QueueEntry>> find_queue_entry(SqlSession& session, std::string_view mesh_id,
                                                   std::string_view name) {
  HOLDFAST_TRY(auto entries, read_queues(session, mesh_id, name));
  return entries.empty() || name.empty() ? std::nullopt : std::optional(std::move(entries.front()));
}

Result<std::vector<std::string>> list_consumers(SqlSession& session, std::string_view mesh_id,
                                                std::string_view queue) {
  HOLDFAST_TRY(const SqlRows rows,
               session.query("SELECT m.display_name FROM @.queue_consumer c "
                             "JOIN @.member m ON m.member_id = c.member_id "
                             "WHERE c.mesh_id = $1t AND c.queue = $2t ORDER BY m.name_key",
                             {mesh_id, queue}));
  std::vector<std::string> names;
  names.reserve(rows.size());
  for (const Cells& row : rows) {
    names.push_back(row[0].bytes);
  }
  return names;
}

Result<DeliveryDepth> count_deliveries(SqlSession& session) {
  HOLDFAST_TRY(const SqlRows rows,
               session.query("SELECT channel, state, count(*), min(created_at) "
                             "FROM @.delivery_queue GROUP BY channel, state UNION ALL "
                             "SELECT 'webhook', CASE state WHEN 'sending' THEN 'leased' "
                             "ELSE state END, count(*), min(queued_at) "
                             "FROM @.webhook_delivery GROUP BY state ORDER BY 1, 2",
                             {}));
  DeliveryDepth depth;
  for (const Cells& row : rows) {
    depth.counts.push_back(
        {row[0].bytes, row[1].bytes, static_cast<std::uint64_t>(row[2].integer)});
    const bool waits = row[1].bytes == "queued" || row[1].bytes == "leased";
    const TimeMs first{row[3].integer};
    if (waits && (!depth.oldest_at.has_value() || first < *depth.oldest_at)) {
      depth.oldest_at = first;
    }
  }
  HOLDFAST_TRY(const SqlRows webhooks,
               session.query("SELECT state, count(*) FROM @.webhook_endpoint GROUP BY state "
                             "ORDER BY state",
                             {}));
  for (const Cells& row : webhooks) {
    depth.webhooks.push_back({row[0].bytes, static_cast<std::uint64_t>(row[1].integer)});
  }
  return depth;
}

}  // namespace holdfast::delivery
