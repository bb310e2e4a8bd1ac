#include "runs/lease_adapter/lease_commands.h"

#include <algorithm>

#include "base/hash.h"
#include "runs/engine/stored_payloads.h"
#include "runs/engine/worker_pool.h"
#include "runs/lease_backends/lease_messages.h"
#include "runs/service/engine_handlers.h"
#include "runs/service/work_outcomes.h"
#include "runs/steps/step_outcome.h"

namespace holdfast {

namespace {

using Verdict = LeaseAnswer::Verdict;

bool is_alive(const DispatchProjection& queue, const Attempt& attempt) {
  const QueuedRun* run = queue.find_run(attempt.run_id);
  return !attempt.is_timer() && !attempt.ended() && !attempt.applied &&
         (run == nullptr || !run->terminal);
}

LiveItem item_of(const DispatchProjection& queue, const Attempt& attempt, TimeMs now) {
  LiveItem item{attempt.runnable_key, attempt.visible_at};
  if (attempt.status == AttemptStatus::claimed) {
    item.lease_until = attempt.claim->lease_until;
  } else {
    item.held_back = queue.held_back_until(attempt, now).has_value();
  }
  return item;
}

// nullptr: nothing was ever scheduled there. To look must not create it.
const DispatchProjection* find_queue(Turn& turn, const SharedText& name) {
  const auto& all = turn.state().queues().all();
  const auto known = all.find(name);
  return known == all.end() ? nullptr : known->second.get();
}

// The attempt, unless it or its run has ended.
const Attempt* find_alive(Turn& turn, const SharedText& queue, std::string_view key) {
  const DispatchProjection* projection = find_queue(turn, queue);
  const Attempt* attempt = projection == nullptr ? nullptr : projection->find(key);
  return attempt != nullptr && is_alive(*projection, *attempt) ? attempt : nullptr;
}

std::uint64_t lease_of(const Attempt& attempt) {
  return attempt.options.lease_ms == 0 ? kDefaultLeaseMs : attempt.options.lease_ms;
}

// One signal at a time; what it emits is taken back if it is refused.
class SignalTurn {
 public:
  SignalTurn(Turn& turn, const SharedText& queue, const LeaseSignal& signal,
             const EngineApplicant& engine)
      : turn_(turn),
        queue_(queue),
        signal_(signal),
        engine_(engine),
        fence_{SharedText(signal.claim_id), sha256(signal.token)} {}

  Result<SignalOutcome> decide() {
    const Attempt* attempt = find_alive(turn_, queue_, signal_.item_id);
    SignalVerdict verdict = judge_signal(attempt, signal_.kind, fence_, turn_.now());
    if (verdict.action == SignalAction::claim) {
      const auto until = turn_.state().queues().get(queue_).held_back_until(*attempt, turn_.now());
      verdict = until.has_value() ? SignalVerdict{SignalAction::wait, until} : verdict;
      outcome_.held_back = until.has_value();
    }
    outcome_.action = verdict.action;
    switch (verdict.action) {
      case SignalAction::claim:
        HOLDFAST_CHECK(claim());
        grant();
        break;
      case SignalAction::grant_again:
        grant();
        break;
      case SignalAction::refuse:
        answer(Verdict::refused);
        outcome_.remove = true;
        break;
      case SignalAction::wait:
        answer(Verdict::refused);
        outcome_.visible_at = verdict.until;
        break;
      case SignalAction::claim_extend:
        HOLDFAST_CHECK(claim());
        HOLDFAST_CHECK(extend());
        break;
      case SignalAction::extend:
        HOLDFAST_CHECK(extend());
        break;
      case SignalAction::lost:
        answer(Verdict::lost);
        break;
      case SignalAction::claim_end:
        HOLDFAST_CHECK(claim());
        HOLDFAST_CHECK(store_report(*attempt));
        break;
      case SignalAction::end:
        HOLDFAST_CHECK(store_report(*attempt));
        break;
      case SignalAction::give_back:
        HOLDFAST_CHECK(give_back(*attempt));
        break;
      case SignalAction::fail:
        HOLDFAST_CHECK(fail_dead_letter());
        break;
      case SignalAction::ignore:
        outcome_.remove = attempt == nullptr;
        break;
    }
    return std::move(outcome_);
  }

 private:
  [[nodiscard]] const Attempt& attempt() const {
    return *turn_.state().queues().get(queue_).find(signal_.item_id);
  }
  [[nodiscard]] ClaimProof proof() const {
    return {attempt().run_id, attempt().runnable_key, fence_.claim_id, fence_.token_hash};
  }

  void answer(Verdict verdict) {
    LeaseAnswer& given = outcome_.answer.emplace();
    given.claim_id = signal_.claim_id;
    given.verdict = verdict;
  }
  void grant() {
    answer(Verdict::granted);
    outcome_.answer->lease_ms = lease_of(attempt());
    outcome_.answer->progress = attempt().claim->progress.view();
  }

  Result<void> claim_as(const Claimant& claimant) {
    HOLDFAST_TRY(const AttemptClaimed fact, decide_claim(turn_.state().queues().get(queue_),
                                                         signal_.item_id, claimant, turn_.now()));
    return emit_claim(turn_, queue_, fact);
  }
  Result<void> claim() {
    return claim_as({fence_.claim_id, fence_.token_hash, SharedText(signal_.worker), {}});
  }

