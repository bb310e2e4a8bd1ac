#include "apps/broker/sent_message.h"

#include <utility>

#include "apps/broker/broker_call.h"
#include "delivery/api/broker_views.h"
#include "delivery/contract/rejection.h"

namespace holdfast::delivery {

namespace {

constexpr int kOk = 200;
constexpr int kCreated = 201;

}  // namespace

Result<SentMessage> read_sent_message(const net::Request& request) {
  const auto begin = std::chrono::steady_clock::now();
  if (request.body.size() > kMostBodyBytes) {
    return rejected(Rejection::too_large, "the body has more than 1048576 bytes");
  }
  HOLDFAST_TRY(const Query query, Query::parse(request.query));
  HOLDFAST_CHECK(query.finish());
  const std::string_view type = request.header("Content-Type");
  if (!type.empty() && !type.starts_with("application/json")) {
    return rejected(Rejection::invalid_request, "the body must be application/json");
  }
  HOLDFAST_TRY(MessageRequest message, parse_message_request(request.body));
  HOLDFAST_TRY(const std::string_view token, bearer_of(request));
  return SentMessage{begin, token, std::move(message)};
}

Served message_response(BrokerMetrics& metrics, const SentMessage& sent,
                        const Result<AcceptReply>& reply) {
  metrics.accept_took(std::chrono::steady_clock::now() - sent.begin);
  metrics.count_answer(reply, sent.request.priority.value_or(Priority::next));
  if (!reply.ok()) {
    return served_problem(reply.error());
  }
  const auto json = to_json(view_of(reply.value()));
  if (!json.ok()) {
    return served_problem(json.error());
  }
  Served served;
  net::Response& response = served.response;
  response.status = reply.value().duplicate ? kOk : kCreated;
  response.content_type = "application/json";
  response.body.append(json.value().view()).push_back('\n');
  return served;
}

Served message_refusal(BrokerMetrics& metrics, const Error& error) {
  metrics.count_answer(error, Priority::next);
  return served_problem(error);
}

}  // namespace holdfast::delivery
