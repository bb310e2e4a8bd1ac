#include "delivery/broker/broker.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/names.h"
#include "delivery/broker/refusal_detail.h"
#include "holdfast/assert.h"

namespace holdfast::delivery {

namespace {

constexpr std::uint64_t kMaxJitterMs = 1000;

std::vector<Result<LookupResult>> look_up_group(BrokerStore& store,
                                                const std::vector<LookupKey>& keys) {
  std::vector<LookupResult> found;
  const auto done = store.read([&](SqlSession& session) -> Result<void> {
    HOLDFAST_TRY(found, look_up(session, keys));
    return {};
  });
  if (!done.ok()) {
    return std::vector<Result<LookupResult>>(keys.size(), done.error());
  }
  return {std::make_move_iterator(found.begin()), std::make_move_iterator(found.end())};
}

// What the store cannot do is never a 4xx: a daemon would give the message up.
Error store_error(Error error) {
  if (error_info(error.code()).http_status >= 500) {
    return error;
  }
  if (error.code() == ErrorCode::conflict) {
    return rejected(Rejection::broker_busy, error.text());
  }
  return Error{ErrorCode::io_error, error.text()}.with(error.what_next());
}

TimeMs expiry(const Workspace& workspace, TimeMs now) {
  return workspace.dedupe.mode == DedupeMode::permanent
             ? TimeMs{0}
             : TimeMs{now.value + std::int64_t{workspace.dedupe.retention_days} * kDayMs};
}

}  // namespace

// What is known about one request on its way.
struct Broker::Examined {
  AcceptKnowledge knowledge;
  TimeMs now;
  LookupKey key;
  LookupResult found;
  std::optional<Message> message;
  std::optional<Error> invalid;  // of the request itself
  BudgetAnswer budget;
  bool charged = false;  // the limiter was consulted
  std::optional<AcceptOutcome> outcome;

