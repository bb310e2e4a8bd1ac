// What the operations on the directory of a broker share: objects by name, new ids and secrets.
#pragma once

#include <string>
#include <string_view>

#include "apps/broker/broker_call.h"
#include "delivery/broker/broker_listing.h"

namespace holdfast::delivery {

inline constexpr int kStatusCreated = 201;

// not_found names the object.
Result<WorkspaceEntry> get_workspace_named(SqlSession& session, std::string_view name);
Result<MemberEntry> get_member_named(SqlSession& session, std::string_view mesh_id,
                                     std::string_view name);
Result<TopicEntry> get_topic_named(SqlSession& session, std::string_view mesh_id,
                                   std::string_view name);

// A ULID of its own.
std::string new_id(BrokerService& service);
// 32 random bytes as text, with what it is for in front: hfm_ for members, hfi_ for invitations.
std::string new_secret(BrokerService& service, std::string_view prefix);

}  // namespace holdfast::delivery
