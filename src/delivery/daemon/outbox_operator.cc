// What an operator does with rows: look at them, requeue, abort, compact.
#include <fmt/format.h>

#include <algorithm>

#include "base/quote.h"
#include "delivery/contract/rejection.h"
#include "delivery/daemon/outbox.h"
#include "delivery/daemon/outbox_refusal.h"

namespace holdfast::delivery {

namespace {

using Force = RequeueRequest::Force;

constexpr std::string_view kRetire =
    "UPDATE outbox SET status = 'aborted', aborted_at = $2i, aborted_by = 'operator', "
    "abort_reason = NULLIF($3t, ''), superseded_by = NULLIF($4t, ''), lease_token = NULL, "
    "lease_until = NULL WHERE id = $1t";
constexpr std::string_view kFoundDelivered =
    "UPDATE outbox SET status = 'done', delivered_at = $2i, broker_message_id = $3t, "
    "history_id = NULLIF($4t, ''), lease_token = NULL, lease_until = NULL WHERE id = $1t";
constexpr std::string_view kDropPayloads =
    "UPDATE outbox SET payload = x'', payload_pruned_at = $2i WHERE payload_pruned_at IS NULL "
    "AND ((status = 'done' AND delivered_at < $1i) OR (status = 'aborted' AND aborted_at < $1i))";
constexpr std::string_view kListed =
    "WHERE ($1t = '' OR status = $1t) AND ($2t = '' OR instr(last_error, $2t) > 0) "
    "AND enqueued_at >= $3i AND enqueued_at < $4i "
    "AND ($5t = '' OR seq < (SELECT seq FROM outbox WHERE id = $5t)) ORDER BY seq DESC LIMIT $6i";
constexpr std::string_view kCountByStatus = "SELECT status, count(*) FROM outbox GROUP BY status";
constexpr std::string_view kOldestPending =
    "SELECT enqueued_at FROM outbox WHERE status = 'pending' ORDER BY seq LIMIT 1";

bool is_waiting(const OutboxEntry& entry) {
  return entry.status == OutboxState::pending || entry.status == OutboxState::inflight;
}

Result<OutboxEntry> get_entry(SqlSession& sql, const std::string& id) {
  HOLDFAST_TRY(auto found, find_outbox_entry(sql, id));
  if (!found.has_value()) {
    HOLDFAST_TRY(found, find_by_client_id(sql, id));
  }
  if (!found.has_value()) {
    return Error{ErrorCode::not_found, fmt::format("the outbox has no message {}", quote(id))};
  }
  return *std::move(found);
}

Result<void> check_open(const OutboxEntry& entry, Force force) {
  switch (entry.status) {
    case OutboxState::pending:
    case OutboxState::dead:
      return {};
    case OutboxState::inflight:
      return force == Force::yes
                 ? Result<void>()
                 : outbox_refused(OutboxRefusal::row_inflight,
                                  "the message is being sent; wait for its outcome, or use force");
    case OutboxState::done:
    case OutboxState::aborted:
      return outbox_refused(OutboxRefusal::row_ended,
                            fmt::format("the message is {} already", to_text(entry.status)));
  }
  HOLDFAST_ASSERT(false);
  return {};
}

Result<OutboxEntry> retire(OutboxTransaction& transaction, const OutboxEntry& entry,
                           const std::string& reason, const std::string& successor, TimeMs now) {
  HOLDFAST_CHECK(transaction.sql.execute(kRetire, {entry.id, now.value, reason, successor}));
  transaction.waiting -= is_waiting(entry) ? 1U : 0U;
  return get_entry(transaction.sql, entry.id);
}

}  // namespace

Result<RequeueReply> Outbox::requeue(const std::string& id, const RequeueRequest& request) {
  return transact<RequeueReply>(
      [&](OutboxTransaction& transaction) { return requeue_in(transaction, id, request); });
}

Result<RequeueReply> Outbox::requeue_in(OutboxTransaction& transaction, const std::string& id,
                                        const RequeueRequest& request) {
  HOLDFAST_TRY(const OutboxEntry entry, get_entry(transaction.sql, id));
  HOLDFAST_CHECK(check_open(entry, request.force));
  RequeueReply reply;
  reply.old_entry = entry;
  if (request.verdict == BrokerVerdict::accepted) {
    HOLDFAST_CHECK(transaction.sql.execute(
        kFoundDelivered,
        {entry.id, clock_.now().value, request.broker_message_id, request.history_id}));
    transaction.waiting -= is_waiting(entry) ? 1U : 0U;
    HOLDFAST_TRY(reply.old_entry, get_entry(transaction.sql, entry.id));
    reply.result = RequeueReply::Result::delivered;
    return reply;
  }
  const bool unsure = entry.ambiguous || entry.status == OutboxState::inflight;
  if (unsure && request.force == Force::no) {
    if (request.verdict == BrokerVerdict::unchecked) {
      reply.result = RequeueReply::Result::check_broker;
      return reply;
    }
    if (request.verdict == BrokerVerdict::unknown) {
      return outbox_refused(OutboxRefusal::broker_unsure,
                            "an attempt had no answer, and the broker cannot say whether it "
                            "has the message: sent again under another id it could arrive twice");
    }
  }
  HOLDFAST_TRY(OutboxEntry next, successor_of(transaction, entry, request));
  HOLDFAST_CHECK(transaction.reach(OutboxFault::requeue_checked));
  HOLDFAST_TRY(reply.old_entry, retire(transaction, entry, request.reason, next.id, clock_.now()));
  HOLDFAST_CHECK(transaction.reach(OutboxFault::requeue_aborted));
  HOLDFAST_CHECK(insert_outbox_entry(transaction.sql, next));
  ++transaction.waiting;
  HOLDFAST_CHECK(transaction.reach(OutboxFault::requeue_inserted));
  reply.new_entry = std::move(next);
  return reply;
}

Result<OutboxEntry> Outbox::successor_of(const OutboxTransaction& transaction,
                                         const OutboxEntry& old_entry,
                                         const RequeueRequest& request) {
  OutboxEntry next;
  next.id = new_ulid();
  next.client_message_id = request.new_id.has_value() ? request.new_id->text() : new_ulid();
  HOLDFAST_TRY(const auto taken, find_by_client_id(transaction.sql, next.client_message_id));
  if (taken.has_value()) {
    return rejected(Rejection::idempotency_key_reused,
                    fmt::format("{} has a row in the outbox", quote(next.client_message_id)));
  }
  next.request_fingerprint = old_entry.request_fingerprint;
  next.envelope_version = old_entry.envelope_version;
  next.mesh = old_entry.mesh;
  next.destination = old_entry.destination;
  next.to_text = old_entry.to_text;
  next.priority = old_entry.priority;
  next.ordering_key = old_entry.ordering_key;
  next.reply_to_id = old_entry.reply_to_id;
  next.meta = old_entry.meta;
  next.mentions = old_entry.mentions;
  next.payload = old_entry.payload;
  next.supersedes = old_entry.id;
  next.enqueued_at = clock_.now();
  next.next_attempt_at = TimeMs{next.enqueued_at.value + request.delay_ms};
  if (request.new_payload.has_value()) {
    Outgoing patched;
    patched.to_text = old_entry.to_text;
    patched.reply_to_id = old_entry.reply_to_id;
    patched.priority = old_entry.priority;
    patched.meta = old_entry.meta;
    patched.body = *request.new_payload;
    HOLDFAST_CHECK(check_outgoing(patched));
    if (patched.body.size() > inline_bytes_) {
      return rejected(Rejection::too_large,
                      fmt::format("the new message has {} bytes", patched.body.size()));
    }
    next.request_fingerprint = fingerprint_of(envelope_of(patched, old_entry.destination));
    next.envelope_version = kEnvelopeVersion;
    next.payload = *request.new_payload;
  }
  return next;
}

Result<OutboxEntry> Outbox::abort(const std::string& id, const std::string& reason, Force force) {
  return transact<OutboxEntry>([&](OutboxTransaction& transaction) -> Result<OutboxEntry> {
    HOLDFAST_TRY(const OutboxEntry entry, get_entry(transaction.sql, id));
    HOLDFAST_CHECK(check_open(entry, force));
    return retire(transaction, entry, reason, "", clock_.now());
  });
}

Result<std::uint64_t> Outbox::compact(TimeMs ended_before) {
  return transact<std::uint64_t>([&](OutboxTransaction& transaction) {
    return transaction.sql.execute(kDropPayloads, {ended_before.value, clock_.now().value});
  });
}

Result<std::vector<OutboxEntry>> Outbox::list(const OutboxFilter& filter) {
  static const std::string statement = select_outbox(kListed);
  std::vector<OutboxEntry> entries;
  HOLDFAST_CHECK(store_->read([&](SqlSession& sql) -> Result<void> {
    const std::string_view status =
        filter.status.has_value() ? to_text(*filter.status) : std::string_view("");
    HOLDFAST_TRY(const SqlRows rows,
                 sql.query(statement, {status, filter.error, filter.since.value_or(TimeMs{0}).value,
                                       filter.before.value_or(TimeMs{INT64_MAX}).value,
                                       filter.before_id, static_cast<std::int64_t>(filter.limit)}));
    for (const auto& cells : rows) {
      entries.push_back(outbox_entry_of(cells));
      entries.back().payload.clear();
    }
    return {};
  }));
  return entries;
}

Result<std::vector<OutboxEntry>> Outbox::chain(const std::string& id) {
  std::vector<OutboxEntry> entries;
  HOLDFAST_CHECK(store_->read([&](SqlSession& sql) -> Result<void> {
    HOLDFAST_TRY(OutboxEntry entry, get_entry(sql, id));
    while (!entry.supersedes.empty()) {
      HOLDFAST_TRY(entry, get_entry(sql, entry.supersedes));
    }
    entries.push_back(std::move(entry));
    while (!entries.back().superseded_by.empty()) {
      HOLDFAST_TRY(OutboxEntry next, get_entry(sql, entries.back().superseded_by));
      entries.push_back(std::move(next));
    }
    return {};
  }));
  return entries;
}

Result<OutboxCounts> Outbox::counts() {
  OutboxCounts counts;
  HOLDFAST_CHECK(store_->read([&](SqlSession& sql) -> Result<void> {
    HOLDFAST_TRY(const SqlRows rows, sql.query(kCountByStatus, {}));
    for (const auto& cells : rows) {
      const auto state = enum_from<OutboxState>(cells[0].bytes);
      HOLDFAST_ASSERT(state.has_value());  // the column is checked
      counts.rows.at(static_cast<std::size_t>(*state)) =
          static_cast<std::uint64_t>(cells[1].integer);
    }
    HOLDFAST_TRY(const SqlRows oldest, sql.query(kOldestPending, {}));
    if (!oldest.empty()) {
      counts.oldest_pending_at = TimeMs{oldest[0][0].integer};
    }
    return {};
  }));
  return counts;
}

}  // namespace holdfast::delivery
