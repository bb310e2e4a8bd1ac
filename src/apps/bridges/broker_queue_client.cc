#include "apps/bridges/broker_queue_client.h"

#include <fmt/format.h>

#include "apps/client/client_problem.h"
#include "base/json_writer.h"
#include "delivery/contract/message_request.h"
#include "net/http.h"

namespace holdfast::bridges {

namespace {

using std::chrono::milliseconds;

constexpr milliseconds kAnswerTime{15'000};
constexpr int kFirstRefused = 300;
constexpr int kTooMany = 429;
constexpr int kFirstFailure = 500;
constexpr int kCreated = 201;

std::string path_of(const std::string& queue, std::string_view action) {
  return "/v1/queues/" + net::url_encoded(queue) + std::string(action);
}

void write_ids(JsonWriter& json, std::string_view name, const std::vector<std::string>& ids) {
  json.key(name).begin_array();
  for (const std::string& id : ids) {
    json.string(id);
  }
  json.end_array();
}

std::uint64_t number_of(const Json& json, std::string_view name) {
  return static_cast<std::uint64_t>(json.integer(name).value_or(0));
}

template <typename Visit>
void for_each_item(const Json& json, std::string_view name, const Visit& visit) {
  const auto list = json.find(name);
  for (std::size_t i = 0; list.has_value() && i < list->size(); ++i) {
    visit(list->item(i));
  }
}

}  // namespace

Result<std::unique_ptr<BrokerQueueClient>> BrokerQueueClient::create(const BrokerLeaseUrl& url) {
  net::HttpOptions options;
  options.token = url.token;
  HOLDFAST_TRY(auto http, net::HttpClient::create(url.origin, options));
  return std::unique_ptr<BrokerQueueClient>(new BrokerQueueClient(url.shown, std::move(http)));
}

// What a broker cannot do now it may do later. Every call may be repeated: posts have ids, and what
// is claimed twice is leased twice.
Result<Json> BrokerQueueClient::call(std::string_view method, const std::string& path,
                                     const std::string& body, milliseconds wait, int* status) {
  net::HttpCall http;
  http.method = method;
  http.target = path;
  http.repeatable = true;
  http.timeout = kAnswerTime + wait;
  if (method == "POST") {
    http.body = body;
    http.content_type = "application/json";
  }
  const net::HttpOutcome outcome = http_->send(http);
  if (outcome.kind != net::HttpOutcome::Kind::answered) {
    return Error{ErrorCode::unavailable, fmt::format("{}: {}", shown_, outcome.reason)};
  }
  if (outcome.status >= kFirstFailure || outcome.status == kTooMany) {
    return Error{ErrorCode::unavailable,
                 fmt::format("{}: {}", shown_, client::error_of_response(outcome).text())};
  }
  if (outcome.status >= kFirstRefused) {
    return client::error_of_response(outcome).in(shown_);
  }
  if (status != nullptr) {
    *status = outcome.status;
  }
  return Json::parse(outcome.body);
}

Result<BrokerQueueStatus> BrokerQueueClient::status(const std::string& queue) {
  HOLDFAST_TRY(const Json json, call("GET", path_of(queue, ""), ""));
  const auto inner = json.find("queue");
  BrokerQueueStatus status;
  status.workspace = json.text("mesh");
  status.life = fmt::format("{}.{}", json.text("mesh_id"),
                            inner.has_value() ? number_of(*inner, "created_at") : 0);
  status.ready = number_of(json, "ready");
  status.delayed = number_of(json, "delayed");
  status.leased = number_of(json, "leased");
  status.dead = number_of(json, "dead");
  return status;
}

Result<bool> BrokerQueueClient::post(const std::string& workspace, const BrokerPost& post) {
  delivery::MessageRequest request;
  request.mesh = workspace;
  request.client_message_id = post.client_message_id;
  request.envelope_version = delivery::kEnvelopeVersion;
  request.destination = {delivery::DestinationKind::queue, post.queue};
  request.body = post.body;
  request.ordering_key = post.ordering_key;
  if (post.expires_at_ms > 0) {
    request.expires_at = TimeMs{post.expires_at_ms};
  }
  request.request_fingerprint = delivery::fingerprint_of(
      {.destination = request.destination, .reply_to = {}, .meta = {}, .body = post.body});
  HOLDFAST_TRY(const JsonText json, to_json(request));
  int status = 0;
  HOLDFAST_CHECK(call("POST", "/v1/messages", std::string(json.view()), {}, &status));
  return status == kCreated;
}

Result<std::vector<BrokerQueueMessage>> BrokerQueueClient::claim(const BrokerClaim& claim) {
  JsonWriter json;
  json.begin_object().member("limit", claim.limit).member("lease_ms", claim.lease_ms);
  json.member("wait_ms", static_cast<std::uint64_t>(claim.wait.count()));
  json.member("key", claim.key).end_object();
  HOLDFAST_TRY(const Json reply,
               call("POST", path_of(claim.queue, "/claim"), std::move(json).take(), claim.wait));
  std::vector<BrokerQueueMessage> messages;
  for_each_item(reply, "messages", [&](const Json& one) {
    messages.push_back({std::string(one.text("broker_message_id")),
                        std::string(reply.text("lease")), std::string(one.text("body"))});
  });
  return messages;
}

Result<void> BrokerQueueClient::ack(const std::string& queue, const std::string& lease,
                                    const std::vector<std::string>& broker_message_ids) {
  JsonWriter json;
  json.begin_object().member("lease", lease);
  write_ids(json, "broker_message_ids", broker_message_ids);
  json.end_object();
  HOLDFAST_CHECK(call("POST", path_of(queue, "/ack"), std::move(json).take()));
  return {};
}

Result<void> BrokerQueueClient::extend(const std::string& queue, const BrokerQueueMessage& held,
                                       std::uint64_t lease_ms) {
  JsonWriter json;
  json.begin_object().member("lease", held.lease).member("lease_ms", lease_ms);
  write_ids(json, "broker_message_ids", {held.broker_message_id});
  json.end_object();
  HOLDFAST_CHECK(call("POST", path_of(queue, "/extend"), std::move(json).take()));
  return {};
}

Result<std::vector<std::string>> BrokerQueueClient::states(
    const std::string& queue, std::string_view action,
    const std::vector<std::string>& client_message_ids, std::string_view dead_reason) {
  std::vector<std::string> states;
  if (client_message_ids.empty()) {
    return states;
  }
  JsonWriter json;
  json.begin_object();
  write_ids(json, "client_message_ids", client_message_ids);
  if (!dead_reason.empty()) {
    json.member("dead_reason", dead_reason);
  }
  json.end_object();
  HOLDFAST_TRY(const Json reply, call("POST", path_of(queue, action), std::move(json).take()));
  for_each_item(reply, "messages",
                [&](const Json& one) { states.emplace_back(one.text("state")); });
  return states.size() == client_message_ids.size()
             ? Result<std::vector<std::string>>(std::move(states))
             : Error{ErrorCode::io_error, shown_ + ": unexpected response about messages"};
}

Result<std::vector<std::string>> BrokerQueueClient::find(
    const std::string& queue, const std::vector<std::string>& client_message_ids) {
  return states(queue, "/find", client_message_ids, "");
}

Result<std::vector<std::string>> BrokerQueueClient::withdraw(
    const std::string& queue, const std::vector<std::string>& client_message_ids,
    std::string_view dead_reason) {
  return states(queue, "/withdraw", client_message_ids, dead_reason);
}

Result<std::vector<std::string>> BrokerQueueClient::list_dead(const std::string& queue) {
  HOLDFAST_TRY(const Json reply, call("GET", path_of(queue, "/dead?limit=1000"), ""));
  std::vector<std::string> ids;
  for_each_item(reply, "messages",
                [&](const Json& one) { ids.emplace_back(one.text("client_message_id")); });
  return ids;
}

}  // namespace holdfast::bridges
