// The operations of a daemon: the one list from which it routes, and from which
// schema/daemon_openapi.json is generated. Texts about them are in daemon_operations.json, beside
// this file.
//
// All of them are for every program that may talk to the daemon: on its unix socket the owner, on
// the loopback address the holders of its token.
#pragma once

#include <tuple>

#include "access/http_operation.h"
#include "delivery/api/daemon_inbox_requests.h"
#include "delivery/api/daemon_requests.h"
#include "delivery/api/delivery_requests.h"
#include "delivery/api/directory_requests.h"
#include "delivery/api/own_requests.h"

namespace holdfast::delivery {

namespace daemon_operation {

template <typename Request, typename Response>
constexpr auto local(std::string_view id, std::string_view method, std::string_view path,
                     Operation::Refusals refusals = {}) {
  return OperationOf<Request, Response>{{id, method, path, Operation::Access::authenticated,
                                         Permission::look, Operation::Scope::own,
                                         Operation::Success::ok, refusals}};
}

inline constexpr Operation::Refusals kOfSend{
    .not_found = true, .conflict = true, .too_large = true};

inline constexpr auto kSend = local<SendRequest, SendView>("send", "POST", "/v1/send", kOfSend);
inline constexpr auto kPostToTopic =
    local<TopicPostRequest, SendView>("post_to_topic", "POST", "/v1/topic/post", kOfSend);
inline constexpr auto kListOutbox =
    local<OutboxListRequest, OutboxList>("list_outbox", "GET", "/v1/outbox");
inline constexpr auto kInspectOutbox =
    local<NoParameters, OutboxChain>("inspect_outbox", "GET", "/v1/outbox/{message}");
inline constexpr auto kRequeue = local<RequeueMessageRequest, RequeueView>(
    "requeue", "POST", "/v1/outbox/{message}/requeue", {.conflict = true, .too_large = true});
inline constexpr auto kAbort = local<AbortMessageRequest, OutboxRowView>(
    "abort", "POST", "/v1/outbox/{message}/abort", {.conflict = true});
inline constexpr auto kRequeueBulk =
    local<RequeueBulkRequest, RequeueBulkView>("requeue_bulk", "POST", "/v1/outbox/requeue-bulk");
inline constexpr auto kCompact =
    local<CompactRequest, CompactView>("compact", "POST", "/v1/outbox/compact");
inline constexpr auto kListInbox = local<InboxRequest, InboxPage>("list_inbox", "GET", "/v1/inbox");
inline constexpr auto kShowInboxMessage =
    local<NoParameters, InboxMessageView>("show_inbox_message", "GET", "/v1/inbox/{id}");
inline constexpr auto kMarkSeen =
    local<InboxSeenRequest, InboxSeenView>("mark_seen", "POST", "/v1/inbox/seen");
inline constexpr auto kDeleteInboxMessage =
    local<NoParameters, DeletedResponse>("delete_inbox_message", "DELETE", "/v1/inbox/{id}");
inline constexpr OperationOf<EventsRequest, ViewOf<"Events">> kEvents{
    {"events",
     "GET",
     "/v1/events",
     Operation::Access::authenticated,
     Permission::look,
     Operation::Scope::own,
     Operation::Success::ok,
     {},
     Operation::Content::events}};
inline constexpr auto kListTopics =
    local<NoParameters, OwnTopicList>("list_topics", "GET", "/v1/topic/list");
inline constexpr auto kSubscribe = local<TopicNameRequest, OwnTopicView>(
    "subscribe", "POST", "/v1/topic/subscribe", {.not_found = true});
inline constexpr auto kUnsubscribe = local<TopicNameRequest, DeletedResponse>(
    "unsubscribe", "POST", "/v1/topic/unsubscribe", {.not_found = true});
inline constexpr auto kPeers = local<NoParameters, PeersResponse>("peers", "GET", "/v1/peers");
inline constexpr auto kProfile =
    local<ProfileRequest, ProfileView>("profile", "POST", "/v1/profile");
inline constexpr auto kHeartbeat =
    local<EmptyRequest, DaemonStopped>("heartbeat", "POST", "/v1/heartbeat");
inline constexpr auto kHealth = local<NoParameters, DaemonHealth>("health", "GET", "/v1/health");
inline constexpr auto kVersion =
    local<NoParameters, DaemonVersion>("version", "GET", "/v1/version");
inline constexpr auto kCompat = local<NoParameters, DaemonCompat>("compat", "GET", "/v1/compat");
inline constexpr OperationOf<NoParameters, ViewOf<"Metrics">> kMetrics{
    {"metrics",
     "GET",
     "/v1/metrics",
     Operation::Access::authenticated,
     Permission::look,
     Operation::Scope::own,
     Operation::Success::ok,
     {},
     Operation::Content::text}};
inline constexpr auto kOpenapi =
    local<NoParameters, ViewOf<"Document">>("openapi", "GET", "/openapi.json");
inline constexpr auto kRotateToken =
    local<EmptyRequest, DaemonStopped>("rotate_token", "POST", "/v1/token/rotate");
inline constexpr auto kReload = local<EmptyRequest, DaemonReloaded>("reload", "POST", "/v1/reload");
inline constexpr auto kStop = local<EmptyRequest, DaemonStopped>("stop", "POST", "/v1/stop");

}  // namespace daemon_operation

inline constexpr std::tuple kDaemonOperations{
    daemon_operation::kSend,        daemon_operation::kPostToTopic,
    daemon_operation::kListOutbox,  daemon_operation::kInspectOutbox,
    daemon_operation::kRequeue,     daemon_operation::kAbort,
    daemon_operation::kRequeueBulk, daemon_operation::kCompact,
    daemon_operation::kListInbox,   daemon_operation::kShowInboxMessage,
    daemon_operation::kMarkSeen,    daemon_operation::kDeleteInboxMessage,
    daemon_operation::kEvents,      daemon_operation::kListTopics,
    daemon_operation::kSubscribe,   daemon_operation::kUnsubscribe,
    daemon_operation::kPeers,       daemon_operation::kProfile,
    daemon_operation::kHeartbeat,   daemon_operation::kHealth,
    daemon_operation::kVersion,     daemon_operation::kCompat,
    daemon_operation::kMetrics,     daemon_operation::kOpenapi,
    daemon_operation::kRotateToken, daemon_operation::kReload,
    daemon_operation::kStop,
};

}  // namespace holdfast::delivery
