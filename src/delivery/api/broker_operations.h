// The operations of a broker: the one list from which it routes, which the command line calls, and
// from which schema/broker_openapi.json is generated. Texts about them are in
// broker_operations.json, beside this file.
//
// Operations of `Access::authenticated` are for members, with their own token; a member acts for
// itself only. Operations with a permission are for the administrator of the broker.
#pragma once

#include <tuple>

#include "access/http_operation.h"
#include "delivery/api/broker_requests.h"
#include "delivery/api/delivery_requests.h"
#include "delivery/api/directory_requests.h"
#include "delivery/api/own_requests.h"
#include "delivery/api/queue_requests.h"
#include "delivery/api/webhook_requests.h"

namespace holdfast::delivery {

namespace broker_operation {

using Access = Operation::Access;
using Refusals = Operation::Refusals;
using Success = Operation::Success;

template <typename Response>
constexpr auto open_to_all(std::string_view id, std::string_view path) {
  return OperationOf<NoParameters, Response>{{id, "GET", path, Access::open}};
}
// For members.
template <typename Request, typename Response>
constexpr auto read(std::string_view id, std::string_view path, Refusals refusals = {}) {
  return OperationOf<Request, Response>{{id, "GET", path, Access::authenticated, Permission::look,
                                         Operation::Scope::own, Success::ok, refusals}};
}
// A change by a member.
template <typename Request, typename Response>
constexpr auto change(std::string_view id, std::string_view path, Refusals refusals = {}) {
  return OperationOf<Request, Response>{{id, "POST", path, Access::authenticated, Permission::look,
                                         Operation::Scope::own, Success::ok, refusals}};
}
// For the administrator.
template <typename Request, typename Response>
constexpr auto manage(std::string_view id, std::string_view method, std::string_view path,
                      Success success = Success::ok, Refusals refusals = {}) {
  return OperationOf<Request, Response>{{id, method, path, Access::permitted,
                                         Permission::administer, Operation::Scope::whole_store,
                                         success, refusals}};
}

inline constexpr auto kGetHealth = open_to_all<BrokerHealth>("get_health", "/healthz");
inline constexpr auto kGetReadiness = open_to_all<BrokerReadiness>("get_readiness", "/readyz");
inline constexpr auto kGetOpenapi = open_to_all<ViewOf<"Document">>("get_openapi", "/openapi.json");
inline constexpr OperationOf<NoParameters, ViewOf<"Metrics">> kGetMetrics{
    {"get_metrics",
     "GET",
     "/metrics",
     Access::permitted,
     Permission::administer,
     Operation::Scope::whole_store,
     Success::ok,
     {},
     Operation::Content::text}};

inline constexpr OperationOf<MessageRequest, AcceptResponse> kSendMessage{
    {"send_message",
     "POST",
     "/v1/messages",
     Access::authenticated,
     Permission::look,
     Operation::Scope::own,
     Success::ok_or_created,
     {.not_found = true, .conflict = true, .too_large = true}}};
inline constexpr auto kGetDedupe =
    read<NoParameters, DedupeResponse>("get_dedupe", "/v1/dedupe/{client_message_id}");
inline constexpr auto kGetFeatures =
    read<FeaturesRequest, ViewOf<"Features">>("get_features", "/v1/features");
inline constexpr auto kGetHistory =
    read<HistoryRequest, HistoryResponse>("get_history", "/v1/history", {.not_found = true});
inline constexpr auto kGetMentions =
    read<MentionsRequest, MentionsResponse>("get_mentions", "/v1/mentions");
inline constexpr auto kClaimDeliveries =
    read<ClaimDeliveriesRequest, DeliveriesResponse>("claim_deliveries", "/v1/deliveries");
inline constexpr auto kAckDeliveries =
    change<AckDeliveriesRequest, AckDeliveriesResponse>("ack_deliveries", "/v1/deliveries/ack");
inline constexpr auto kListDeadDeliveries =
    read<DeadDeliveriesRequest, DeliveryList>("list_dead_deliveries", "/v1/deliveries/dead");
inline constexpr auto kReplayDeliveries =
    change<ReplayRequest, ReplayResponse>("replay_deliveries", "/v1/deliveries/replay");
inline constexpr auto kGetQueue =
    read<NoParameters, QueueStatus>("get_queue", "/v1/queues/{queue}");
inline constexpr auto kClaimQueue =
    change<ClaimQueueRequest, ClaimQueueResponse>("claim_queue", "/v1/queues/{queue}/claim");
inline constexpr auto kAckQueue =
    change<AckQueueRequest, AckQueueResponse>("ack_queue", "/v1/queues/{queue}/ack");
inline constexpr auto kNackQueue =
    change<NackQueueRequest, NackQueueResponse>("nack_queue", "/v1/queues/{queue}/nack");
inline constexpr auto kExtendQueue =
    change<ExtendQueueRequest, ExtendQueueResponse>("extend_queue", "/v1/queues/{queue}/extend");
inline constexpr auto kFindSent =
    change<SentMessagesRequest, SentMessagesResponse>("find_sent", "/v1/queues/{queue}/find");
inline constexpr auto kWithdrawSent =
    change<WithdrawRequest, SentMessagesResponse>("withdraw_sent", "/v1/queues/{queue}/withdraw");
inline constexpr auto kListDead =
    read<DeadMessagesRequest, DeadMessageList>("list_dead", "/v1/queues/{queue}/dead");
inline constexpr auto kGetPeers = read<NoParameters, PeersResponse>("get_peers", "/v1/peers");
inline constexpr auto kSetProfile =
    change<ProfileRequest, ProfileView>("set_profile", "/v1/profile");
inline constexpr auto kListOwnTopics =
    read<NoParameters, OwnTopicList>("list_own_topics", "/v1/topics");
inline constexpr auto kSubscribeSelf =
    change<SubscribeSelfRequest, OwnTopicView>("subscribe_self", "/v1/topics/{topic}/subscription");
inline constexpr OperationOf<NoParameters, DeletedResponse> kUnsubscribeSelf{
    {"unsubscribe_self", "DELETE", "/v1/topics/{topic}/subscription", Access::authenticated,
     Permission::look, Operation::Scope::own}};
inline constexpr auto kFindMembers =
    read<FindMembersRequest, KnownMemberList>("find_members", "/v1/members");
inline constexpr OperationOf<NoParameters, DeletedResponse> kEndMembership{
    {"end_membership", "DELETE", "/v1/membership", Access::authenticated, Permission::look,
     Operation::Scope::own}};
inline constexpr OperationOf<JoinRequest, MemberCreated> kJoin{
    {"join", "POST", "/v1/join", Access::open, Permission::look, Operation::Scope::own,
     Success::created}};

inline constexpr auto kListWorkspaces =
    manage<NoParameters, WorkspaceList>("list_workspaces", "GET", "/v1/workspaces");
inline constexpr auto kCreateWorkspace = manage<CreateWorkspaceRequest, WorkspaceView>(
    "create_workspace", "POST", "/v1/workspaces", Success::created, {.conflict = true});
inline constexpr auto kGetWorkspace =
    manage<NoParameters, WorkspaceView>("get_workspace", "GET", "/v1/workspaces/{workspace}");
inline constexpr auto kDeleteWorkspace = manage<NoParameters, DeletedResponse>(
    "delete_workspace", "DELETE", "/v1/workspaces/{workspace}");
inline constexpr auto kListMembers =
    manage<NoParameters, MemberList>("list_members", "GET", "/v1/workspaces/{workspace}/members");
inline constexpr auto kCreateMember = manage<CreateMemberRequest, MemberCreated>(
    "create_member", "POST", "/v1/workspaces/{workspace}/members", Success::created,
    {.conflict = true});
inline constexpr auto kRevokeMember = manage<NoParameters, MemberView>(
    "revoke_member", "DELETE", "/v1/workspaces/{workspace}/members/{member}");
inline constexpr auto kInviteMember = manage<InviteRequest, InvitationCreated>(
    "invite_member", "POST", "/v1/workspaces/{workspace}/invitations", Success::created);
inline constexpr auto kListTopics =
    manage<NoParameters, TopicList>("list_topics", "GET", "/v1/workspaces/{workspace}/topics");
inline constexpr auto kCreateTopic = manage<CreateTopicRequest, TopicView>(
    "create_topic", "POST", "/v1/workspaces/{workspace}/topics", Success::created,
    {.conflict = true});
inline constexpr auto kGetTopic = manage<NoParameters, TopicView>(
    "get_topic", "GET", "/v1/workspaces/{workspace}/topics/{topic}");
inline constexpr auto kArchiveTopic = manage<NoParameters, TopicView>(
    "archive_topic", "DELETE", "/v1/workspaces/{workspace}/topics/{topic}");
inline constexpr auto kSubscribe = manage<SubscribeRequest, TopicView>(
    "subscribe", "POST", "/v1/workspaces/{workspace}/topics/{topic}/subscriptions");
inline constexpr auto kUnsubscribe = manage<NoParameters, TopicView>(
    "unsubscribe", "DELETE", "/v1/workspaces/{workspace}/topics/{topic}/subscriptions/{member}");
inline constexpr auto kListQueues =
    manage<NoParameters, QueueList>("list_queues", "GET", "/v1/workspaces/{workspace}/queues");
inline constexpr auto kCreateQueue = manage<CreateQueueRequest, QueueView>(
    "create_queue", "POST", "/v1/workspaces/{workspace}/queues", Success::created,
    {.conflict = true});
inline constexpr auto kShowQueue = manage<NoParameters, QueueStatus>(
    "show_queue", "GET", "/v1/workspaces/{workspace}/queues/{queue}");
inline constexpr auto kConfigureQueue = manage<ConfigureQueueRequest, QueueStatus>(
    "configure_queue", "POST", "/v1/workspaces/{workspace}/queues/{queue}");
inline constexpr auto kGrantQueue = manage<GrantRequest, QueueStatus>(
    "grant_queue", "POST", "/v1/workspaces/{workspace}/queues/{queue}/consumers");
inline constexpr auto kWithdrawQueue = manage<NoParameters, QueueStatus>(
    "withdraw_queue", "DELETE", "/v1/workspaces/{workspace}/queues/{queue}/consumers/{member}");
inline constexpr auto kListDeadMessages = manage<DeadMessagesRequest, DeadMessageList>(
    "list_dead_messages", "GET", "/v1/workspaces/{workspace}/queues/{queue}/dead");
inline constexpr auto kRedriveDead = manage<RedriveRequest, DeadMessagesChanged>(
    "redrive_dead", "POST", "/v1/workspaces/{workspace}/queues/{queue}/redrive");
inline constexpr auto kDiscardDead = manage<DiscardRequest, DeadMessagesChanged>(
    "discard_dead", "POST", "/v1/workspaces/{workspace}/queues/{queue}/discard");
inline constexpr auto kRedactMessage = manage<RedactRequest, RedactedView>(
    "redact_message", "POST", "/v1/workspaces/{workspace}/messages/{broker_message_id}/redaction");
inline constexpr auto kListDeliveries = manage<ListDeliveriesRequest, DeliveryList>(
    "list_deliveries", "GET", "/v1/workspaces/{workspace}/deliveries");
inline constexpr auto kReplayForMembers = manage<ReplayRequest, ReplayResponse>(
    "replay_for_members", "POST", "/v1/workspaces/{workspace}/deliveries/replay");
inline constexpr auto kListWebhooks = manage<NoParameters, WebhookList>(
    "list_webhooks", "GET", "/v1/workspaces/{workspace}/webhooks");
inline constexpr auto kCreateWebhook = manage<CreateWebhookRequest, WebhookCreated>(
    "create_webhook", "POST", "/v1/workspaces/{workspace}/webhooks", Success::created);
inline constexpr auto kGetWebhook = manage<NoParameters, WebhookView>(
    "get_webhook", "GET", "/v1/workspaces/{workspace}/webhooks/{webhook}");
inline constexpr auto kUpdateWebhook = manage<UpdateWebhookRequest, WebhookView>(
    "update_webhook", "POST", "/v1/workspaces/{workspace}/webhooks/{webhook}");
inline constexpr auto kDeleteWebhook = manage<NoParameters, DeletedResponse>(
    "delete_webhook", "DELETE", "/v1/workspaces/{workspace}/webhooks/{webhook}");
inline constexpr auto kEnableWebhook = manage<EnableWebhookRequest, WebhookView>(
    "enable_webhook", "POST", "/v1/workspaces/{workspace}/webhooks/{webhook}/enable");
inline constexpr auto kDisableWebhook = manage<DisableWebhookRequest, WebhookView>(
    "disable_webhook", "POST", "/v1/workspaces/{workspace}/webhooks/{webhook}/disable");
inline constexpr auto kRotateWebhook = manage<RotateWebhookRequest, WebhookCreated>(
    "rotate_webhook", "POST", "/v1/workspaces/{workspace}/webhooks/{webhook}/rotate");
inline constexpr auto kListWebhookDeliveries =
    manage<WebhookDeliveriesRequest, WebhookDeliveryList>(
        "list_webhook_deliveries", "GET",
        "/v1/workspaces/{workspace}/webhooks/{webhook}/deliveries");
inline constexpr auto kListWebhookAttempts = manage<WebhookAttemptsRequest, WebhookAttemptList>(
    "list_webhook_attempts", "GET", "/v1/workspaces/{workspace}/webhooks/{webhook}/attempts");
inline constexpr auto kReplayWebhook = manage<WebhookReplayRequest, WebhookReplayResponse>(
    "replay_webhook", "POST", "/v1/workspaces/{workspace}/webhooks/{webhook}/replay");
inline constexpr auto kSweep = manage<JobRequest, SweepResponse>("sweep", "POST", "/admin/sweep");
inline constexpr auto kCheckOrphans =
    manage<JobRequest, OrphanResponse>("check_orphans", "POST", "/admin/orphan-check");

}  // namespace broker_operation

// All of them, in the order of the document.
inline constexpr std::tuple kBrokerOperations{
    broker_operation::kGetHealth,
    broker_operation::kGetReadiness,
    broker_operation::kGetOpenapi,
    broker_operation::kGetMetrics,
    broker_operation::kSendMessage,
    broker_operation::kGetDedupe,
    broker_operation::kGetFeatures,
    broker_operation::kGetHistory,
    broker_operation::kGetMentions,
    broker_operation::kClaimDeliveries,
    broker_operation::kAckDeliveries,
    broker_operation::kListDeadDeliveries,
    broker_operation::kReplayDeliveries,
    broker_operation::kGetQueue,
    broker_operation::kClaimQueue,
    broker_operation::kAckQueue,
    broker_operation::kNackQueue,
    broker_operation::kExtendQueue,
    broker_operation::kFindSent,
    broker_operation::kWithdrawSent,
    broker_operation::kListDead,
    broker_operation::kGetPeers,
    broker_operation::kSetProfile,
    broker_operation::kListOwnTopics,
    broker_operation::kSubscribeSelf,
    broker_operation::kUnsubscribeSelf,
    broker_operation::kFindMembers,
    broker_operation::kEndMembership,
    broker_operation::kJoin,
    broker_operation::kListWorkspaces,
    broker_operation::kCreateWorkspace,
    broker_operation::kGetWorkspace,
    broker_operation::kDeleteWorkspace,
    broker_operation::kListMembers,
    broker_operation::kCreateMember,
    broker_operation::kRevokeMember,
    broker_operation::kInviteMember,
    broker_operation::kListTopics,
    broker_operation::kCreateTopic,
    broker_operation::kGetTopic,
    broker_operation::kArchiveTopic,
    broker_operation::kSubscribe,
    broker_operation::kUnsubscribe,
    broker_operation::kListQueues,
    broker_operation::kCreateQueue,
    broker_operation::kShowQueue,
    broker_operation::kConfigureQueue,
    broker_operation::kGrantQueue,
    broker_operation::kWithdrawQueue,
    broker_operation::kListDeadMessages,
    broker_operation::kRedriveDead,
    broker_operation::kDiscardDead,
    broker_operation::kRedactMessage,
    broker_operation::kListDeliveries,
    broker_operation::kReplayForMembers,
    broker_operation::kListWebhooks,
    broker_operation::kCreateWebhook,
    broker_operation::kGetWebhook,
    broker_operation::kUpdateWebhook,
    broker_operation::kDeleteWebhook,
    broker_operation::kEnableWebhook,
    broker_operation::kDisableWebhook,
    broker_operation::kRotateWebhook,
    broker_operation::kListWebhookDeliveries,
    broker_operation::kListWebhookAttempts,
    broker_operation::kReplayWebhook,
    broker_operation::kSweep,
    broker_operation::kCheckOrphans,
};

}  // namespace holdfast::delivery