  [[nodiscard]] LimitedWorkspace limited() const {
    return {found.workspace.mesh_id, found.workspace.rate_limit_per_window,
            found.workspace.window_seconds};
  }
  [[nodiscard]] Digest marker() const {
    return marker_key(found.workspace.mesh_id, found.member_id, message->id.text(),
                      message->fingerprint);
  }
  // The dedupe row that an answer is about.
  [[nodiscard]] const DedupeRecord& record() const {
    return outcome.has_value() ? outcome->record : *found.dedupe;
  }
};

Broker::Broker(BrokerStore& store, RateLimiter& limiter, Clock& clock, Random& random)
    : store_(store),
      limiter_(limiter),
      clock_(clock),
      random_(random),
      lookups_([this](const std::vector<LookupKey>& keys) { return look_up_group(store_, keys); }),
      accepts_([this](const std::vector<AcceptRow>& rows) { return store_.accept(rows); }) {}

Result<AcceptReply> Broker::accept(std::string_view token, const MessageRequest& request) {
  auto reply = decide(token, request);
  if (!reply.ok() && !rejection_of(reply.error()).has_value()) {
    ++counters_.error;
    return store_error(std::move(reply).error());
  }
  return reply;
}

Result<AcceptReply> Broker::decide(std::string_view token, const MessageRequest& request) {
  Examined examined;
  examined.now = clock_.now();
  examined.key = {request.mesh, sha256(token), request.client_message_id};
  const KeyLocks::Held held = keys_.hold(fmt::format(
      "{}/{}/{}", request.mesh, to_hex(examined.key.token_hash), request.client_message_id));
  for (;;) {
    const AcceptNext next = decide_accept(examined.knowledge);
    if (const auto* decided = std::get_if<AcceptAnswer>(&next)) {
      return answer(examined, *decided);
    }
    HOLDFAST_CHECK(find_out(std::get<AcceptStep>(next), request, examined));
    if (examined.outcome.has_value()) {
      return answer(examined, examined.outcome->answer);
    }
  }
}

Result<void> Broker::find_out(AcceptStep step, const MessageRequest& request, Examined& examined) {
  AcceptKnowledge& knowledge = examined.knowledge;
  switch (step) {
    case AcceptStep::authenticate: {
      // A name that is not one is the name of nothing, and an id that is not one has no row:
      // neither reaches the database.
      LookupKey key = examined.key;
      key.slug = is_name(key.slug) ? key.slug : "";
      key.client_message_id =
          ClientMessageId::parse(key.client_message_id).ok() ? key.client_message_id : "";
      HOLDFAST_TRY(examined.found, lookups_.run(std::move(key)));
      knowledge.caller = examined.found.caller;
      return {};
    }
    case AcceptStep::check_request: {
      auto checked = check_message(request, examined.found.workspace.body_form);
      knowledge.request.emplace();
      if (checked.ok()) {
        examined.message = std::move(checked).value();
      } else {
        examined.invalid = std::move(checked).error();
        *knowledge.request = rejection_of(*examined.invalid).value_or(Rejection::invalid_request);
      }
      return {};
    }
    case AcceptStep::read_dedupe:
      knowledge.known = !examined.found.dedupe.has_value() ? KnownState::absent
                        : examined.found.dedupe->fingerprint == examined.message->fingerprint
                            ? KnownState::match
                            : KnownState::mismatch;
      return knowledge.known == KnownState::absent ? store_.reach(FaultPoint::dedupe_read)
                                                   : Result<void>();
    case AcceptStep::check_size:
      knowledge.size =
          examined.message->envelope.body.size() <= examined.found.workspace.max_inline_bytes
              ? SizeState::fits
              : SizeState::too_large;
      return {};
    case AcceptStep::check_age:
      knowledge.age = examined.message->first_sent_at.has_value() &&
                              is_stale_retry(*examined.message->first_sent_at, examined.now,
                                             examined.found.workspace.dedupe)
                          ? AgeState::stale
                          : AgeState::fresh;
      return {};
    case AcceptStep::consume_budget:
      consume_budget(examined);
      return store_.reach(FaultPoint::budget_consumed);
    case AcceptStep::claim:
      return commit(examined);
    case AcceptStep::check_destination:
      break;  // only inside the transaction
  }
  HOLDFAST_ASSERT(false);
  return {};
}

void Broker::consume_budget(Examined& examined) {
  const LimitedWorkspace limited = examined.limited();
  if (limited.limit == 0) {
    examined.knowledge.budget = BudgetState::admitted;
    return;
  }
  examined.charged = true;
  examined.budget = limiter_.consume(limited, examined.marker(), examined.now);
  switch (examined.budget.state) {
    case BudgetAnswer::State::admitted:
      examined.knowledge.budget = BudgetState::admitted;
      return;
    case BudgetAnswer::State::denied:
      examined.knowledge.budget = BudgetState::denied;
      ++counters_.rate_limit_rejection;
      return;
    case BudgetAnswer::State::unavailable:
      examined.knowledge.budget = BudgetState::unavailable;
      ++counters_.limiter_error;
      return;
  }
}

Result<void> Broker::commit(Examined& examined) {
  AcceptRow row{.mesh_id = examined.found.workspace.mesh_id,
                .sender_member_id = examined.found.member_id,
                .broker_message_id = next_id(examined.now).text(),
                .history_id = next_id(examined.now).text(),
                .now = examined.now,
                .expires_at = expiry(examined.found.workspace, examined.now),
                .message = *examined.message,
                .knowledge = examined.knowledge};
  HOLDFAST_TRY(examined.outcome, accepts_.run(std::move(row)));
  return {};
}

Ulid Broker::next_id(TimeMs now) {
  std::array<std::byte, 10> entropy{};
  const std::lock_guard lock(id_mutex_);
  random_.fill(entropy);
  return ids_.next(now, entropy);
}

Result<AcceptReply> Broker::answer(const Examined& examined, const AcceptAnswer& decided) {
  if (decided.phase == AcceptPhase::b0) {
    ++counters_.b0_hit;
  }
  if (const auto* refused = std::get_if<Refused>(&decided.answer)) {
    return refuse(examined, decided.phase, refused->rejection);
  }
  const bool duplicate = std::holds_alternative<Duplicate>(decided.answer);
  ++(duplicate ? counters_.duplicate : counters_.created);
  const DedupeRecord& record = examined.record();
  return AcceptReply{
      .duplicate = duplicate,
      .broker_message_id = record.broker_message_id,
      .client_message_id = examined.message->id.text(),
      .history_id = record.history_id,
      .history_available = record.history_available,
      .first_seen_at = record.first_seen_at,
      .fanout_count = examined.outcome.has_value() ? examined.outcome->fanout_count : 0};
}

Error Broker::refuse(const Examined& examined, AcceptPhase phase, Rejection rejection) {
  Error error = rejected(
      rejection,
      refusal_detail(rejection,
                     {.slug = examined.key.slug,
                      .workspace = examined.found.workspace,
                      .message = examined.message.has_value() ? &*examined.message : nullptr}));
  if (rejection == Rejection::idempotency_key_reused) {
    ++counters_.conflict;
    return std::move(error)
        .with("conflict", "request_fingerprint_mismatch")
        .with("client_message_id", examined.message->id.text())
        .with("broker_fingerprint_prefix", fingerprint_prefix(examined.record().fingerprint));
  }
  if (phase == AcceptPhase::b2) {
    ++counters_.b2_rejected;
    if (examined.charged) {
      ++counters_.consumed_then_b2_rejected;
      limiter_.note_refused(examined.limited(), examined.marker(), examined.now);
    }
    return error;
  }
  ++counters_.b1_rejected;
  if (examined.invalid.has_value()) {
    return *examined.invalid;
  }
  if (rejection == Rejection::rate_limited) {
    const std::lock_guard lock(id_mutex_);
    const std::uint64_t jitter_ms = random_.below(kMaxJitterMs);
    return std::move(error).with(
        "retry_after_ms", static_cast<std::uint64_t>(examined.budget.retry_after_ms) + jitter_ms);
  }
  return error;
}

}  // namespace holdfast::delivery