  Result<void> extend() {
    const auto progress = JsonText::parse(signal_.body);
    HOLDFAST_CHECK(
        heartbeat(turn_, proof(), progress.ok() ? Payload(progress.value()) : Payload()));
    const auto run = turn_.state().runs().get(attempt().run_id);
    if (run.ok() && run.value()->is_compensating()) {
      answer(Verdict::stop);
    }
    return {};
  }

  Result<void> store_report(const Attempt& held) {
    const Report report = report_of(signal_, held.run_id);
    HOLDFAST_CHECK(report_outcome(turn_, proof(), outcome_of(report)));
    outcome_.remove = true;
    return {};
  }

  // The lease ends with the delay, without an attempt spent.
  Result<void> give_back(const Attempt& held) {
    const std::int64_t delay_ms =
        std::clamp<std::int64_t>(signal_.delay_ms, 1, static_cast<std::int64_t>(kMaxLeaseMs));
    AttemptHeartbeat fact;
    fact.run_id = held.run_id;
    fact.runnable_key = held.runnable_key;
    fact.claim_id = fence_.claim_id;
    fact.claim_token_hash = fence_.token_hash;
    fact.queue = queue_;
    fact.progress = held.claim->progress;
    fact.lease_until = TimeMs{turn_.now().value + delay_ms};
    outcome_.visible_at = fact.lease_until;
    return turn_.emit(queue_, fact);
  }

  // The engine claims the attempt to state how it ended.
  Result<void> fail_dead_letter() {
    const Applicant engine = engine_();
    HOLDFAST_CHECK(claim_as(engine.claimant));
    const ClaimProof held{attempt().run_id, attempt().runnable_key, engine.claimant.claim_id,
                          engine.claimant.token_hash};
    const Failure failure = step_failure(
        "dead_letter", "the backend delivered the attempt too often, and no worker ended it", true);
    HOLDFAST_CHECK(fail_attempt(turn_, held, failure));
    outcome_.remove = true;
    return {};
  }

  Turn& turn_;
  const SharedText& queue_;
  const LeaseSignal& signal_;
  const EngineApplicant& engine_;
  SignalFence fence_;
  SignalOutcome outcome_;
};

// A rule that the verdict did not foresee: the worker must not continue.
SignalOutcome refused_outcome(const LeaseSignal& signal) {
  SignalOutcome outcome;
  LeaseAnswer& given = outcome.answer.emplace();
  given.claim_id = signal.claim_id;
  given.verdict = signal.kind == SignalKind::claim ? Verdict::refused : Verdict::lost;
  return outcome;
}

}  // namespace

std::vector<LiveItem> live_items(Turn& turn, const SharedText& queue) {
  std::vector<LiveItem> items;
  const DispatchProjection* projection = find_queue(turn, queue);
  if (projection == nullptr) {
    return items;
  }
  for (const Attempt* attempt : projection->attempts()) {
    if (is_alive(*projection, *attempt)) {
      items.push_back(item_of(*projection, *attempt, turn.now()));
    }
  }
  return items;
}

std::vector<LiveItem> live_items(Turn& turn, const SharedText& queue,
                                 const std::vector<SharedText>& keys) {
  std::vector<LiveItem> items;
  for (const SharedText& key : keys) {
    if (const Attempt* attempt = find_alive(turn, queue, key.view())) {
      items.push_back(item_of(*find_queue(turn, queue), *attempt, turn.now()));
    }
  }
  return items;
}

Result<std::vector<Assignment>> offers(Turn& turn, const SharedText& queue,
                                       const std::vector<SharedText>& keys) {
  std::vector<Assignment> found;
  for (const SharedText& key : keys) {
    if (const Attempt* attempt = find_alive(turn, queue, key.view())) {
      HOLDFAST_TRY(Assignment offer, assignment_of(turn, *attempt, queue));
      found.push_back(std::move(offer));
    }
  }
  return found;
}

Result<WorkItem> item_of(Journal& journal, Assignment offer, TimeMs visible_at) {
  HOLDFAST_CHECK(read_input(journal, offer));
  StepInfo info = info_of(offer);
  OfferedAttempt attempt;
  attempt.run_id = offer.run_id;
  attempt.workflow = std::move(info.workflow);
  attempt.step = std::move(info.step);
  attempt.handler = offer.handler;
  attempt.queue = std::move(info.queue);
  attempt.runnable_key = offer.runnable_key;
  attempt.idempotency_key = std::move(info.idempotency_key);
  attempt.attempt = info.attempt;
  attempt.visit_number = info.visit;
  attempt.item = info.item;
  attempt.input = offer.input;
  attempt.trace = offer.trace;
  attempt.spec = step_spec(offer);
  HOLDFAST_TRY(const JsonText payload, to_json(attempt));
  return WorkItem{offer.runnable_key.str(), offer.idempotency_key.str(), offer.handler.str(),
                  std::string(payload.view()), visible_at.value};
}

Result<std::vector<SignalOutcome>> carry_out(Turn& turn, const SharedText& queue,
                                             const std::vector<LeaseSignal>& signals,
                                             const EngineApplicant& engine) {
  std::vector<SignalOutcome> outcomes;
  for (const LeaseSignal& signal : signals) {
    const Turn::Mark mark = turn.mark();
    auto outcome = SignalTurn(turn, queue, signal, engine).decide();
    if (outcome.ok()) {
      outcomes.push_back(std::move(outcome).value());
      continue;
    }
    turn.roll_back_to(mark);
    if (is_of_store(outcome.error())) {
      return outcome.error();
    }
    outcomes.push_back(refused_outcome(signal));
  }
  return outcomes;
}

}  // namespace holdfast
