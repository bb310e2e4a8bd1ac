#include <array>

#include "apps/broker/directory_calls.h"
#include "apps/broker/push_hub.h"
#include "base/encoding.h"
#include "delivery/api/broker_views.h"
#include "delivery/broker/invitation.h"

namespace holdfast::delivery {

namespace {

constexpr std::string_view kMemberPrefix = "hfm_";
constexpr std::string_view kInvitationPrefix = "hfi_";

// A member that names no key gets a random one: enough to be addressed, nothing can be sealed
// with it.
std::string key_or_random(BrokerService& service, const std::string& pubkey) {
  if (!pubkey.empty()) {
    return pubkey;
  }
  std::array<std::byte, 32> bytes{};
  service.random.fill(bytes);
  return to_hex(bytes);
}

MemberCreated created_view(const std::string& workspace, const Member& member,
                           const std::string& token) {
  return {workspace, member.member_id, member.display_name, member.pubkey, token};
}

}  // namespace

Result<BrokerReply> list_all_members(BrokerCall& call) {
  HOLDFAST_CHECK(call.query.finish());
  HOLDFAST_TRY(const auto entries,
               call.read<std::vector<MemberEntry>>(
                   [&](SqlSession& session, std::vector<MemberEntry>& found) -> Result<void> {
                     HOLDFAST_TRY(const auto entry,
                                  get_workspace_named(session, call.arguments.at(0)));
                     HOLDFAST_TRY(found, list_members(session, entry.workspace.mesh_id));
                     return {};
                   }));
  return reply_with(MemberList{views_of(entries)});
}

Result<BrokerReply> add_member(BrokerCall& call) {
  HOLDFAST_TRY(const auto request, read_body<CreateMemberRequest>(call));
  BrokerService& service = call.service;
  const std::string token = new_secret(service, kMemberPrefix);
  Member member{new_id(service), "", key_or_random(service, request.pubkey), request.name,
                sha256(token)};
  HOLDFAST_CHECK(service.store.write([&](SqlSession& session) -> Result<void> {
    HOLDFAST_TRY(const auto entry, get_workspace_named(session, call.arguments.at(0)));
    member.mesh_id = entry.workspace.mesh_id;
    return create_member(session, member, service.clock.now());
  }));
  return reply_with(created_view(call.arguments.at(0), member, token), kStatusCreated);
}

Result<BrokerReply> end_member(BrokerCall& call) {
  HOLDFAST_CHECK(call.query.finish());
  HOLDFAST_TRY(const auto ended, call.write<MemberEntry>([&](SqlSession& session,
                                                             MemberEntry& member) -> Result<void> {
    HOLDFAST_TRY(const auto entry, get_workspace_named(session, call.arguments.at(0)));
    const std::string& mesh_id = entry.workspace.mesh_id;
    HOLDFAST_TRY(const auto found, get_member_named(session, mesh_id, call.arguments.at(1)));
    HOLDFAST_CHECK(revoke_member(session, found.member_id, call.service.clock.now()));
    HOLDFAST_TRY(member, get_member_named(session, mesh_id, call.arguments.at(1)));
    return {};
  }));
  if (call.service.push != nullptr) {
    call.service.push->member_revoked(ended.member_id);
  }
  return reply_with(view_of(ended));
}

Result<BrokerReply> invite_member(BrokerCall& call) {
  HOLDFAST_CHECK(read_body<InviteRequest>(call));
  BrokerService& service = call.service;
  const std::string secret = new_secret(service, kInvitationPrefix);
  HOLDFAST_TRY(const auto ends,
               call.write<TimeMs>([&](SqlSession& session, TimeMs& expires_at) -> Result<void> {
                 HOLDFAST_TRY(const auto entry, get_workspace_named(session, call.arguments.at(0)));
                 HOLDFAST_TRY(expires_at, create_invitation(session, entry.workspace.mesh_id,
                                                            sha256(secret), service.clock.now()));
                 return {};
               }));
  return reply_with(InvitationCreated{call.arguments.at(0), secret, ends}, kStatusCreated);
}

// Open to all: the secret of the invitation is the permission.
Result<BrokerReply> join_workspace(BrokerCall& call) {
  HOLDFAST_TRY(const auto request, read_body<JoinRequest>(call));
  BrokerService& service = call.service;
  const std::string token = new_secret(service, kMemberPrefix);
  const Member member{new_id(service), "", request.pubkey, request.name, sha256(token)};
  std::string workspace;
  HOLDFAST_TRY(
      const auto joined, call.write<Member>([&](SqlSession& session, Member& made) -> Result<void> {
        HOLDFAST_TRY(
            made, use_invitation(session, sha256(request.invitation), member, service.clock.now()));
        HOLDFAST_TRY(const LookupResult caller, find_caller(session, made.token_hash));
        workspace = caller.workspace.slug;
        return {};
      }));
  return reply_with(created_view(workspace, joined, token), kStatusCreated);
}

}  // namespace holdfast::delivery
