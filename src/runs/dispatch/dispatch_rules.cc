#include "runs/dispatch/dispatch_rules.h"

#include "runs/dispatch/dispatch_projection.h"

namespace holdfast {

namespace {

using Reason = DispatchReason;

bool ended(const QueuedRun* run) { return run != nullptr && run->terminal; }

// All but the input.
bool alike(const Attempt& known, const AttemptScheduled& fact) {
  const AttemptExtras none;
  const AttemptExtras& extras = known.extras ? *known.extras : none;
  return known.run_id == fact.run_id && known.idempotency_key == fact.idempotency_key &&
         known.attempt_number == fact.attempt_number && known.step == fact.step &&
         known.visible_at == fact.visible_at &&
         extras.event_wait_timeout == fact.event_wait_timeout && extras.deadline == fact.deadline &&
         extras.timeout == fact.policy.timeout && known.circuit == fact.policy.circuit;
}

bool same_intent(const Attempt& known, const AttemptScheduled& fact) {
  return alike(known, fact) && known.has_input(fact.input);
}

// A retry has the input of the attempt that failed, which may not be in memory.
bool same_input(const Attempt& left, const Attempt& right) {
  if (left.stored_input() != nullptr && right.stored_input() != nullptr) {
    return left.stored_input()->digest == right.stored_input()->digest;
  }
  return left.stored_input() != nullptr ? left.has_input(right.input) : right.has_input(left.input);
}

// What holds for every fact about an attempt. On success `attempt` is set.
template <typename Fact>
Verdict judge_known(const DispatchProjection& state, const Fact& fact, const Attempt*& attempt) {
  const QueuedRun* run = state.find_run(fact.run_id);
  attempt = state.find(fact.runnable_key.view());
  if (attempt == nullptr || attempt->run_id != fact.run_id) {
    return Verdict::refuse(Reason::unknown_runnable_intent);
  }
  if (ended(run)) {
    return Verdict::refuse(Reason::terminal_run);
  }
  return Verdict::accept();
}

// Heartbeat, completion and failure count only with the current claim and within its lease.
template <typename Fact>
Verdict judge_claim(const Attempt& attempt, TimeMs at, const Fact& fact) {
  if (attempt.status != AttemptStatus::claimed || attempt.applied ||
      !attempt.holds(fact.claim_id, fact.claim_token_hash)) {
    return Verdict::refuse(Reason::stale_claim);
  }
  if (attempt.claim->lease_until <= at) {
    return Verdict::refuse(Reason::expired_claim);
  }
  return Verdict::accept();
}

bool refused(const Verdict& verdict) { return verdict.kind == Verdict::Kind::refuse; }

template <typename Fact>
bool in_queue(const DispatchProjection& state, const Fact& fact) {
  return fact.queue == state.queue();
}

}  // namespace

Verdict judge(const DispatchProjection& state, TimeMs /*at*/, const RunQueued& fact) {
  if (!in_queue(state, fact)) {
    return Verdict::refuse(Reason::malformed_entry);
  }
  const QueuedRun* run = state.find_run(fact.run_id);
  return run != nullptr && run->queued ? Verdict::repeat() : Verdict::accept();
}

Verdict judge(const DispatchProjection& state, TimeMs /*at*/, const AttemptScheduled& fact) {
  if (!in_queue(state, fact)) {
    return Verdict::refuse(Reason::malformed_entry);
  }
  const QueuedRun* run = state.find_run(fact.run_id);
  if (ended(run)) {
    return Verdict::refuse(Reason::terminal_run);
  }
  const Attempt* known = state.find(fact.runnable_key.view());
  if (known == nullptr) {
    return Verdict::accept();
  }
  return same_intent(*known, fact) ? Verdict::repeat()
                                   : Verdict::refuse(Reason::conflicting_runnable_intent);
}

Verdict judge(const DispatchProjection& state, TimeMs at, const AttemptClaimed& fact) {
  if (!in_queue(state, fact)) {
    return Verdict::refuse(Reason::malformed_entry);
  }
  const Attempt* attempt = nullptr;
  if (const Verdict verdict = judge_known(state, fact, attempt); refused(verdict)) {
    return verdict;
  }
  if (attempt->ended() || attempt->applied) {
    return Verdict::refuse(Reason::terminal_attempt);
  }
  if (attempt->status == AttemptStatus::claimed && attempt->claim->lease_until > at) {
    return Verdict::refuse(Reason::active_claim);
  }
  if (at < attempt->visible_at) {
    return Verdict::refuse(Reason::attempt_not_visible);
  }
  // A claim must end after it starts.
  if (fact.lease_until <= at) {
    return Verdict::refuse(Reason::malformed_entry);
  }
  return Verdict::accept();
}

Verdict judge(const DispatchProjection& state, TimeMs at, const AttemptHeartbeat& fact) {
  if (!in_queue(state, fact)) {
    return Verdict::refuse(Reason::malformed_entry);
  }
  const Attempt* attempt = nullptr;
  const Verdict verdict = judge_known(state, fact, attempt);
  return refused(verdict) ? verdict : judge_claim(*attempt, at, fact);
}

Verdict judge(const DispatchProjection& state, TimeMs at, const AttemptCompleted& fact) {
  if (!in_queue(state, fact)) {
    return Verdict::refuse(Reason::malformed_entry);
  }
  const Attempt* attempt = nullptr;
  if (const Verdict verdict = judge_known(state, fact, attempt); refused(verdict)) {
    return verdict;
  }
  if (attempt->status == AttemptStatus::completed &&
      attempt->holds(fact.claim_id, fact.claim_token_hash)) {
    const bool same = attempt->outcome->has_result(fact.result);
    return same ? Verdict::repeat() : Verdict::refuse(Reason::conflicting_completion);
  }
  return judge_claim(*attempt, at, fact);
}

Verdict judge(const DispatchProjection& state, TimeMs at, const AttemptFailed& fact) {
  if (!in_queue(state, fact)) {
    return Verdict::refuse(Reason::malformed_entry);
  }
  const Attempt* attempt = nullptr;
  if (const Verdict verdict = judge_known(state, fact, attempt); refused(verdict)) {
    return verdict;
  }
  if (const Verdict verdict = judge_claim(*attempt, at, fact); refused(verdict)) {
    return verdict;
  }
  if (!fact.retry_runnable_key.empty()) {
    const Attempt* retry = state.find(fact.retry_runnable_key.view());
    if (retry != nullptr &&
        !(alike(*retry, retry_intent(*attempt, fact)) && same_input(*retry, *attempt))) {
      return Verdict::refuse(Reason::conflicting_runnable_intent);
    }
  }
  return Verdict::accept();
}

Verdict judge(const DispatchProjection& state, TimeMs /*at*/, const LiveWakeupEmitted& fact) {
  if (!in_queue(state, fact)) {
    return Verdict::refuse(Reason::malformed_entry);
  }
  const Attempt* attempt = nullptr;
  return judge_known(state, fact, attempt);
}

Verdict judge(const DispatchProjection& state, TimeMs /*at*/, const ResultApplied& fact) {
  const Attempt* attempt = state.find(fact.runnable_key.view());
  if (attempt == nullptr || attempt->run_id != fact.run_id) {
    return Verdict::refuse(Reason::unknown_runnable_intent);
  }
  if (attempt->applied) {
    return Verdict::repeat();
  }
  if (ended(state.find_run(fact.run_id))) {
    return Verdict::refuse(Reason::terminal_run);
  }
  const bool completed = attempt->status == AttemptStatus::completed;
  const bool routed_failure = attempt->status == AttemptStatus::failed && fact.routed;
  const bool timer =
      attempt->is_timer() || (attempt->extras && !attempt->extras->event_wait_timeout.empty());
  const bool withdrawn = fact.withdrawn && !attempt->ended();
  return completed || routed_failure || timer || withdrawn
             ? Verdict::accept()
             : Verdict::refuse(Reason::result_not_completed);
}

AttemptScheduled retry_intent(const Attempt& failed, const AttemptFailed& fact) {
  AttemptScheduled intent;
  intent.run_id = failed.run_id;
  intent.runnable_key = fact.retry_runnable_key;
  intent.idempotency_key =
      fact.retry_idempotency_key.empty() ? fact.retry_runnable_key : fact.retry_idempotency_key;
  intent.attempt_number = failed.attempt_number + 1;
  intent.queue = fact.queue;
  intent.step = failed.step;
  intent.handler = failed.handler;
  intent.workflow = failed.workflow;
  intent.input = failed.input;
  intent.policy = failed.policy();
  intent.visible_at = fact.retry_visible_at.value_or(TimeMs{});
  intent.deadline = fact.retry_deadline;
  intent.trace = fact.retry_trace;
  return intent;
}

}  // namespace holdfast
