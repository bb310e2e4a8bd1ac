// The operations on queues for members: consumers and senders.
#include <fmt/format.h>

#include <algorithm>

#include "apps/broker/delivery_polls.h"
#include "apps/broker/directory_calls.h"
#include "base/names.h"
#include "delivery/api/broker_views.h"
#include "holdfast/assert.h"

namespace holdfast::delivery {

namespace {

constexpr std::size_t kMaxReason = 200;
constexpr std::uint64_t kMostWaitMs = kMostWaitSeconds * 1000;

QueueKey queue_of(const BrokerCall& call) {
  return {call.caller.workspace.mesh_id, call.arguments.at(0)};
}

Error out_of_bounds(std::string_view field, std::uint64_t least, std::uint64_t most) {
  return Error{ErrorCode::invalid_argument,
               fmt::format("{} must be from {} to {}", field, least, most)}
      .with("field", field);
}

Result<std::int64_t> checked_lease_ms(std::uint64_t lease_ms) {
  return lease_ms <= static_cast<std::uint64_t>(kLongestLeaseMs)
             ? Result<std::int64_t>(static_cast<std::int64_t>(lease_ms))
             : out_of_bounds("lease_ms", 1, kLongestLeaseMs);
}

Result<void> check_lease(const std::string& lease) {
  return is_name(lease) ? Result<void>()
                        : Error{ErrorCode::invalid_argument, "lease is that of a claim"}.with(
                              "field", "lease");
}

Result<QueueClaim> claim_of(const BrokerCall& call, const ClaimQueueRequest& request) {
  QueueClaim claim{.queue = queue_of(call), .member_id = call.caller.member_id};
  const std::uint64_t limit = request.limit.value_or(1);
  if (limit < 1 || limit > kMostClaimed) {
    return out_of_bounds("limit", 1, kMostClaimed);
  }
  if (request.wait_ms > kMostWaitMs) {
    return out_of_bounds("wait_ms", 0, kMostWaitMs);
  }
  if (!request.lease.empty()) {
    HOLDFAST_CHECK(check_lease(request.lease));
  }
  if (request.key.size() > kMaxOrderingKey || request.key.find('\0') != std::string::npos) {
    return out_of_bounds("the length of key", 0, kMaxOrderingKey).with("field", "key");
  }
  HOLDFAST_TRY(claim.lease_ms, checked_lease_ms(request.lease_ms));
  claim.limit = static_cast<std::uint32_t>(limit);
  claim.key = request.key;
  claim.lease = request.lease;
  return claim;
}

// What a consumer does with messages under its lease.
template <typename Request>
Result<QueueSettled> settle(BrokerCall& call, const Request& request, QueueSettle settle) {
  HOLDFAST_ASSERT(call.service.queues != nullptr);
  HOLDFAST_CHECK(check_lease(request.lease));
  HOLDFAST_CHECK(check_message_ids(request.broker_message_ids, "broker_message_ids"));
  settle.queue = queue_of(call);
  settle.member_id = call.caller.member_id;
  settle.lease = request.lease;
  settle.broker_message_ids = request.broker_message_ids;
  return call.service.queues->settle(std::move(settle));
}

Result<void> check_reason(std::string_view field, const std::string& reason) {
  return reason.size() <= kMaxReason && reason.find('\0') == std::string::npos
             ? Result<void>()
             : Error{ErrorCode::invalid_argument,
                     fmt::format("{} has at most {} bytes", field, kMaxReason)}
                   .with("field", field);
}

}  // namespace

Result<void> check_message_ids(const std::vector<std::string>& ids, std::string_view field) {
  const bool valid =
      !ids.empty() && ids.size() <= kMostEntries &&
      std::all_of(ids.begin(), ids.end(), [](const std::string& id) {
        return !id.empty() && id.size() <= kMaxOrderingKey && id.find('\0') == std::string::npos;
      });
  return valid
             ? Result<void>()
             : Error{ErrorCode::invalid_argument, fmt::format("{} has 1 to 1000 ids", field)}.with(
                   "field", field);
}

Result<BrokerReply> claim_queue(BrokerCall& call) {
  HOLDFAST_ASSERT(call.service.queues != nullptr);
  HOLDFAST_TRY(const auto request, read_body<ClaimQueueRequest>(call));
  HOLDFAST_TRY(QueueClaim claim, claim_of(call, request));
  const std::string wait_key = queue_wait_key(claim.queue, claim.key);
  HOLDFAST_TRY(const auto claimed, call.service.queues->claim(std::move(claim)));
  ClaimQueueResponse response;
  for (const QueueMessage& message : claimed.messages) {
    response.messages.push_back(view_of(message, call.caller.workspace));
  }
  if (!response.messages.empty()) {
    response.lease = claimed.lease;
    response.lease_until = claimed.lease_until;
    if (call.service.queue_polls != nullptr) {
      call.service.queue_polls->check_at(claimed.lease_until);
    }
  }
  HOLDFAST_TRY(BrokerReply reply, reply_with(response));
  if (response.messages.empty() && request.wait_ms > 0) {
    reply.wait = DeliveryWait{.key = wait_key,
                              .time = std::chrono::milliseconds(request.wait_ms),
                              .what = DeliveryWait::For::queue,
                              .check_at = claimed.next_at};
  }
  return reply;
}

Result<BrokerReply> ack_queue(BrokerCall& call) {
  HOLDFAST_TRY(const auto request, read_body<AckQueueRequest>(call));
  HOLDFAST_TRY(const auto settled, settle(call, request, {.kind = QueueSettlement::Kind::ack}));
  return reply_with(AckQueueResponse{settled.settled, views_of(settled.fenced)});
}

Result<BrokerReply> nack_queue(BrokerCall& call) {
  HOLDFAST_TRY(const auto request, read_body<NackQueueRequest>(call));
  if (request.delay_ms > kLongestDelayMs) {
    return out_of_bounds("delay_ms", 0, kLongestDelayMs);
  }
  HOLDFAST_CHECK(check_reason("reason", request.reason));
  HOLDFAST_TRY(const auto settled, settle(call, request,
                                          {.kind = QueueSettlement::Kind::nack,
                                           .delay_ms = static_cast<std::int64_t>(request.delay_ms),
                                           .reason = request.reason}));
  NackQueueResponse response;
  for (const std::string& id : settled.settled) {
    const bool dead = std::ranges::find(settled.dead, id) != settled.dead.end();
    (dead ? response.dead : response.returned).push_back(id);
  }
  response.fenced = views_of(settled.fenced);
  if (call.service.queue_polls != nullptr && request.delay_ms > 0) {
    call.service.queue_polls->check_at(
        TimeMs{call.service.clock.now().value + static_cast<std::int64_t>(request.delay_ms)});
  }
  return reply_with(response);
}

Result<BrokerReply> extend_queue(BrokerCall& call) {
  HOLDFAST_TRY(const auto request, read_body<ExtendQueueRequest>(call));
  HOLDFAST_TRY(const std::int64_t lease_ms, checked_lease_ms(request.lease_ms));
  HOLDFAST_TRY(
      const auto settled,
      settle(call, request, {.kind = QueueSettlement::Kind::extend, .lease_ms = lease_ms}));
  ExtendQueueResponse response{settled.settled, {}, views_of(settled.fenced)};
  if (!settled.settled.empty()) {
    response.lease_until = settled.lease_until;
  }
  return reply_with(response);
}

Result<BrokerReply> find_sent_messages(BrokerCall& call) {
  HOLDFAST_ASSERT(call.service.queues != nullptr);
  HOLDFAST_TRY(const auto request, read_body<SentMessagesRequest>(call));
  HOLDFAST_CHECK(check_message_ids(request.client_message_ids, "client_message_ids"));
  HOLDFAST_TRY(const auto sent, call.service.queues->find(queue_of(call), call.caller.member_id,
                                                          request.client_message_ids));
  return reply_with(SentMessagesResponse{views_of(sent)});
}

Result<BrokerReply> withdraw_sent_messages(BrokerCall& call) {
  HOLDFAST_ASSERT(call.service.queues != nullptr);
  HOLDFAST_TRY(const auto request, read_body<WithdrawRequest>(call));
  HOLDFAST_CHECK(check_message_ids(request.client_message_ids, "client_message_ids"));
  HOLDFAST_CHECK(check_reason("dead_reason", request.dead_reason));
  HOLDFAST_TRY(const auto sent,
               call.service.queues->withdraw(queue_of(call), call.caller.member_id,
                                             request.client_message_ids, request.dead_reason));
  return reply_with(SentMessagesResponse{views_of(sent)});
}

}  // namespace holdfast::delivery
