#include "apps/broker/directory_calls.h"
#include "delivery/api/broker_views.h"

namespace holdfast::delivery {

namespace {

// The topic with its subscriptions.
Result<void> read_topic(SqlSession& session, std::string_view mesh_id, std::string_view name,
                        TopicView& view) {
  HOLDFAST_TRY(const TopicEntry entry, get_topic_named(session, mesh_id, name));
  HOLDFAST_TRY(const auto subscriptions, list_subscriptions(session, mesh_id, name));
  view = view_of(entry);
  view.subscriptions = views_of(subscriptions);
  return {};
}

// Changes a topic of the path, and gives what it is afterwards.
template <typename Change>
Result<BrokerReply> change_topic(BrokerCall& call, const Change& change) {
  HOLDFAST_TRY(const auto view,
               call.write<TopicView>([&](SqlSession& session, TopicView& changed) -> Result<void> {
                 HOLDFAST_TRY(const auto entry, get_workspace_named(session, call.arguments.at(0)));
                 HOLDFAST_CHECK(change(session, entry.workspace.mesh_id));
                 return read_topic(session, entry.workspace.mesh_id, call.arguments.at(1), changed);
               }));
  return reply_with(view);
}

}  // namespace

Result<BrokerReply> list_all_topics(BrokerCall& call) {
  HOLDFAST_CHECK(call.query.finish());
  HOLDFAST_TRY(const auto entries,
               call.read<std::vector<TopicEntry>>(
                   [&](SqlSession& session, std::vector<TopicEntry>& found) -> Result<void> {
                     HOLDFAST_TRY(const auto entry,
                                  get_workspace_named(session, call.arguments.at(0)));
                     HOLDFAST_TRY(found, list_topics(session, entry.workspace.mesh_id));
                     return {};
                   }));
  return reply_with(TopicList{views_of(entries)});
}

Result<BrokerReply> add_topic(BrokerCall& call) {
  HOLDFAST_TRY(const auto request, read_body<CreateTopicRequest>(call));
  HOLDFAST_TRY(const auto view, call.write<TopicView>([&](SqlSession& session,
                                                          TopicView& made) -> Result<void> {
    HOLDFAST_TRY(const auto entry, get_workspace_named(session, call.arguments.at(0)));
    const Topic topic{entry.workspace.mesh_id, request.name, request.access, request.sender_copy};
    HOLDFAST_CHECK(create_topic(session, topic, call.service.clock.now()));
    return read_topic(session, topic.mesh_id, topic.name, made);
  }));
  return reply_with(view, kStatusCreated);
}

Result<BrokerReply> get_topic(BrokerCall& call) {
  HOLDFAST_CHECK(call.query.finish());
  HOLDFAST_TRY(const auto view,
               call.read<TopicView>([&](SqlSession& session, TopicView& found) -> Result<void> {
                 HOLDFAST_TRY(const auto entry, get_workspace_named(session, call.arguments.at(0)));
                 return read_topic(session, entry.workspace.mesh_id, call.arguments.at(1), found);
               }));
  return reply_with(view);
}

Result<BrokerReply> end_topic(BrokerCall& call) {
  HOLDFAST_CHECK(call.query.finish());
  return change_topic(call, [&](SqlSession& session, const std::string& mesh_id) {
    return archive_topic(session, mesh_id, call.arguments.at(1), call.service.clock.now());
  });
}

Result<BrokerReply> add_subscription(BrokerCall& call) {
  HOLDFAST_TRY(const auto request, read_body<SubscribeRequest>(call));
  return change_topic(call, [&](SqlSession& session, const std::string& mesh_id) -> Result<void> {
    HOLDFAST_TRY(const auto member, get_member_named(session, mesh_id, request.member));
    return subscribe(session, {mesh_id, call.arguments.at(1), member.member_id, request.role},
                     call.service.clock.now());
  });
}

Result<BrokerReply> end_subscription(BrokerCall& call) {
  HOLDFAST_CHECK(call.query.finish());
  return change_topic(call, [&](SqlSession& session, const std::string& mesh_id) -> Result<void> {
    HOLDFAST_TRY(const auto member, get_member_named(session, mesh_id, call.arguments.at(2)));
    return unsubscribe(session, {mesh_id, call.arguments.at(1), member.member_id, {}});
  });
}

}  // namespace holdfast::delivery
