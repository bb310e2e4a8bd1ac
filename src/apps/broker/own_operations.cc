// What a member does for itself: the topics it may read, its own subscriptions, and the members
// it may write to.
#include <algorithm>

#include "apps/broker/directory_calls.h"
#include "apps/broker/push_hub.h"
#include "delivery/api/own_requests.h"
#include "delivery/contract/rejection.h"

namespace holdfast::delivery {

namespace {

std::optional<SubscriptionRole> role_of(const std::vector<SubscriptionEntry>& subscriptions,
                                        std::string_view pubkey) {
  const auto own = std::find_if(
      subscriptions.begin(), subscriptions.end(),
      [&](const SubscriptionEntry& subscription) { return subscription.pubkey == pubkey; });
  return own == subscriptions.end() ? std::nullopt : std::optional(own->role);
}

// A topic that a member may not read does not exist for it.
Result<OwnTopicView> read_own_topic(SqlSession& session, const LookupResult& caller,
                                    std::string_view name) {
  const std::string& mesh_id = caller.workspace.mesh_id;
  HOLDFAST_TRY(const TopicEntry entry, get_topic_named(session, mesh_id, name));
  HOLDFAST_TRY(const auto subscriptions, list_subscriptions(session, mesh_id, name));
  const auto role = role_of(subscriptions, caller.pubkey);
  if (entry.archived_at.has_value() ||
      (entry.topic.access == TopicAccess::closed && !role.has_value())) {
    return rejected(Rejection::not_allowed,
                    "the topic is archived, or closed: its administrator subscribes members");
  }
  return OwnTopicView{entry.topic.name, entry.topic.access, role.has_value(), role};
}

template <typename Change>
Result<BrokerReply> change_own_subscription(BrokerCall& call, const Change& change) {
  HOLDFAST_TRY(
      const auto view,
      call.write<OwnTopicView>([&](SqlSession& session, OwnTopicView& changed) -> Result<void> {
        const std::string& name = call.arguments.at(0);
        HOLDFAST_TRY(const OwnTopicView before, read_own_topic(session, call.caller, name));
        HOLDFAST_CHECK(change(session, before));
        HOLDFAST_TRY(changed, read_own_topic(session, call.caller, name));
        return {};
      }));
  return reply_with(view);
}

}  // namespace

Result<BrokerReply> list_own_topics(BrokerCall& call) {
  HOLDFAST_CHECK(call.query.finish());
  HOLDFAST_TRY(const auto list, call.read<OwnTopicList>([&](SqlSession& session,
                                                            OwnTopicList& found) -> Result<void> {
    const std::string& mesh_id = call.caller.workspace.mesh_id;
    HOLDFAST_TRY(const auto entries, list_topics(session, mesh_id));
    HOLDFAST_TRY(const auto own, list_member_subscriptions(session, call.caller.member_id));
    for (const TopicEntry& entry : entries) {
      const auto mine = std::find_if(own.begin(), own.end(), [&](const Subscription& one) {
        return one.topic == entry.topic.name;
      });
      const bool subscribed = mine != own.end();
      if (!entry.archived_at.has_value() &&
          (subscribed || entry.topic.access == TopicAccess::open)) {
        found.topics.push_back({entry.topic.name, entry.topic.access, subscribed,
                                subscribed ? std::optional(mine->role) : std::nullopt});
      }
    }
    return {};
  }));
  return reply_with(list);
}

Result<BrokerReply> add_own_subscription(BrokerCall& call) {
  HOLDFAST_CHECK(read_body<SubscribeSelfRequest>(call));
  return change_own_subscription(
      call, [&](SqlSession& session, const OwnTopicView& before) -> Result<void> {
        // The role that an administrator has given stays.
        return before.subscribed ? Result<void>()
                                 : subscribe(session,
                                             {call.caller.workspace.mesh_id, before.name,
                                              call.caller.member_id, SubscriptionRole::writer},
                                             call.service.clock.now());
      });
}

Result<BrokerReply> end_own_subscription(BrokerCall& call) {
  HOLDFAST_CHECK(call.query.finish());
  HOLDFAST_CHECK(call.service.store.write([&](SqlSession& session) {
    return unsubscribe(
        session, {call.caller.workspace.mesh_id, call.arguments.at(0), call.caller.member_id, {}});
  }));
  return reply_with(DeletedResponse{call.arguments.at(0)});
}

Result<BrokerReply> find_members(BrokerCall& call) {
  HOLDFAST_TRY(const auto request, call.query.read<FindMembersRequest>());
  HOLDFAST_TRY(
      const auto list,
      call.read<KnownMemberList>([&](SqlSession& session, KnownMemberList& found) -> Result<void> {
        const std::string& mesh_id = call.caller.workspace.mesh_id;
        std::vector<MemberEntry> entries;
        if (request.name.empty()) {
          HOLDFAST_TRY(entries, list_members(session, mesh_id));
        } else {
          HOLDFAST_TRY(const auto entry, find_member(session, mesh_id, request.name));
          entries.assign(entry.has_value() ? 1 : 0, entry.value_or(MemberEntry{}));
        }
        for (const MemberEntry& entry : entries) {
          if (!entry.revoked_at.has_value()) {
            found.members.push_back({entry.display_name, entry.pubkey});
          }
        }
        return {};
      }));
  return reply_with(list);
}

Result<BrokerReply> end_own_membership(BrokerCall& call) {
  HOLDFAST_CHECK(call.query.finish());
  HOLDFAST_CHECK(call.service.store.write([&](SqlSession& session) {
    return revoke_member(session, call.caller.member_id, call.service.clock.now());
  }));
  if (call.service.push != nullptr) {
    call.service.push->member_revoked(call.caller.member_id);
  }
  return reply_with(DeletedResponse{call.caller.pubkey});
}

}  // namespace holdfast::delivery
