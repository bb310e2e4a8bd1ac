// The operations of the operator on the outbox.
#include <fmt/format.h>

#include <algorithm>

#include "apps/daemon/daemon_service.h"
#include "base/quote.h"
#include "delivery/api/daemon_requests.h"
#include "delivery/daemon/outbox_refusal.h"

namespace holdfast::delivery {

namespace {

constexpr std::uint64_t kMostBulk = 10'000;
constexpr std::int64_t kRateUnitMs = 1000;

enum class Shown : std::uint8_t { row, row_and_message };

OutboxRowView view_of_row(const OutboxEntry& entry, Shown shown) {
  OutboxRowView view;
  view.id = entry.id;
  view.client_message_id = entry.client_message_id;
  view.status = std::string(to_text(entry.status));
  view.request_fingerprint = to_hex(entry.request_fingerprint);
  view.mesh = entry.mesh;
  view.destination = entry.destination;
  view.to = entry.to_text;
  view.priority = entry.priority;
  view.ordering_key = entry.ordering_key;
  view.reply_to_id = entry.reply_to_id;
  view.mentions = entry.mentions;
  if (shown == Shown::row_and_message && !entry.payload_pruned_at.has_value()) {
    view.message = entry.payload;
  }
  if (!entry.meta.empty()) {
    view.meta = Payload::trusted(entry.meta);
  }
  view.payload_pruned_at = entry.payload_pruned_at;
  view.enqueued_at = entry.enqueued_at;
  view.first_sent_at = entry.first_sent_at;
  view.last_attempt_at = entry.last_attempt_at;
  view.attempts = entry.attempts;
  view.ambiguous = entry.ambiguous;
  view.poison_suspect = entry.poison_suspect;
  if (entry.status == OutboxState::pending) {
    view.next_attempt_at = entry.next_attempt_at;
  }
  view.last_error = entry.last_error;
  view.last_status = entry.last_status;
  view.delivered_at = entry.delivered_at;
  view.broker_message_id = entry.broker_message_id;
  view.history_id = entry.history_id;
  view.aborted_at = entry.aborted_at;
  view.aborted_by = entry.aborted_by;
  view.abort_reason = entry.abort_reason;
  view.superseded_by = entry.superseded_by;
  view.supersedes = entry.supersedes;
  view.late_broker_message_id = entry.late_broker_message_id;
  return view;
}

std::optional<OutboxState> state_of(OutboxListed listed) {
  return listed == OutboxListed::all ? std::nullopt : enum_from<OutboxState>(to_text(listed));
}

std::optional<TimeMs> time_of(const std::optional<std::uint64_t>& number) {
  return number.has_value() ? std::optional(TimeMs{static_cast<std::int64_t>(*number)})
                            : std::nullopt;
}

// Requeues a row; queries the broker in between when an attempt had no answer.
Result<RequeueReply> requeue_row(DaemonService& service, const std::string& id,
                                 RequeueRequest request) {
  HOLDFAST_TRY(RequeueReply reply, service.outbox.requeue(id, request));
  if (reply.result == RequeueReply::Result::check_broker) {
    const BrokerKnowledge known = service.drain.query(reply.old_entry);
    request.verdict = known.verdict;
    request.broker_message_id = known.broker_message_id;
    request.history_id = known.history_id;
    HOLDFAST_TRY(reply, service.outbox.requeue(id, request));
  }
  if (reply.new_entry.has_value()) {
    service.drain.wake(lane_of(*reply.new_entry));
  }
  return reply;
}

RequeueRequest::Force force_of(bool force) {
  return force ? RequeueRequest::Force::yes : RequeueRequest::Force::no;
}

RequeueBulkOutcome outcome_of(const OutboxEntry& entry, const Result<RequeueReply>& reply) {
  RequeueBulkOutcome outcome{entry.id, entry.client_message_id, "refused", {}, {}};
  if (!reply.ok()) {
    outcome.why = reply.error().message();
    return outcome;
  }
  outcome.result = std::string(to_text(reply.value().result));
  if (reply.value().new_entry.has_value()) {
    outcome.new_client_message_id = reply.value().new_entry->client_message_id;
  }
  return outcome;
}

}  // namespace

Result<DaemonReply> list_outbox(DaemonCall& call) {
  HOLDFAST_TRY(const auto request, call.query.read<OutboxListRequest>());
  OutboxFilter filter;
  filter.status = state_of(request.status);
  filter.error = request.error;
  filter.since = time_of(request.since);
  filter.before = time_of(request.before);
  filter.before_id = request.before_id;
  filter.limit = request.limit.value_or(kUsualOutboxRows);
  HOLDFAST_TRY(const auto entries, call.service.outbox.list(filter));
  OutboxList list;
  for (const OutboxEntry& entry : entries) {
    list.messages.push_back(view_of_row(entry, Shown::row));
  }
  if (!entries.empty() && entries.size() == filter.limit) {
    list.next_before_id = entries.back().id;
  }
  return reply_with_view(list);
}

Result<DaemonReply> inspect_outbox(DaemonCall& call) {
  HOLDFAST_CHECK(call.query.finish());
  HOLDFAST_TRY(const auto entries, call.service.outbox.chain(call.arguments.at(0)));
  OutboxChain chain;
  for (const OutboxEntry& entry : entries) {
    chain.chain.push_back(view_of_row(entry, Shown::row_and_message));
  }
  return reply_with_view(chain);
}

Result<DaemonReply> requeue_message(DaemonCall& call) {
  HOLDFAST_TRY(const auto body, read_json_body<RequeueMessageRequest>(call));
  if (body.automatic == body.new_client_message_id.has_value()) {
    return Error{ErrorCode::invalid_argument,
                 "give either auto or new_client_message_id: a message that is sent again has "
                 "another id"};
  }
  RequeueRequest request;
  if (body.new_client_message_id.has_value()) {
    HOLDFAST_TRY(request.new_id, ClientMessageId::parse(*body.new_client_message_id));
  }
  request.new_payload = body.message;
  request.force = force_of(body.force);
  request.reason = body.reason;
  HOLDFAST_TRY(const auto reply, requeue_row(call.service, call.arguments.at(0), request));
  RequeueView view{
      std::string(to_text(reply.result)), view_of_row(reply.old_entry, Shown::row), {}};
  if (reply.new_entry.has_value()) {
    view.new_message = view_of_row(*reply.new_entry, Shown::row);
  }
  return reply_with_view(view);
}

// Each row in a transaction of its own. With a rate the first attempts are spread over time.
Result<DaemonReply> requeue_bulk(DaemonCall& call) {
  HOLDFAST_TRY(const auto body, read_json_body<RequeueBulkRequest>(call));
  if (body.status != OutboxListed::dead && body.status != OutboxListed::pending) {
    return Error{ErrorCode::invalid_argument, "status is dead or pending"}.with("field", "status");
  }
  OutboxFilter filter;
  filter.status = state_of(body.status);
  filter.error = body.error;
  filter.since = body.since;
  filter.before = body.before;
  filter.limit = std::min(body.limit.value_or(kMostBulk), kMostBulk);
  HOLDFAST_TRY(auto entries, call.service.outbox.list(filter));
  std::reverse(entries.begin(), entries.end());  // the oldest is sent first
  RequeueBulkView view;
  std::uint64_t number = 0;
  for (const OutboxEntry& entry : entries) {
    if (body.dry_run) {
      view.outcomes.push_back({entry.id, entry.client_message_id, "would_requeue", {}, {}});
      continue;
    }
    RequeueRequest request;
    request.force = force_of(body.force);
    request.reason = body.reason;
    request.delay_ms =
        body.rate == 0 ? 0 : static_cast<std::int64_t>(number++ * kRateUnitMs / body.rate);
    view.outcomes.push_back(outcome_of(entry, requeue_row(call.service, entry.id, request)));
  }
  return reply_with_view(view);
}

Result<DaemonReply> abort_message(DaemonCall& call) {
  HOLDFAST_TRY(const auto body, read_json_body<AbortMessageRequest>(call));
  HOLDFAST_TRY(const auto entry,
               call.service.outbox.abort(call.arguments.at(0), body.reason, force_of(body.force)));
  return reply_with_view(view_of_row(entry, Shown::row));
}

Result<DaemonReply> compact_outbox(DaemonCall& call) {
  HOLDFAST_TRY(const auto body, read_json_body<CompactRequest>(call));
  HOLDFAST_TRY(const std::uint64_t compacted, call.service.outbox.compact(body.ended_before));
  return reply_with_view(CompactView{compacted});
}

}  // namespace holdfast::delivery
