// The rows on their way to the broker: taken, completed, taken back.
#include <fmt/format.h>

#include "delivery/daemon/outbox.h"

namespace holdfast::delivery {

namespace {

constexpr int kFirstServerError = 500;

constexpr std::string_view kHeadOfLane =
    "WHERE mesh = $1t AND dest_kind = $2t AND dest_ref = $3t AND priority = $4t "
    "AND ordering_key = $5t AND status IN ('pending', 'inflight') AND poison_suspect = 0 "
    "ORDER BY seq LIMIT 1";
constexpr std::string_view kParkedRow =
    "WHERE id = $1t AND status IN ('pending', 'inflight') AND poison_suspect = 1";
constexpr std::string_view kTake =
    "UPDATE outbox SET status = 'inflight', lease_token = $2t, lease_until = $3i, "
    "last_attempt_at = $4i, first_sent_at = $5i WHERE id = $1t";
constexpr std::string_view kExpire =
    "UPDATE outbox SET status = 'dead', last_error = $2t, last_status = 0 WHERE id = $1t";
constexpr std::string_view kLeased =
    " WHERE id = $1t AND status = 'inflight' AND lease_token = $2t";
constexpr std::string_view kLateId =
    "UPDATE outbox SET late_broker_message_id = $2t WHERE id = $1t AND status <> 'done'";
constexpr std::string_view kReleaseExpired =
    "UPDATE outbox SET status = 'pending', attempts = attempts + 1, ambiguous = 1, "
    "lease_token = NULL, lease_until = NULL, next_attempt_at = $1i "
    "WHERE status = 'inflight' AND lease_until <= $1i";

Result<std::optional<OutboxEntry>> head_of(SqlSession& sql, const Lane& lane) {
  static const std::string head = select_outbox(kHeadOfLane);
  static const std::string parked = select_outbox(kParkedRow);
  HOLDFAST_TRY(const SqlRows rows,
               lane.parked_id.empty() ? sql.query(head, {lane.mesh, to_text(lane.kind), lane.ref,
                                                         to_text(lane.priority), lane.ordering_key})
                                      : sql.query(parked, {lane.parked_id}));
  return rows.empty() ? std::optional<OutboxEntry>() : outbox_entry_of(rows.front());
}

bool is_expired(const OutboxEntry& entry, const ClaimTerms& terms) {
  return entry.first_sent_at.has_value() &&
         terms.broker_now.value - entry.first_sent_at->value > terms.max_age_ms;
}

Result<std::uint64_t> mark_done(SqlSession& sql, const OutboxEntry& claimed,
                                const Completion& completion, TimeMs now) {
  static const std::string statement = fmt::format(
      "UPDATE outbox SET status = 'done', lease_token = NULL, lease_until = NULL, "
      "attempts = attempts + 1, delivered_at = $3i, broker_message_id = $4t, "
      "history_id = NULLIF($5t, ''), last_error = '', last_status = $6i{}",
      kLeased);
  return sql.execute(statement,
                     {claimed.id, claimed.lease_token, now.value, completion.broker_message_id,
                      completion.history_id, std::int64_t{completion.http_status}});
}

Result<std::uint64_t> mark_dead(SqlSession& sql, const OutboxEntry& claimed,
                                const Completion& completion) {
  static const std::string statement = fmt::format(
      "UPDATE outbox SET status = 'dead', lease_token = NULL, lease_until = NULL, "
      "attempts = attempts + 1, last_error = $3t, last_status = $4i{}",
      kLeased);
  return sql.execute(statement, {claimed.id, claimed.lease_token, completion.error,
                                 std::int64_t{completion.http_status}});
}

// A transmission of which nothing was sent leaves no trace of a first one.
Result<std::uint64_t> mark_pending(SqlSession& sql, const OutboxEntry& claimed,
                                   const Completion& completion, TimeMs now) {
  static const std::string statement = fmt::format(
      "UPDATE outbox SET status = 'pending', lease_token = NULL, lease_until = NULL, "
      "attempts = attempts + $3i, ambiguous = MAX(ambiguous, $4i), next_attempt_at = $5i, "
      "deferrals = CASE WHEN $6i = 0 THEN 0 WHEN last_status = $6i THEN deferrals + 1 ELSE 1 END, "
      "last_error = $7t, last_status = $6i, poison_suspect = MAX(poison_suspect, $8i), "
      "first_sent_at = CASE WHEN $3i = 0 AND attempts = 0 THEN NULL ELSE first_sent_at END{}",
      kLeased);
  const AnswerEffect& effect = completion.effect;
  const bool server_error = completion.http_status >= kFirstServerError;
  return sql.execute(statement,
                     {claimed.id, claimed.lease_token,
                      std::int64_t{effect.attempt == AttemptCount::counted ? 1 : 0},
                      std::int64_t{effect.answer_class == AnswerClass::ambiguous ? 1 : 0},
                      now.value + completion.retry_after_ms,
                      std::int64_t{server_error ? completion.http_status : 0}, completion.error,
                      std::int64_t{completion.lane == Completion::Lane::leave ? 1 : 0}});
}

}  // namespace

Result<Claim> Outbox::claim(const Lane& lane, const ClaimTerms& terms) {
  return transact<Claim>(
      [&](OutboxTransaction& transaction) { return claim_in(transaction, lane, terms); });
}

Result<Claim> Outbox::claim_in(OutboxTransaction& transaction, const Lane& lane,
                               const ClaimTerms& terms) {
  Claim claim;
  const TimeMs now = clock_.now();
  for (;;) {
    HOLDFAST_TRY(std::optional<OutboxEntry> head, head_of(transaction.sql, lane));
    if (!head.has_value()) {
      return claim;
    }
    if (head->status == OutboxState::inflight) {
      claim.due = head->lease_until;
      return claim;
    }
    if (is_expired(*head, terms)) {
      const std::string why =
          fmt::format("expired: first sent at {}, and the broker may have forgotten it since",
                      format_time(*head->first_sent_at));
      HOLDFAST_CHECK(transaction.sql.execute(kExpire, {head->id, why}));
      --transaction.waiting;
      ++claim.expired;
      continue;
    }
    if (head->next_attempt_at > now) {
      claim.due = head->next_attempt_at;
      return claim;
    }
    head->status = OutboxState::inflight;
    head->lease_token = new_ulid();
    head->lease_until = TimeMs{now.value + terms.lease_ms};
    head->first_sent_at = head->first_sent_at.value_or(terms.broker_now);
    HOLDFAST_CHECK(
        transaction.sql.execute(kTake, {head->id, head->lease_token, head->lease_until->value,
                                        now.value, head->first_sent_at->value}));
    HOLDFAST_CHECK(transaction.reach(OutboxFault::claimed));
    claim.entry = std::move(head);
    return claim;
  }
}

Result<Completed> Outbox::complete(const OutboxEntry& claimed, const Completion& completion) {
  return transact<Completed>([&](OutboxTransaction& transaction) {
    return complete_in(transaction, claimed, completion);
  });
}

Result<Outbox::Finished> Outbox::complete_and_claim(const OutboxEntry& claimed,
                                                    const Completion& completion,
                                                    const ClaimTerms& terms) {
  return transact<Finished>([&](OutboxTransaction& transaction) -> Result<Finished> {
    Finished finished;
    HOLDFAST_TRY(finished.completed, complete_in(transaction, claimed, completion));
    HOLDFAST_TRY(finished.next, claim_in(transaction, lane_of(claimed), terms));
    return finished;
  });
}

Result<Completed> Outbox::complete_in(OutboxTransaction& transaction, const OutboxEntry& claimed,
                                      const Completion& completion) {
  SqlSession& sql = transaction.sql;
  std::uint64_t changed = 0;
  switch (completion.effect.row) {
    case RowOutcome::done: {
      HOLDFAST_TRY(changed, mark_done(sql, claimed, completion, clock_.now()));
      transaction.waiting -= changed;
      break;
    }
    case RowOutcome::dead: {
      HOLDFAST_TRY(changed, mark_dead(sql, claimed, completion));
      transaction.waiting -= changed;
      break;
    }
    case RowOutcome::pending: {
      HOLDFAST_TRY(changed, mark_pending(sql, claimed, completion, clock_.now()));
      break;
    }
  }
  HOLDFAST_CHECK(transaction.reach(OutboxFault::completed));
  if (changed == 1) {
    return Completed::applied;
  }
  if (completion.effect.row == RowOutcome::done) {
    HOLDFAST_CHECK(sql.execute(kLateId, {claimed.id, completion.broker_message_id}));
  }
  return Completed::fenced;
}

Result<std::uint64_t> Outbox::release_expired_leases() {
  return transact<std::uint64_t>([&](OutboxTransaction& transaction) {
    return transaction.sql.execute(kReleaseExpired, {clock_.now().value});
  });
}

}  // namespace holdfast::delivery
