// The operations that the broker answers: topics, members and presence. Without a connection they
// fail: an empty list would not be the truth.
#include "apps/daemon/daemon_service.h"
#include "delivery/api/daemon_inbox_requests.h"
#include "delivery/api/delivery_requests.h"
#include "delivery/api/own_requests.h"

namespace holdfast::delivery {

namespace {

Result<DaemonReply> forwarded(DaemonCall& call, const BrokerRequest& request) {
  HOLDFAST_TRY(std::string body, call.service.drain.call(request));
  if (body.empty() || body.back() != '\n') {
    body += '\n';
  }
  return DaemonReply{200, std::move(body)};
}

std::string subscription_path(const std::string& topic) {
  return "/v1/topics/" + net::url_encoded(topic) + "/subscription";
}

}  // namespace

Result<DaemonReply> list_topics_of_member(DaemonCall& call) {
  HOLDFAST_CHECK(call.query.finish());
  return forwarded(call, {"GET", "/v1/topics", {}});
}

Result<DaemonReply> subscribe_to_topic(DaemonCall& call) {
  HOLDFAST_TRY(const auto request, read_json_body<TopicNameRequest>(call));
  return forwarded(call, {"POST", subscription_path(request.topic), "{}"});
}

Result<DaemonReply> unsubscribe_from_topic(DaemonCall& call) {
  HOLDFAST_TRY(const auto request, read_json_body<TopicNameRequest>(call));
  return forwarded(call, {"DELETE", subscription_path(request.topic), {}});
}

Result<DaemonReply> list_peers(DaemonCall& call) {
  HOLDFAST_CHECK(call.query.finish());
  return forwarded(call, {"GET", "/v1/peers", {}});
}

Result<DaemonReply> set_own_profile(DaemonCall& call) {
  HOLDFAST_TRY(const auto request, read_json_body<ProfileRequest>(call));
  HOLDFAST_TRY(const JsonText body, to_json(request));
  return forwarded(call, {"POST", "/v1/profile", std::string(body.view())});
}

}  // namespace holdfast::delivery
