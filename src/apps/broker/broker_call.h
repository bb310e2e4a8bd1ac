// BrokerCall: one request on its way through a broker, and the answer of its operation.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "apps/broker/broker_service.h"
#include "apps/server/query.h"
#include "base/fields.h"
#include "delivery/broker/broker_lookup.h"
#include "net/http.h"
#include "runs/api/strict_reader.h"

namespace holdfast::delivery {

struct BrokerReply {
  int status = 200;
  std::string body = {};
  std::string content_type = "application/json";
  std::optional<DeliveryWait> wait = {};  // the caller may wait for another reply
};

struct BrokerCall {
  BrokerService& service;
  const net::Request& request;
  std::vector<std::string> arguments;  // the parameters of the path, decoded
  Query query;
  LookupResult caller = {};  // of an operation for members

  // Runs the work in a transaction, and gives what it leaves in its parameter.
  template <typename T, typename Work>
  Result<T> write(const Work& work) {
    T value{};
    HOLDFAST_CHECK(service.store.write([&](SqlSession& session) -> Result<void> {
      value = T{};
      return work(session, value);
    }));
    return value;
  }
  template <typename T, typename Work>
  Result<T> read(const Work& work) {
    T value{};
    HOLDFAST_CHECK(service.store.read([&](SqlSession& session) -> Result<void> {
      value = T{};
      return work(session, value);
    }));
    return value;
  }
  // As read(), for what looks at many rows.
  template <typename T, typename Work>
  Result<T> scan(const Work& work) {
    T value{};
    HOLDFAST_CHECK(service.store.scan([&](SqlSession& session) -> Result<void> {
      value = T{};
      return work(session, value);
    }));
    return value;
  }
};

// The token of the header Authorization. unauthenticated unless there is exactly one.
Result<std::string_view> bearer_of(const net::Request& request);

// The body as a JSON object; {} when it is empty. invalid_argument, invalid_json.
Result<JsonText> body_object(const BrokerCall& call);

// Reads the body strictly: unknown members, wrong types and null are errors.
template <HasFields T>
Result<T> read_body(BrokerCall& call) {
  HOLDFAST_CHECK(call.query.finish());
  HOLDFAST_TRY(const JsonText body, body_object(call));
  return read_object<T>(body.view());
}

template <HasFields T>
Result<BrokerReply> reply_with(const T& response, int status = 200) {
  HOLDFAST_TRY(const JsonText json, to_json(response));
  return BrokerReply{status, std::string(json.view()) + "\n"};
}

// The error as a problem document (RFC 9457); a rejection has its name in the member "error".
net::Response broker_problem(const Error& error);
// The same, with what the log of the broker says when the broker itself has failed.
Served served_problem(const Error& error);

// What the broker supports in a workspace, and which of the required features it does not.
NegotiationResponse features_of(const BrokerService& service, const Workspace& workspace,
                                const std::vector<std::string>& required);

// 1 to 1000 numbers, each at least 1. invalid_argument.
Result<void> check_delivery_ids(const std::vector<std::uint64_t>& ids);

// The broker's ids of messages: 1 to 1000, each a ULID or another name. invalid_argument.
Result<void> check_message_ids(const std::vector<std::string>& ids, std::string_view field);

// The operations, by subject.
Result<BrokerReply> get_health(BrokerCall& call);
Result<BrokerReply> get_readiness(BrokerCall& call);
Result<BrokerReply> get_openapi(BrokerCall& call);
Result<BrokerReply> get_metrics(BrokerCall& call);

Result<BrokerReply> get_dedupe(BrokerCall& call);
Result<BrokerReply> get_features(BrokerCall& call);
Result<BrokerReply> get_history(BrokerCall& call);
Result<BrokerReply> get_mentions(BrokerCall& call);

Result<BrokerReply> redact(BrokerCall& call);

Result<BrokerReply> claim_deliveries(BrokerCall& call);
Result<BrokerReply> ack_deliveries(BrokerCall& call);
Result<BrokerReply> list_dead_deliveries(BrokerCall& call);
Result<BrokerReply> replay_deliveries(BrokerCall& call);
Result<BrokerReply> list_all_deliveries(BrokerCall& call);
Result<BrokerReply> replay_for_members(BrokerCall& call);

Result<BrokerReply> get_queue(BrokerCall& call);
Result<BrokerReply> claim_queue(BrokerCall& call);
Result<BrokerReply> ack_queue(BrokerCall& call);
Result<BrokerReply> nack_queue(BrokerCall& call);
Result<BrokerReply> extend_queue(BrokerCall& call);
Result<BrokerReply> find_sent_messages(BrokerCall& call);
Result<BrokerReply> withdraw_sent_messages(BrokerCall& call);
Result<BrokerReply> list_dead_of_member(BrokerCall& call);

Result<BrokerReply> show_queue(BrokerCall& call);
Result<BrokerReply> change_queue(BrokerCall& call);
Result<BrokerReply> add_consumer(BrokerCall& call);
Result<BrokerReply> end_consumer(BrokerCall& call);
Result<BrokerReply> list_dead_messages(BrokerCall& call);
Result<BrokerReply> redrive_dead(BrokerCall& call);
Result<BrokerReply> discard_dead(BrokerCall& call);

Result<BrokerReply> get_peers(BrokerCall& call);
Result<BrokerReply> set_profile(BrokerCall& call);

Result<BrokerReply> list_own_topics(BrokerCall& call);
Result<BrokerReply> add_own_subscription(BrokerCall& call);
Result<BrokerReply> end_own_subscription(BrokerCall& call);
Result<BrokerReply> find_members(BrokerCall& call);
Result<BrokerReply> end_own_membership(BrokerCall& call);

Result<BrokerReply> list_all_workspaces(BrokerCall& call);
Result<BrokerReply> add_workspace(BrokerCall& call);
Result<BrokerReply> get_workspace(BrokerCall& call);
Result<BrokerReply> remove_workspace(BrokerCall& call);

Result<BrokerReply> join_workspace(BrokerCall& call);
Result<BrokerReply> list_all_members(BrokerCall& call);
Result<BrokerReply> add_member(BrokerCall& call);
Result<BrokerReply> end_member(BrokerCall& call);
Result<BrokerReply> invite_member(BrokerCall& call);

Result<BrokerReply> list_all_topics(BrokerCall& call);
Result<BrokerReply> add_topic(BrokerCall& call);
Result<BrokerReply> get_topic(BrokerCall& call);
Result<BrokerReply> end_topic(BrokerCall& call);
Result<BrokerReply> add_subscription(BrokerCall& call);
Result<BrokerReply> end_subscription(BrokerCall& call);
Result<BrokerReply> list_all_queues(BrokerCall& call);
Result<BrokerReply> add_queue(BrokerCall& call);

Result<BrokerReply> list_all_webhooks(BrokerCall& call);
Result<BrokerReply> add_webhook(BrokerCall& call);
Result<BrokerReply> get_webhook(BrokerCall& call);
Result<BrokerReply> update_webhook(BrokerCall& call);
Result<BrokerReply> remove_webhook(BrokerCall& call);
Result<BrokerReply> enable_one_webhook(BrokerCall& call);
Result<BrokerReply> disable_one_webhook(BrokerCall& call);
Result<BrokerReply> rotate_webhook(BrokerCall& call);
Result<BrokerReply> list_deliveries_of_webhook(BrokerCall& call);
Result<BrokerReply> list_attempts_of_webhook(BrokerCall& call);
Result<BrokerReply> replay_to_webhook(BrokerCall& call);

Result<BrokerReply> run_sweep(BrokerCall& call);
Result<BrokerReply> run_orphan_check(BrokerCall& call);

}  // namespace holdfast::delivery
