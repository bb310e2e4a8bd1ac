#include "delivery/broker/broker_directory.h"

#include <fmt/format.h>

#include "base/names.h"
#include "base/quote.h"
#include "delivery/broker/accept_facts.h"

namespace holdfast::delivery {

namespace {

// Accepts hold this row; a change waits for them, and they for it.
Result<void> lock_destination(SqlSession& session, std::string_view mesh_id, DestinationKind kind,
                              std::string_view ref) {
  HOLDFAST_TRY(const std::uint64_t found,
               session.execute("UPDATE @.destination SET last_seq = last_seq WHERE mesh_id = $1t "
                               "AND destination_kind = $2t AND destination_ref = $3t",
                               {mesh_id, to_text(kind), ref}));
  if (found == 0) {
    return Error{ErrorCode::not_found, fmt::format("there is no {} {}", to_text(kind), quote(ref))};
  }
  return {};
}

// A message to a topic writes one row for each subscription, in its transaction.
Result<void> check_subscription_count(SqlSession& session, const Subscription& subscription) {
  HOLDFAST_TRY(const SqlRows rows,
               session.query("SELECT count(*) FROM @.topic_subscription WHERE mesh_id = $1t "
                             "AND topic = $2t AND member_id <> $3t",
                             {subscription.mesh_id, subscription.topic, subscription.member_id}));
  if (rows[0][0].integer >= kMostSubscriptions) {
    return Error{ErrorCode::invalid_argument,
                 fmt::format("the topic {} has {} subscriptions, and no topic has more; use "
                             "several topics",
                             quote(subscription.topic), kMostSubscriptions)};
  }
  return {};
}

Result<void> add_destination(SqlSession& session, std::string_view mesh_id, DestinationKind kind,
                             std::string_view ref) {
  HOLDFAST_TRY(const std::uint64_t added,
               session.execute("INSERT INTO @.destination(mesh_id, destination_kind, "
                               "destination_ref, last_seq) SELECT w.mesh_id, $2t, $3t, 0 "
                               "FROM @.mesh w WHERE w.mesh_id = $1t ON CONFLICT DO NOTHING",
                               {mesh_id, to_text(kind), ref}));
  if (added == 0) {
    return Error{ErrorCode::already_exists,
                 fmt::format("the {} {} exists already, or its workspace does not", to_text(kind),
                             quote(ref))};
  }
  return {};
}

Result<void> check_retention(const Workspace& workspace) {
  HOLDFAST_CHECK(max_age_hours(workspace.dedupe, {}));
  if (workspace.dedupe.mode == DedupeMode::permanent) {
    return {};
  }
  if (workspace.message_retention_days == 0 ||
      workspace.message_retention_days > workspace.dedupe.retention_days) {
    return Error{
        ErrorCode::invalid_argument,
        fmt::format("message_retention_days is {}; use 1 to {}, because dedupe rows must be "
                    "kept as long as messages",
                    workspace.message_retention_days, workspace.dedupe.retention_days)};
  }
  return {};
}

Result<void> check_settings(const QueueSettings& settings) {
  if (settings.lease_ms < 1 || settings.lease_ms > kLongestLeaseMs) {
    return Error{ErrorCode::invalid_argument,
                 fmt::format("lease_ms is {}; use 1 to {}", settings.lease_ms, kLongestLeaseMs)}
        .with("field", "lease_ms");
  }
  if (settings.max_deliveries > kMostDeliveries) {
    return Error{ErrorCode::invalid_argument,
                 fmt::format("max_deliveries is {}; use at most {}, or 0 for no limit",
                             settings.max_deliveries, kMostDeliveries)}
        .with("field", "max_deliveries");
  }
  return {};
}

Error no_such_queue(std::string_view name) {
  return Error{ErrorCode::not_found, fmt::format("there is no queue {}", quote(name))};
}

}  // namespace

Result<void> create_workspace(SqlSession& session, const Workspace& workspace, TimeMs now) {
  HOLDFAST_CHECK(check_name("workspace", workspace.slug));
  HOLDFAST_CHECK(check_retention(workspace));
  if (workspace.window_seconds == 0 || workspace.max_inline_bytes < 1024) {
    return Error{ErrorCode::invalid_argument,
                 "a workspace needs a rate window of at least 1 second and messages of at least "
                 "1024 bytes"};
  }
  HOLDFAST_TRY(const std::uint64_t added,
               session.execute(
                   "INSERT INTO @.mesh(mesh_id, slug, body_form, dedupe_mode, "
                   "dedupe_retention_days, message_retention_days, rate_limit_per_window, "
                   "window_seconds, max_inline_bytes, created_at) VALUES ($1t, $2t, $3t, $4t, "
                   "$5i, $6i, $7i, $8i, $9i, $10i) ON CONFLICT DO NOTHING",
                   {workspace.mesh_id, workspace.slug, to_text(workspace.body_form),
                    to_text(workspace.dedupe.mode), std::int64_t{workspace.dedupe.retention_days},
                    std::int64_t{workspace.message_retention_days},
                    static_cast<std::int64_t>(workspace.rate_limit_per_window),
                    std::int64_t{workspace.window_seconds},
                    static_cast<std::int64_t>(workspace.max_inline_bytes), now.value}));
  if (added == 0) {
    return Error{ErrorCode::already_exists,
                 fmt::format("the workspace {} exists already", quote(workspace.slug))};
  }
  return {};
}

Result<void> delete_workspace(SqlSession& session, std::string_view mesh_id) {
  HOLDFAST_TRY(const std::uint64_t deleted,
               session.execute("DELETE FROM @.mesh WHERE mesh_id = $1t", {mesh_id}));
  if (deleted == 0) {
    return Error{ErrorCode::not_found, "there is no such workspace"};
  }
  return {};
}

Result<void> create_member(SqlSession& session, const Member& member, TimeMs now) {
  HOLDFAST_CHECK(check_destination({DestinationKind::dm, member.pubkey}));
  HOLDFAST_CHECK(check_name("member", member.display_name));
  HOLDFAST_CHECK(add_destination(session, member.mesh_id, DestinationKind::dm, member.pubkey));
  const std::string key = name_key(member.display_name);
  HOLDFAST_TRY(
      const std::uint64_t added,
      session.execute("INSERT INTO @.member(member_id, mesh_id, pubkey, display_name, "
                      "name_key, token_hash, created_at) VALUES ($1t, $2t, $3t, $4t, "
                      "$5t, $6b, $7i) ON CONFLICT DO NOTHING",
                      {member.member_id, member.mesh_id, member.pubkey, member.display_name, key,
                       sql_bytes(member.token_hash), now.value}));
  if (added == 0) {
    return Error{ErrorCode::already_exists,
                 fmt::format("a member with the name {} or its token exists already",
                             quote(member.display_name))};
  }
  return {};
}

Result<void> revoke_member(SqlSession& session, std::string_view member_id, TimeMs now) {
  HOLDFAST_TRY(
      const SqlRows found,
      session.query("SELECT mesh_id, pubkey FROM @.member WHERE member_id = $1t", {member_id}));
  if (found.empty()) {
    return Error{ErrorCode::not_found, "there is no such member"};
  }
  const auto& row = found.front();
  HOLDFAST_CHECK(lock_destination(session, row[0].bytes, DestinationKind::dm, row[1].bytes));
  HOLDFAST_CHECK(session.execute(
      "UPDATE @.member SET revoked_at = COALESCE(revoked_at, $2i) WHERE member_id = $1t",
      {member_id, now.value}));
  // The topics in their order, as accepts lock them.
  HOLDFAST_TRY(const SqlRows topics,
               session.query("SELECT topic FROM @.topic_subscription WHERE mesh_id = $1t "
                             "AND member_id = $2t ORDER BY topic",
                             {row[0].bytes, member_id}));
  for (const auto& topic : topics) {
    HOLDFAST_CHECK(
        unsubscribe(session, {row[0].bytes, topic[0].bytes, std::string(member_id), {}}));
  }
  return {};
}

Result<void> create_topic(SqlSession& session, const Topic& topic, TimeMs now) {
  HOLDFAST_CHECK(check_destination({DestinationKind::topic, topic.name}));
  HOLDFAST_CHECK(add_destination(session, topic.mesh_id, DestinationKind::topic, topic.name));
  HOLDFAST_CHECK(session.execute(
      "INSERT INTO @.topic(mesh_id, name, access, sender_copy, created_at) "
      "VALUES ($1t, $2t, $3t, $4t, $5i)",
      {topic.mesh_id, topic.name, to_text(topic.access), to_text(topic.sender_copy), now.value}));
  return {};
}

Result<void> archive_topic(SqlSession& session, std::string_view mesh_id, std::string_view name,
                           TimeMs now) {
  HOLDFAST_CHECK(lock_destination(session, mesh_id, DestinationKind::topic, name));
  HOLDFAST_CHECK(
      session.execute("UPDATE @.topic SET archived_at = COALESCE(archived_at, $3i) "
                      "WHERE mesh_id = $1t AND name = $2t",
                      {mesh_id, name, now.value}));
  return {};
}

Result<void> create_queue(SqlSession& session, std::string_view mesh_id, std::string_view name,
                          TimeMs now, const QueueSettings& settings) {
  HOLDFAST_CHECK(check_destination({DestinationKind::queue, std::string(name)}));
  HOLDFAST_CHECK(check_settings(settings));
  HOLDFAST_CHECK(add_destination(session, mesh_id, DestinationKind::queue, name));
  HOLDFAST_CHECK(session.execute(
      "INSERT INTO @.queue(mesh_id, name, created_at, ordering, access, max_deliveries, lease_ms) "
      "VALUES ($1t, $2t, $3i, $4t, $5t, $6i, $7i)",
      {mesh_id, name, now.value, to_text(settings.order), to_text(settings.access),
       std::int64_t{settings.max_deliveries}, settings.lease_ms}));
  return {};
}

Result<void> configure_queue(SqlSession& session, std::string_view mesh_id, std::string_view name,
                             const QueueSettings& settings) {
  HOLDFAST_CHECK(check_settings(settings));
  HOLDFAST_TRY(const std::uint64_t changed,
               session.execute("UPDATE @.queue SET access = $3t, max_deliveries = $4i, "
                               "lease_ms = $5i WHERE mesh_id = $1t AND name = $2t",
                               {mesh_id, name, to_text(settings.access),
                                std::int64_t{settings.max_deliveries}, settings.lease_ms}));
  return changed == 0 ? no_such_queue(name) : Result<void>();
}

Result<void> grant_queue(SqlSession& session, std::string_view mesh_id, std::string_view name,
                         std::string_view member_id, TimeMs now) {
  HOLDFAST_TRY(const std::uint64_t found,
               session.execute("INSERT INTO @.queue_consumer(mesh_id, queue, member_id, "
                               "granted_at) SELECT q.mesh_id, q.name, $3t, $4i FROM @.queue q "
                               "WHERE q.mesh_id = $1t AND q.name = $2t "
                               "ON CONFLICT(mesh_id, queue, member_id) "
                               "DO UPDATE SET granted_at = excluded.granted_at",
                               {mesh_id, name, member_id, now.value}));
  return found == 0 ? no_such_queue(name) : Result<void>();
}

Result<void> withdraw_queue(SqlSession& session, std::string_view mesh_id, std::string_view name,
                            std::string_view member_id) {
  HOLDFAST_CHECK(session.execute(
      "DELETE FROM @.queue_consumer WHERE mesh_id = $1t AND queue = $2t AND member_id = $3t",
      {mesh_id, name, member_id}));
  return {};
}

Result<void> subscribe(SqlSession& session, const Subscription& subscription, TimeMs now) {
  HOLDFAST_CHECK(
      lock_destination(session, subscription.mesh_id, DestinationKind::topic, subscription.topic));
  HOLDFAST_CHECK(check_subscription_count(session, subscription));
  HOLDFAST_TRY(const std::uint64_t changed,
               session.execute("INSERT INTO @.topic_subscription(mesh_id, topic, member_id, role, "
                               "joined_at) SELECT t.mesh_id, t.name, m.member_id, $4t, $5i "
                               "FROM @.topic t JOIN @.member m ON m.mesh_id = t.mesh_id "
                               "WHERE t.mesh_id = $1t AND t.name = $2t AND m.member_id = $3t "
                               "AND t.archived_at IS NULL AND m.revoked_at IS NULL "
                               "ON CONFLICT(mesh_id, topic, member_id) "
                               "DO UPDATE SET role = excluded.role",
                               {subscription.mesh_id, subscription.topic, subscription.member_id,
                                to_text(subscription.role), now.value}));
  if (changed == 0) {
    return Error{ErrorCode::not_found,
                 fmt::format("the topic {} is archived, or there is no such member",
                             quote(subscription.topic))};
  }
  return {};
}

Result<void> unsubscribe(SqlSession& session, const Subscription& subscription) {
  HOLDFAST_CHECK(
      lock_destination(session, subscription.mesh_id, DestinationKind::topic, subscription.topic));
  HOLDFAST_CHECK(
      session.execute("DELETE FROM @.topic_subscription WHERE mesh_id = $1t "
                      "AND topic = $2t AND member_id = $3t",
                      {subscription.mesh_id, subscription.topic, subscription.member_id}));
  return {};
}

}  // namespace holdfast::delivery
