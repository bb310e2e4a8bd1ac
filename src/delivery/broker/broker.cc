#include "delivery/broker/broker.h"

#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "base/names.h"
#include "delivery/broker/refusal_detail.h"
#include "holdfast/assert.h"

namespace holdfast::delivery {

namespace {

constexpr std::uint64_t kMaxJitterMs = 1000;

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

// What a message is looked up by. A name that is not one is the name of nothing, and an id that is
// not one has no row: neither reaches the database.
LookupKey key_of(const AcceptCall& call) {
  const MessageRequest& request = *call.request;
  return {is_name(request.mesh) ? request.mesh : "", sha256(call.token),
          ClientMessageId::parse(request.client_message_id).ok() ? request.client_message_id : ""};
}

}  // namespace

// What is known about one call on its way.
struct Broker::Examined {
  Examined(const AcceptCall& call, TimeMs time)
      : request(*call.request), now(time), key(key_of(call)) {}

  const MessageRequest& request;
  TimeMs now;
  LookupKey key;
  AcceptKnowledge knowledge = {};
  LookupResult found = {};
  std::optional<Message> message = {};
  std::optional<Error> invalid = {};  // of the request itself
  BudgetAnswer budget = {};
  bool charged = false;  // the limiter was consulted
  std::optional<AcceptOutcome> outcome = {};
  std::optional<Result<AcceptReply>> reply = {};

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
    : store_(store), limiter_(limiter), clock_(clock), random_(random) {}

Result<AcceptReply> Broker::accept(std::string_view token, const MessageRequest& request) {
  const AcceptCall call{token, &request};
  return std::move(accept_group({&call, 1}).front());
}

std::vector<Result<AcceptReply>> Broker::accept_group(std::span<const AcceptCall> calls) {
  const std::lock_guard lock(mutex_);
  const TimeMs now = clock_.now();
  std::vector<Examined> all;
  all.reserve(calls.size());
  Open open;
  for (const AcceptCall& call : calls) {
    open.push_back(&all.emplace_back(call, now));
  }
  while (!open.empty()) {
    run_round(open);
    const std::size_t before = open.size();
    std::erase_if(open, [](const Examined* examined) { return examined->reply.has_value(); });
    HOLDFAST_ASSERT(open.size() < before);
  }
  std::vector<Result<AcceptReply>> replies;
  replies.reserve(all.size());
  for (Examined& examined : all) {
    replies.push_back(*std::move(examined.reply));
  }
  return replies;
}

// Of the calls with the same id that is not known, one continues in a round: in the next the others
// find its row, or that it left none.
void Broker::run_round(const Open& open) {
  if (!look_up_all(open)) {
    return;
  }
  std::set<std::tuple<std::string_view, std::string_view, std::string_view>> taken;
  Open fresh;
  for (Examined* const examined : open) {
    if (examine(*examined) && taken
                                  .emplace(examined->found.workspace.mesh_id,
                                           examined->found.member_id, examined->message->id.text())
                                  .second) {
      fresh.push_back(examined);
    }
  }
  if (!fresh.empty()) {
    consume_budgets(fresh, fresh.front()->now);
    commit(fresh);
  }
}

// False: the store could not be read, and all have its error.
bool Broker::look_up_all(const Open& open) {
  std::vector<LookupKey> keys;
  keys.reserve(open.size());
  for (const Examined* const examined : open) {
    keys.push_back(examined->key);
  }
  std::vector<LookupResult> found;
  const auto done = store_.read_once([&](SqlSession& session) -> Result<void> {
    HOLDFAST_TRY(found, look_up(session, keys));
    return {};
  });
  for (std::size_t i = 0; i < open.size(); ++i) {
    Examined& examined = *open[i];
    if (!done.ok()) {
      conclude(examined, done.error());
      continue;
    }
    examined.found = std::move(found[i]);
    AcceptKnowledge knowledge;
    knowledge.caller = examined.found.caller;
    knowledge.request = examined.knowledge.request;  // of an earlier round
    examined.knowledge = knowledge;
  }
  return done.ok();
}

// Up to the limiter. False: the call has its reply.
bool Broker::examine(Examined& examined) {
  for (;;) {
    const AcceptNext next = decide_accept(examined.knowledge);
    if (const auto* decided = std::get_if<AcceptAnswer>(&next)) {
      conclude(examined, *decided);
      return false;
    }
    const AcceptStep step = std::get<AcceptStep>(next);
    if (step == AcceptStep::consume_budget) {
      return true;
    }
    if (auto done = find_out(step, examined); !done.ok()) {
      conclude(examined, std::move(done).error());
      return false;
    }
  }
}

Result<void> Broker::find_out(AcceptStep step, Examined& examined) {
  AcceptKnowledge& knowledge = examined.knowledge;
  switch (step) {
    case AcceptStep::check_request: {
      auto checked = check_message(examined.request, examined.found.workspace.body_form);
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
    case AcceptStep::authenticate:
    case AcceptStep::consume_budget:
    case AcceptStep::claim:
    case AcceptStep::check_destination:
      break;  // of all calls together
  }
  HOLDFAST_ASSERT(false);
  return {};
}

void Broker::consume_budgets(const Open& open, TimeMs now) {
  std::vector<LimitedMessage> limited;
  for (Examined* const examined : open) {
    examined->charged = examined->found.workspace.rate_limit_per_window != 0;
    if (examined->charged) {
      limited.push_back({examined->limited(), examined->marker()});
    }
  }
  const std::vector<BudgetAnswer> answers =
      limited.empty() ? std::vector<BudgetAnswer>() : limiter_.consume_each(limited, now);
  HOLDFAST_ASSERT(answers.size() == limited.size());
  std::size_t next = 0;
  for (Examined* const examined : open) {
    examined->budget =
        examined->charged ? answers[next++] : BudgetAnswer{BudgetAnswer::State::admitted, 0};
    switch (examined->budget.state) {
      case BudgetAnswer::State::admitted:
        examined->knowledge.budget = BudgetState::admitted;
        break;
      case BudgetAnswer::State::denied:
        examined->knowledge.budget = BudgetState::denied;
        ++counters_.rate_limit_rejection;
        break;
      case BudgetAnswer::State::unavailable:
        examined->knowledge.budget = BudgetState::unavailable;
        ++counters_.limiter_error;
        break;
    }
  }
}

// What the limiter has admitted, in one transaction.
void Broker::commit(const Open& open) {
  Open sent;
  std::vector<AcceptRow> rows;
  for (Examined* const examined : open) {
    if (auto done = store_.reach(FaultPoint::budget_consumed); !done.ok()) {
      conclude(*examined, std::move(done).error());
      continue;
    }
    const AcceptNext next = decide_accept(examined->knowledge);
    if (const auto* decided = std::get_if<AcceptAnswer>(&next)) {
      conclude(*examined, *decided);
      continue;
    }
    sent.push_back(examined);
    rows.push_back({.mesh_id = examined->found.workspace.mesh_id,
                    .sender_member_id = examined->found.member_id,
                    .broker_message_id = next_id(examined->now).text(),
                    .history_id = next_id(examined->now).text(),
                    .now = examined->now,
                    .expires_at = expiry(examined->found.workspace, examined->now),
                    .message = *examined->message,
                    .knowledge = examined->knowledge});
  }
  if (rows.empty()) {
    return;
  }
  std::vector<Result<AcceptOutcome>> outcomes = store_.accept(rows);
  HOLDFAST_ASSERT(outcomes.size() == sent.size());
  for (std::size_t i = 0; i < sent.size(); ++i) {
    if (outcomes[i].ok()) {
      sent[i]->outcome = std::move(outcomes[i]).value();
      conclude(*sent[i], sent[i]->outcome->answer);
    } else {
      conclude(*sent[i], std::move(outcomes[i]).error());
    }
  }
}

Ulid Broker::next_id(TimeMs now) {
  std::array<std::byte, 10> entropy{};
  random_.fill(entropy);
  return ids_.next(now, entropy);
}

void Broker::conclude(Examined& examined, Result<AcceptReply> reply) {
  if (!reply.ok() && !rejection_of(reply.error()).has_value()) {
    ++counters_.error;
    examined.reply = store_error(std::move(reply).error());
  } else {
    examined.reply = std::move(reply);
  }
}

void Broker::conclude(Examined& examined, const AcceptAnswer& decided) {
  if (decided.phase == AcceptPhase::b0) {
    ++counters_.b0_hit;
  }
  if (const auto* refused = std::get_if<Refused>(&decided.answer)) {
    examined.reply = refuse(examined, decided.phase, refused->rejection);
    return;
  }
  const bool duplicate = std::holds_alternative<Duplicate>(decided.answer);
  ++(duplicate ? counters_.duplicate : counters_.created);
  const DedupeRecord& record = examined.record();
  examined.reply = AcceptReply{
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
    const std::uint64_t jitter_ms = random_.below(kMaxJitterMs);
    return std::move(error).with(
        "retry_after_ms", static_cast<std::uint64_t>(examined.budget.retry_after_ms) + jitter_ms);
  }
  return error;
}

}  // namespace holdfast::delivery
