// Reads of the directory: workspaces, members, topics, queues and subscriptions, in the order of
// their names. Every function runs inside BrokerStore::read.
//
// Objects that were revoked or archived are listed with the time at which that happened.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "delivery/broker/broker_directory.h"
#include "delivery/broker/sql_session.h"
#include "holdfast/result.h"

namespace holdfast::delivery {

struct WorkspaceEntry {
  Workspace workspace;
  TimeMs created_at;
};

Result<std::vector<WorkspaceEntry>> list_workspaces(SqlSession& session);
Result<std::optional<WorkspaceEntry>> find_workspace(SqlSession& session, std::string_view slug);

struct MemberEntry {
  std::string member_id;
  std::string pubkey;
  std::string display_name;
  TimeMs created_at;
  std::optional<TimeMs> revoked_at;
};

Result<std::vector<MemberEntry>> list_members(SqlSession& session, std::string_view mesh_id);
// By display name (letters in either case) or public key.
Result<std::optional<MemberEntry>> find_member(SqlSession& session, std::string_view mesh_id,
                                               std::string_view name);

struct TopicEntry {
  Topic topic;
  TimeMs created_at;
  std::optional<TimeMs> archived_at;
  std::uint64_t messages = 0;  // that were ever accepted
};

Result<std::vector<TopicEntry>> list_topics(SqlSession& session, std::string_view mesh_id);
Result<std::optional<TopicEntry>> find_topic(SqlSession& session, std::string_view mesh_id,
                                             std::string_view name);

struct SubscriptionEntry {
  std::string member;  // its display name
  std::string pubkey;
  SubscriptionRole role = SubscriptionRole::writer;
  TimeMs joined_at;
};

Result<std::vector<SubscriptionEntry>> list_subscriptions(SqlSession& session,
                                                          std::string_view mesh_id,
                                                          std::string_view topic);

// Those of one member.
Result<std::vector<Subscription>> list_member_subscriptions(SqlSession& session,
                                                            std::string_view member_id);

struct QueueEntry {
  std::string name = {};
  TimeMs created_at = {};
  std::uint64_t messages = 0;  // that were ever accepted
  QueueSettings settings = {};
};

Result<std::vector<QueueEntry>> list_queues(SqlSession& session, std::string_view mesh_id);
Result<std::optional<QueueEntry>> find_queue_entry(SqlSession& session, std::string_view mesh_id,
                                                   std::string_view name);
// The names of the members that were granted a queue.
Result<std::vector<std::string>> list_consumers(SqlSession& session, std::string_view mesh_id,
                                                std::string_view queue);

// Deliveries by channel and state, and how long the oldest one that has not ended has waited.
struct DeliveryDepth {
  struct Count {
    std::string channel;
    std::string state;
    std::uint64_t rows = 0;
  };
  struct WebhookCount {
    std::string state;
    std::uint64_t rows = 0;
  };
  std::vector<Count> counts;
  std::vector<WebhookCount> webhooks;
  std::optional<TimeMs> oldest_at;
};

// Reads the whole tables of deliveries.
Result<DeliveryDepth> count_deliveries(SqlSession& session);

}  // namespace holdfast::delivery
