// A request to accept a message, before and after the accept: what it holds, which takes no store
// to find out, and the response to what the broker replied.
#pragma once

#include <chrono>
#include <string_view>

#include "apps/broker/broker_service.h"
#include "delivery/broker/broker.h"
#include "delivery/contract/message_request.h"
#include "holdfast/result.h"
#include "net/http.h"

namespace holdfast::delivery {

struct SentMessage {
  std::chrono::steady_clock::time_point begin;
  std::string_view token;  // in the headers of the request, which must outlive this
  MessageRequest request;

  [[nodiscard]] AcceptCall call() const { return {token, &request}; }
};

// Any thread; never waits. The refusals of a request that is malformed or has no token.
Result<SentMessage> read_sent_message(const net::Request& request);

// Counts the reply and how long it took.
Served message_response(BrokerMetrics& metrics, const SentMessage& sent,
                        const Result<AcceptReply>& reply);
// Of a request that could not be read.
Served message_refusal(BrokerMetrics& metrics, const Error& error);

}  // namespace holdfast::delivery
