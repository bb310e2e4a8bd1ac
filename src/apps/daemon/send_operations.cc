// The operations with which programs hand over messages.
#include "apps/daemon/daemon_service.h"
#include "delivery/api/daemon_requests.h"
#include "delivery/contract/rejection.h"

namespace holdfast::delivery {

namespace {

std::optional<std::string> id_header(const net::Request& request) {
  const std::string_view value = request.header("Idempotency-Key");
  return value.empty() ? std::nullopt : std::optional(std::string(value));
}

Error conflict(const SendReply& sent) {
  const SendAnswer& answer = sent.answer;
  Error error = rejected(Rejection::idempotency_key_reused)
                    .with("client_message_id", sent.client_message_id)
                    .with("conflict", answer.conflict)
                    .with("daemon_fingerprint_prefix", answer.daemon_fingerprint_prefix)
                    .with("stored_fingerprint_prefix", answer.stored_fingerprint_prefix);
  if (!answer.broker_message_id.empty()) {
    static_cast<void>(std::move(error).with("broker_message_id", answer.broker_message_id));
  }
  if (!answer.reason.empty()) {
    static_cast<void>(std::move(error).with("reason", answer.reason));
  }
  return error;
}

Result<DaemonReply> hand_over(DaemonCall& call, Outgoing message,
                              const std::optional<std::string>& body_id) {
  HOLDFAST_TRY(message.id, choose_client_message_id(id_header(call.request), body_id));
  HOLDFAST_TRY(message.destination, parse_destination(message.to_text));
  if (!message.destination.has_value()) {
    if (auto pubkey = call.service.names.find(message.to_text); pubkey.has_value()) {
      message.destination = Destination{DestinationKind::dm, *std::move(pubkey)};
    }
  }
  message.mesh = call.service.config.workspace;
  const std::string kind =
      message.destination.has_value() ? std::string(to_text(message.destination->kind)) : "dm";
  const auto sent = call.service.outbox.send(message);
  if (!sent.ok()) {
    return sent.error();
  }
  const SendAnswer& answer = sent.value().answer;
  call.service.counters.sent(kind, answer.http_status);
  if (answer.result == SendResult::conflict) {
    return conflict(sent.value());
  }
  if (sent.value().lane.has_value()) {
    call.service.drain.wake(*sent.value().lane);
  }
  const SendView view{sent.value().client_message_id, std::string(answer.status),
                      answer.result == SendResult::duplicate, answer.broker_message_id,
                      answer.history_id};
  return reply_with_view(view, answer.http_status);
}

}  // namespace

Result<DaemonReply> send_message_out(DaemonCall& call) {
  HOLDFAST_TRY(const auto request, read_json_body<SendRequest>(call));
  if (!request.reply_to_id.empty() && !request.replyToId.empty() &&
      request.reply_to_id != request.replyToId) {
    return rejected(Rejection::invalid_request, "reply_to_id and replyToId differ");
  }
  Outgoing message;
  message.to_text = request.to;
  message.ordering_key = request.ordering_key;
  message.reply_to_id = request.reply_to_id.empty() ? request.replyToId : request.reply_to_id;
  message.priority = request.priority.value_or(Priority::next);
  HOLDFAST_TRY(message.meta, canonical_meta(request.meta.view()));
  message.mentions = request.mentions;
  message.body = request.message.value_or("");
  return hand_over(call, std::move(message), request.client_message_id);
}

Result<DaemonReply> post_to_topic(DaemonCall& call) {
  HOLDFAST_TRY(const auto request, read_json_body<TopicPostRequest>(call));
  Outgoing message;
  message.to_text = "#" + request.topic;
  message.priority = request.priority.value_or(Priority::next);
  message.mentions = request.mentions;
  message.body = request.message.value_or("");
  return hand_over(call, std::move(message), request.client_message_id);
}

}  // namespace holdfast::delivery
