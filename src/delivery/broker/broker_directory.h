// Workspaces, members, topics, queues and subscriptions. What changes where messages may go or
// whom they reach locks the destination first, so it happens before or after an accept as a whole.
//
// Every function runs inside BrokerStore::write. Names are checked by the caller of the wire; they
// are checked here again, because they become rows. already_exists and not_found name the object.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/fields.h"
#include "base/hash.h"
#include "delivery/broker/sql_session.h"
#include "delivery/contract/max_age.h"
#include "delivery/contract/message_request.h"
#include "delivery/contract/queue_decision.h"
#include "holdfast/result.h"

namespace holdfast::delivery {

// A workspace; its tables and the wire call it a mesh.
struct Workspace {
  std::string mesh_id;  // a ULID
  std::string slug;     // the name
  BodyForm body_form = BodyForm::plain;
  DedupeWindow dedupe;
  std::uint32_t message_retention_days = 365;  // 0: kept for ever, where dedupe is permanent
  std::uint64_t rate_limit_per_window = 0;     // 0: no limit
  std::uint32_t window_seconds = 60;
  std::uint64_t max_inline_bytes = 65'536;
};

// invalid_argument when dedupe rows would end before messages do, or below the floor.
Result<void> create_workspace(SqlSession& session, const Workspace& workspace, TimeMs now);
// With everything in it.
Result<void> delete_workspace(SqlSession& session, std::string_view mesh_id);

struct Member {
  std::string member_id;  // a ULID
  std::string mesh_id;
  std::string pubkey;
  std::string display_name;  // unique in its workspace; letters in either case are the same
  Digest token_hash{};
};

Result<void> create_member(SqlSession& session, const Member& member, TimeMs now);
// Ends its subscriptions too. Revoking twice is the same as once.
Result<void> revoke_member(SqlSession& session, std::string_view member_id, TimeMs now);

// A closed topic accepts messages of its subscribers only.
enum class TopicAccess : std::uint8_t { open, closed };
// Whether a sender that is subscribed gets its own messages.
enum class SenderCopy : std::uint8_t { include, exclude };

struct Topic {
  std::string mesh_id;
  std::string name;
  TopicAccess access = TopicAccess::open;
  SenderCopy sender_copy = SenderCopy::include;
};

Result<void> create_topic(SqlSession& session, const Topic& topic, TimeMs now);
Result<void> archive_topic(SqlSession& session, std::string_view mesh_id, std::string_view name,
                           TimeMs now);

// invalid_argument when a lease or the number of deliveries is out of bounds.
Result<void> create_queue(SqlSession& session, std::string_view mesh_id, std::string_view name,
                          TimeMs now, const QueueSettings& settings = {});
// Everything but the order can be changed.
Result<void> configure_queue(SqlSession& session, std::string_view mesh_id, std::string_view name,
                             const QueueSettings& settings);
// Of a closed queue: the member may claim. not_found when there is no such queue.
Result<void> grant_queue(SqlSession& session, std::string_view mesh_id, std::string_view name,
                         std::string_view member_id, TimeMs now);
Result<void> withdraw_queue(SqlSession& session, std::string_view mesh_id, std::string_view name,
                            std::string_view member_id);

// A reader receives and may not post.
enum class SubscriptionRole : std::uint8_t { writer, reader };

struct Subscription {
  std::string mesh_id;
  std::string topic;
  std::string member_id;
  SubscriptionRole role = SubscriptionRole::writer;
};

// Of one topic: a message to it writes as many rows in its transaction.
inline constexpr std::int64_t kMostSubscriptions = 10'000;

// Again with another role changes the role. not_found when the topic does not exist or is
// archived, or the member is not a member of the workspace or was revoked; invalid_argument when
// the topic has as many as it may have.
Result<void> subscribe(SqlSession& session, const Subscription& subscription, TimeMs now);
Result<void> unsubscribe(SqlSession& session, const Subscription& subscription);

}  // namespace holdfast::delivery

namespace holdfast {

template <>
inline constexpr std::string_view kEnumNames<delivery::BodyForm>[] = {"plain", "sealed"};
template <>
inline constexpr std::string_view kEnumNames<delivery::TopicAccess>[] = {"open", "closed"};
template <>
inline constexpr std::string_view kEnumNames<delivery::SenderCopy>[] = {"include", "exclude"};
template <>
inline constexpr std::string_view kEnumNames<delivery::SubscriptionRole>[] = {"writer", "reader"};

}  // namespace holdfast
