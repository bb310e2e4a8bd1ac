#include <algorithm>
#include <array>
#include <span>

#include "apps/daemon/daemon_service.h"
#include "apps/server/path_match.h"
#include "apps/server/server_problem.h"
#include "delivery/api/daemon_operations.h"
#include "delivery/contract/rejection.h"

namespace holdfast::delivery {

namespace {

constexpr int kMethodNotAllowed = 405;
constexpr int kFirstFailure = 500;

struct DaemonRoute : Operation {
  Result<DaemonReply> (*run)(DaemonCall& call) = nullptr;
};

namespace op = daemon_operation;

constexpr std::array kDaemonRoutes{
    DaemonRoute{op::kSend, send_message_out},
    DaemonRoute{op::kPostToTopic, post_to_topic},
    DaemonRoute{op::kListOutbox, list_outbox},
    DaemonRoute{op::kInspectOutbox, inspect_outbox},
    DaemonRoute{op::kRequeue, requeue_message},
    DaemonRoute{op::kAbort, abort_message},
    DaemonRoute{op::kRequeueBulk, requeue_bulk},
    DaemonRoute{op::kCompact, compact_outbox},
    DaemonRoute{op::kListInbox, list_inbox},
    DaemonRoute{op::kShowInboxMessage, show_inbox_message},
    DaemonRoute{op::kMarkSeen, mark_inbox_seen},
    DaemonRoute{op::kDeleteInboxMessage, delete_inbox_message},
    DaemonRoute{op::kEvents, nullptr},  // see serve_events()
    DaemonRoute{op::kListTopics, list_topics_of_member},
    DaemonRoute{op::kSubscribe, subscribe_to_topic},
    DaemonRoute{op::kUnsubscribe, unsubscribe_from_topic},
    DaemonRoute{op::kPeers, list_peers},
    DaemonRoute{op::kProfile, set_own_profile},
    DaemonRoute{op::kHeartbeat, caller_heartbeat},
    DaemonRoute{op::kHealth, daemon_health},
    DaemonRoute{op::kVersion, daemon_version},
    DaemonRoute{op::kCompat, daemon_compat},
    DaemonRoute{op::kMetrics, daemon_metrics},
    DaemonRoute{op::kOpenapi, daemon_openapi},
    DaemonRoute{op::kRotateToken, rotate_local_token},
    DaemonRoute{op::kReload, reload_daemon},
    DaemonRoute{op::kStop, stop_daemon},
};
static_assert(kDaemonRoutes.size() == std::tuple_size_v<decltype(kDaemonOperations)>,
              "an operation has no implementation");

Result<DaemonReply> serve_operation(DaemonService& service, const net::Request& request,
                                    const DaemonRoute& route, std::vector<std::string> arguments) {
  HOLDFAST_TRY(Query query, Query::parse(request.query));
  DaemonCall call{service, request, std::move(arguments), std::move(query)};
  return route.run(call);
}

net::Response routed(DaemonService& service, const net::Request& request,
                     std::string_view& operation) {
  const auto match =
      find_among(std::span<const DaemonRoute>(kDaemonRoutes), request.method, request.path);
  if (!match.ok()) {
    const std::string_view allowed = match.error().field("allowed");
    net::Response response =
        problem_response(match.error(), allowed.empty() ? 0 : kMethodNotAllowed);
    if (!allowed.empty()) {
      response.headers.push_back({"Allow", std::string(allowed)});
    }
    return response;
  }
  operation = match.value().route->id;
  auto reply = serve_operation(service, request, *match.value().route, match.value().arguments);
  if (!reply.ok()) {
    return daemon_problem(reply.error());
  }
  net::Response response;
  response.status = reply.value().status;
  response.content_type = std::move(reply.value().content_type);
  response.body = std::move(reply.value().body);
  return response;
}

}  // namespace

Result<JsonText> json_body(const DaemonCall& call) {
  const std::string_view type = call.request.header("Content-Type");
  if (!type.empty() && !type.starts_with("application/json")) {
    return Error{ErrorCode::invalid_argument, "the body must be application/json"}.with(
        "field", "Content-Type");
  }
  if (call.request.body.empty()) {
    return JsonText();
  }
  HOLDFAST_TRY(JsonText json, JsonText::parse(call.request.body));
  if (!json.is_object()) {
    return Error{ErrorCode::invalid_argument, "the body must be a JSON object"};
  }
  return json;
}

net::Response daemon_problem(const Error& error) {
  const auto rejection = rejection_of(error);
  return problem_response(error,
                          rejection.has_value() ? rejection_info(*rejection).http_status : 0);
}

net::Response daemon_busy() {
  return problem_response(Error{ErrorCode::rate_limited, "too many requests at the same time"}
                              .with("error", "daemon_busy")
                              .with("retry_after_s", std::uint64_t{1}));
}

std::string_view transport_of(const net::Request& request) {
  return request.peer.uid.has_value() ? "unix" : "tcp";
}

bool is_events(const net::Request& request) {
  return request.method == op::kEvents.method && request.path == op::kEvents.path;
}

net::Response refused(DaemonService& service, const net::Request& request, const Error& error) {
  if (!error.field("security").empty()) {
    service.counters.security_event();
    service.log.write(LogLevel::warning, "security: a request has a token in its URL",
                      {{"peer", request.peer.address}, {"path", request.path}});
  }
  return daemon_problem(error);
}

net::Response respond(DaemonService& service, const net::Request& request) {
  std::string_view operation = "none";
  const auto allowed = service.access.check(request, service.clock.now().value);
  net::Response response = allowed.ok() ? routed(service, request, operation)
                                        : refused(service, request, allowed.error());
  service.counters.answered(operation, response.status, transport_of(request));
  if (response.status >= kFirstFailure) {
    service.log.write(
        LogLevel::warning, "a request failed",
        {{"operation", std::string(operation)}, {"status", std::to_string(response.status)}});
  }
  return response;
}

}  // namespace holdfast::delivery
