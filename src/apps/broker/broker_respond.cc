#include <unistd.h>

#include <algorithm>
#include <array>

#include "apps/broker/broker_call.h"
#include "apps/broker/delivery_polls.h"
#include "apps/broker/push_hub.h"
#include "apps/broker/sent_message.h"
#include "apps/broker/webhook_sender.h"
#include "apps/server/path_match.h"
#include "apps/server/server_problem.h"
#include "delivery/api/broker_operations.h"
#include "delivery/contract/rejection.h"
#include "holdfast/assert.h"

namespace holdfast::delivery {

namespace {

constexpr int kMethodNotAllowed = 405;
constexpr int kFirstFailure = 500;
constexpr std::int64_t kSecondMs = 1000;

struct BrokerRoute : Operation {
  Result<BrokerReply> (*run)(BrokerCall& call) = nullptr;
};

namespace op = broker_operation;

constexpr std::array kBrokerRoutes{
    BrokerRoute{op::kGetHealth, get_health},
    BrokerRoute{op::kGetReadiness, get_readiness},
    BrokerRoute{op::kGetOpenapi, get_openapi},
    BrokerRoute{op::kGetMetrics, get_metrics},
    BrokerRoute{op::kSendMessage, nullptr},  // see sent_message.h
    BrokerRoute{op::kGetDedupe, get_dedupe},
    BrokerRoute{op::kGetFeatures, get_features},
    BrokerRoute{op::kGetHistory, get_history},
    BrokerRoute{op::kGetMentions, get_mentions},
    BrokerRoute{op::kClaimDeliveries, claim_deliveries},
    BrokerRoute{op::kAckDeliveries, ack_deliveries},
    BrokerRoute{op::kListDeadDeliveries, list_dead_deliveries},
    BrokerRoute{op::kReplayDeliveries, replay_deliveries},
    BrokerRoute{op::kGetQueue, get_queue},
    BrokerRoute{op::kClaimQueue, claim_queue},
    BrokerRoute{op::kAckQueue, ack_queue},
    BrokerRoute{op::kNackQueue, nack_queue},
    BrokerRoute{op::kExtendQueue, extend_queue},
    BrokerRoute{op::kFindSent, find_sent_messages},
    BrokerRoute{op::kWithdrawSent, withdraw_sent_messages},
    BrokerRoute{op::kListDead, list_dead_of_member},
    BrokerRoute{op::kGetPeers, get_peers},
    BrokerRoute{op::kSetProfile, set_profile},
    BrokerRoute{op::kListOwnTopics, list_own_topics},
    BrokerRoute{op::kSubscribeSelf, add_own_subscription},
    BrokerRoute{op::kUnsubscribeSelf, end_own_subscription},
    BrokerRoute{op::kFindMembers, find_members},
    BrokerRoute{op::kEndMembership, end_own_membership},
    BrokerRoute{op::kJoin, join_workspace},
    BrokerRoute{op::kListWorkspaces, list_all_workspaces},
    BrokerRoute{op::kCreateWorkspace, add_workspace},
    BrokerRoute{op::kGetWorkspace, get_workspace},
    BrokerRoute{op::kDeleteWorkspace, remove_workspace},
    BrokerRoute{op::kListMembers, list_all_members},
    BrokerRoute{op::kCreateMember, add_member},
    BrokerRoute{op::kRevokeMember, end_member},
    BrokerRoute{op::kInviteMember, invite_member},
    BrokerRoute{op::kListTopics, list_all_topics},
    BrokerRoute{op::kCreateTopic, add_topic},
    BrokerRoute{op::kGetTopic, get_topic},
    BrokerRoute{op::kArchiveTopic, end_topic},
    BrokerRoute{op::kSubscribe, add_subscription},
    BrokerRoute{op::kUnsubscribe, end_subscription},
    BrokerRoute{op::kListQueues, list_all_queues},
    BrokerRoute{op::kCreateQueue, add_queue},
    BrokerRoute{op::kShowQueue, show_queue},
    BrokerRoute{op::kConfigureQueue, change_queue},
    BrokerRoute{op::kGrantQueue, add_consumer},
    BrokerRoute{op::kWithdrawQueue, end_consumer},
    BrokerRoute{op::kListDeadMessages, list_dead_messages},
    BrokerRoute{op::kRedriveDead, redrive_dead},
    BrokerRoute{op::kDiscardDead, discard_dead},
    BrokerRoute{op::kRedactMessage, redact},
    BrokerRoute{op::kListDeliveries, list_all_deliveries},
    BrokerRoute{op::kReplayForMembers, replay_for_members},
    BrokerRoute{op::kListWebhooks, list_all_webhooks},
    BrokerRoute{op::kCreateWebhook, add_webhook},
    BrokerRoute{op::kGetWebhook, get_webhook},
    BrokerRoute{op::kUpdateWebhook, update_webhook},
    BrokerRoute{op::kDeleteWebhook, remove_webhook},
    BrokerRoute{op::kEnableWebhook, enable_one_webhook},
    BrokerRoute{op::kDisableWebhook, disable_one_webhook},
    BrokerRoute{op::kRotateWebhook, rotate_webhook},
    BrokerRoute{op::kListWebhookDeliveries, list_deliveries_of_webhook},
    BrokerRoute{op::kListWebhookAttempts, list_attempts_of_webhook},
    BrokerRoute{op::kReplayWebhook, replay_to_webhook},
    BrokerRoute{op::kSweep, run_sweep},
    BrokerRoute{op::kCheckOrphans, run_orphan_check},
};
static_assert(kBrokerRoutes.size() == std::tuple_size_v<decltype(kBrokerOperations)>,
              "an operation has no implementation");

// Other names of operations.
constexpr auto kOtherNames = std::to_array<std::pair<std::string_view, std::string_view>>(
    {{"/health", "/healthz"}, {"/ready", "/readyz"}});

std::string_view full_path(std::string_view path) {
  for (const auto& [other, name] : kOtherNames) {
    if (path == other) {
      return name;
    }
  }
  return path;
}

bool is_owner(const net::Request& request) {
  return request.peer.uid.has_value() && *request.peer.uid == geteuid();
}

// Names of headers and of schemes are the same in either case.
bool is_word(std::string_view text, std::string_view lower_case) {
  return std::equal(text.begin(), text.end(), lower_case.begin(), lower_case.end(),
                    [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a - 'A' + 'a' : a) == b; });
}

Error unknown_caller(std::string_view detail) {
  return rejected(Rejection::unauthenticated, detail);
}

Result<LookupResult> caller_of(BrokerService& service, std::string_view token) {
  LookupResult caller;
  HOLDFAST_CHECK(service.store.read_once([&](SqlSession& session) -> Result<void> {
    HOLDFAST_TRY(caller, find_caller(session, sha256(token)));
    return {};
  }));
  return caller;
}

// The member that calls, in the workspace of its token.
Result<LookupResult> authenticate_member(BrokerService& service, const net::Request& request) {
  HOLDFAST_TRY(const std::string_view token, bearer_of(request));
  HOLDFAST_TRY(LookupResult caller, caller_of(service, token));
  if (caller.caller == CallerState::revoked) {
    return rejected(Rejection::member_revoked);
  }
  if (caller.caller != CallerState::member) {
    return unknown_caller("no member has this token");
  }
  return caller;
}

// Metrics may also be read by other programs of this machine.
Result<void> authenticate_admin(BrokerService& service, const net::Request& request,
                                const Operation& operation) {
  const bool harmless = operation.id == op::kGetMetrics.id && request.peer.loopback;
  if (is_owner(request) || (harmless && request.header("Authorization").empty())) {
    return {};
  }
  HOLDFAST_TRY(const std::string_view token, bearer_of(request));
  const std::string given = to_hex(sha256(token));
  const std::string wanted = to_hex(service.admin_token_hash.value_or(Digest{}));
  const bool fits = equal_secrets(given, wanted);
  if (service.admin_token_hash.has_value() && fits) {
    return {};
  }
  HOLDFAST_TRY(const LookupResult caller, caller_of(service, token));
  if (caller.caller == CallerState::unauthenticated) {
    return unknown_caller("this operation needs the token of the administrator");
  }
  return Error{ErrorCode::permission_denied,
               "this operation is for the administrator of the broker, not for members"};
}

Result<BrokerReply> serve_route(BrokerService& service, const net::Request& request,
                                const BrokerRoute& route, std::vector<std::string> arguments) {
  HOLDFAST_TRY(Query query, Query::parse(request.query));
  BrokerCall call{service, request, std::move(arguments), std::move(query)};
  if (route.access == Operation::Access::permitted) {
    HOLDFAST_CHECK(authenticate_admin(service, request, route));
  } else if (route.access == Operation::Access::authenticated) {
    HOLDFAST_TRY(call.caller, authenticate_member(service, request));
  }
  return route.run(call);
}

}  // namespace

