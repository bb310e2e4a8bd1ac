// The operations of a daemon: the one list from which it routes. All of them are for every program
// that may talk to the daemon: on its unix socket the owner, on the loopback address the holders of
// its token.
#pragma once

#include <tuple>

#include "access/http_operation.h"
#include "delivery/api/daemon_requests.h"

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
inline constexpr auto kHealth = local<NoParameters, DaemonHealth>("health", "GET", "/v1/health");
inline constexpr auto kVersion =
    local<NoParameters, DaemonVersion>("version", "GET", "/v1/version");
inline constexpr auto kMetrics =
    local<NoParameters, ViewOf<"Metrics">>("metrics", "GET", "/v1/metrics");
inline constexpr auto kRotateToken =
    local<EmptyRequest, DaemonStopped>("rotate_token", "POST", "/v1/token/rotate");
inline constexpr auto kStop = local<EmptyRequest, DaemonStopped>("stop", "POST", "/v1/stop");

}  // namespace daemon_operation

inline constexpr std::tuple kDaemonOperations{
    daemon_operation::kSend,        daemon_operation::kPostToTopic,
    daemon_operation::kListOutbox,  daemon_operation::kInspectOutbox,
    daemon_operation::kRequeue,     daemon_operation::kAbort,
    daemon_operation::kRequeueBulk, daemon_operation::kCompact,
    daemon_operation::kHealth,      daemon_operation::kVersion,
    daemon_operation::kMetrics,     daemon_operation::kRotateToken,
    daemon_operation::kStop,
};

}  // namespace holdfast::delivery
