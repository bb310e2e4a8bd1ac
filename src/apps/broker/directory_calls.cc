#include "apps/broker/directory_calls.h"

#include <fmt/format.h>

#include <array>

#include "base/encoding.h"
#include "base/quote.h"
#include "delivery/contract/message_id.h"

namespace holdfast::delivery {

namespace {

Error unknown(std::string_view what, std::string_view name) {
  return Error{ErrorCode::not_found, fmt::format("there is no {} {}", what, quote(name))};
}

}  // namespace

Result<WorkspaceEntry> get_workspace_named(SqlSession& session, std::string_view name) {
  HOLDFAST_TRY(auto found, find_workspace(session, name));
  return found.has_value() ? Result<WorkspaceEntry>(*std::move(found)) : unknown("workspace", name);
}

Result<MemberEntry> get_member_named(SqlSession& session, std::string_view mesh_id,
                                     std::string_view name) {
  HOLDFAST_TRY(auto found, find_member(session, mesh_id, name));
  return found.has_value() ? Result<MemberEntry>(*std::move(found)) : unknown("member", name);
}

Result<TopicEntry> get_topic_named(SqlSession& session, std::string_view mesh_id,
                                   std::string_view name) {
  HOLDFAST_TRY(auto found, find_topic(session, mesh_id, name));
  return found.has_value() ? Result<TopicEntry>(*std::move(found)) : unknown("topic", name);
}

std::string new_id(BrokerService& service) {
  std::array<std::byte, 10> entropy{};
  service.random.fill(entropy);
  return UlidSequence().next(service.clock.now(), entropy).text();
}

std::string new_secret(BrokerService& service, std::string_view prefix) {
  std::array<std::byte, 32> bytes{};
  service.random.fill(bytes);
  return std::string(prefix) + to_base64url(bytes);
}

}  // namespace holdfast::delivery