Result<std::string_view> bearer_of(const net::Request& request) {
  const auto is_authorization = [](const net::Header& header) {
    return is_word(header.name, "authorization");
  };
  if (std::count_if(request.headers.begin(), request.headers.end(), is_authorization) != 1) {
    return unknown_caller("send one header \"Authorization: Bearer TOKEN\"");
  }
  const std::string_view value = request.header("Authorization");
  constexpr std::string_view kScheme = "Bearer ";
  if (!is_word(value.substr(0, kScheme.size()), "bearer ") || value.size() == kScheme.size()) {
    return unknown_caller("the header Authorization must be \"Bearer TOKEN\"");
  }
  return value.substr(kScheme.size());
}

Result<JsonText> body_object(const BrokerCall& call) {
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

net::Response broker_problem(const Error& error) {
  const auto rejection = rejection_of(error);
  if (!rejection.has_value()) {
    return problem_response(error);
  }
  const RejectionInfo& info = rejection_info(*rejection);
  // The text of a failure may name what is inside.
  Error shown = info.http_status < kFirstFailure
                    ? error
                    : rejected(*rejection).with("detail", info.line).with(error.what_next());
  if (const std::string_view wait_ms = error.field("retry_after_ms"); !wait_ms.empty()) {
    const std::int64_t wait = std::stoll(std::string(wait_ms));
    static_cast<void>(
        std::move(shown).with("retry_after_s", std::to_string((wait + kSecondMs - 1) / kSecondMs)));
  }
  return problem_response(shown, info.http_status);
}

Served served_problem(const Error& error) {
  Served served{broker_problem(error)};
  if (served.response.status >= kFirstFailure) {
    served.failure = error.text();
  }
  return served;
}

void BrokerService::deliveries_changed(const std::string& member_id) const {
  store.commits().notify();
  if (push != nullptr && member_id.empty()) {
    push->check_all();
  } else if (push != nullptr) {
    push->check_member(member_id);
  }
}

void BrokerService::webhooks_changed() const {
  store.commits().notify();  // for other brokers
  if (webhooks != nullptr) {
    webhooks->endpoints_changed();
  }
}

net::Response respond(BrokerService& service, const net::Request& request) {
  return serve_request(service, request).response;
}

// The broker authenticates the sender of a message itself, together with other reads.
Served accept_message(BrokerService& service, const net::Request& request) {
  HOLDFAST_ASSERT(service.broker != nullptr);
  const auto sent = read_sent_message(request);
  if (!sent.ok()) {
    return message_refusal(service.metrics, sent.error());
  }
  return message_response(service.metrics, sent.value(),
                          service.broker->accept(sent.value().token, sent.value().request));
}

Served serve_request(BrokerService& service, const net::Request& request) {
  if (request.body.size() > kMostBodyBytes) {
    return {broker_problem(rejected(Rejection::too_large, "the body has more than 1048576 bytes"))};
  }
  const auto match = find_among(std::span<const BrokerRoute>(kBrokerRoutes), request.method,
                                full_path(request.path));
  if (!match.ok()) {
    const std::string_view allowed = match.error().field("allowed");
    net::Response response =
        problem_response(match.error(), allowed.empty() ? 0 : kMethodNotAllowed);
    if (!allowed.empty()) {
      response.headers.push_back({"Allow", std::string(allowed)});
    }
    return {std::move(response)};
  }
  if (match.value().route->id == op::kSendMessage.id) {
    return accept_message(service, request);
  }
  auto reply = serve_route(service, request, *match.value().route, match.value().arguments);
  if (!reply.ok()) {
    return served_problem(reply.error());
  }
  Served served;
  served.response.status = reply.value().status;
  served.response.content_type = std::move(reply.value().content_type);
  served.response.body = std::move(reply.value().body);
  served.wait = std::move(reply.value().wait);
  return served;
}

bool is_message(const net::Request& request) {
  return request.method == op::kSendMessage.method && request.path == op::kSendMessage.path;
}

bool is_delivery(const net::Request& request) {
  return request.path == op::kClaimDeliveries.path ||
         (request.path.starts_with(op::kClaimDeliveries.path) &&
          request.path[op::kClaimDeliveries.path.size()] == '/') ||
         request.path.starts_with("/v1/queues/");
}

net::Response busy_response() { return broker_problem(rejected(Rejection::broker_busy)); }

}  // namespace holdfast::delivery
