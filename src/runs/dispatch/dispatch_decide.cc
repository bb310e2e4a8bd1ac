#include "runs/dispatch/dispatch_decide.h"

#include <algorithm>

#include "holdfast/assert.h"

namespace holdfast {

namespace {

ErrorCode code_of(DispatchReason reason) {
  switch (reason) {
    case DispatchReason::malformed_entry:
      return ErrorCode::invalid_argument;
    case DispatchReason::terminal_run:
      return ErrorCode::terminal_run;
    case DispatchReason::conflicting_runnable_intent:
      return ErrorCode::conflicting_runnable_intent;
    case DispatchReason::unknown_runnable_intent:
      return ErrorCode::unknown_runnable_intent;
    case DispatchReason::terminal_attempt:
      return ErrorCode::terminal_attempt;
    case DispatchReason::active_claim:
      return ErrorCode::active_claim;
    case DispatchReason::attempt_not_visible:
      return ErrorCode::attempt_not_visible;
    case DispatchReason::stale_claim:
      return ErrorCode::stale_claim;
    case DispatchReason::expired_claim:
      return ErrorCode::expired_claim;
    case DispatchReason::conflicting_completion:
      return ErrorCode::conflicting_completion;
    case DispatchReason::result_not_completed:
      return ErrorCode::result_not_completed;
    case DispatchReason::wrong_circuit_state:
      return ErrorCode::invalid_transition;
  }
  return ErrorCode::invalid_argument;
}

template <typename Fact>
Error refusal(const Fact& fact, DispatchReason reason) {
  const ErrorCode code = code_of(reason);
  Error error = Error{code, std::string(error_info(code).line)}
                    .with("run_id", to_string(fact.run_id))
                    .with("reason", to_text(reason));
  const std::string kind(Fact::kKind);
  if constexpr (requires { fact.runnable_key; }) {
    return std::move(error)
        .with("runnable_key", fact.runnable_key.view())
        .in(kind + " of attempt " + fact.runnable_key.str());
  }
  return std::move(error).in(kind + " of run " + to_string(fact.run_id));
}

// The fact if it is new, nothing if it repeats what is known, or the refusal.
template <typename Fact>
Result<std::optional<Fact>> judged(const DispatchProjection& state, TimeMs now, Fact fact) {
  const Verdict verdict = judge(state, now, fact);
  switch (verdict.kind) {
    case Verdict::Kind::accept:
      return std::optional(std::move(fact));
    case Verdict::Kind::repeat:
      return std::optional<Fact>();
    case Verdict::Kind::refuse:
      break;
  }
  return refusal(fact, verdict.reason);
}

template <typename Fact>
Fact proven(const DispatchProjection& state, const ClaimProof& proof) {
  Fact fact;
  fact.run_id = proof.run_id;
  fact.runnable_key = proof.runnable_key;
  fact.claim_id = proof.claim_id;
  fact.claim_token_hash = proof.token_hash;
  fact.queue = state.queue();
  return fact;
}

Result<void> check_run(const DispatchProjection& state, const ClaimProof& proof) {
  const Attempt* attempt = state.find(proof.runnable_key.view());
  if (attempt != nullptr && attempt->run_id != proof.run_id) {
    return Error{ErrorCode::wrong_run, "attempt " + proof.runnable_key.str() + " belongs to run " +
                                           to_string(attempt->run_id)};
  }
  return {};
}

TimeMs lease_end(const Attempt& attempt, TimeMs now) {
  const std::uint64_t requested_ms =
      attempt.options.lease_ms == 0 ? kDefaultLeaseMs : attempt.options.lease_ms;
  const std::uint64_t lease_ms = std::min(requested_ms, kMaxLeaseMs);
  return TimeMs{now.value + static_cast<std::int64_t>(lease_ms)};
}

AttemptClaimed claim_of(const DispatchProjection& state, const Attempt& attempt,
                        const Claimant& claimant, TimeMs now) {
  AttemptClaimed fact;
  fact.run_id = attempt.run_id;
  fact.runnable_key = attempt.runnable_key;
  fact.claim_id = claimant.claim_id;
  fact.claim_token_hash = claimant.token_hash;
  fact.owner_id = claimant.owner_id;
  fact.queue = state.queue();
  fact.lease_until = lease_end(attempt, now);
  return fact;
}

}  // namespace

Result<std::optional<AttemptScheduled>> decide_schedule(const DispatchProjection& state,
                                                        const AttemptScheduled& intent,
                                                        TimeMs now) {
  if (intent.queue != state.queue()) {
    return Error{ErrorCode::wrong_queue, "attempt " + intent.runnable_key.str() +
                                             " belongs to queue " + intent.queue.str() +
                                             ", not to " + state.queue().str()};
  }
  return judged(state, now, intent);
}

std::optional<AttemptClaimed> decide_claim_next(const DispatchProjection& state,
                                                const Claimant& claimant, TimeMs now) {
  const Attempt* attempt = state.next_claimable(claimant.handlers, now);
  if (attempt == nullptr) {
    return std::nullopt;
  }
  auto claimed = judged(state, now, claim_of(state, *attempt, claimant, now));
  HOLDFAST_ASSERT(claimed.ok());  // D11
  return std::move(claimed).value();
}

Result<AttemptClaimed> decide_claim(const DispatchProjection& state, std::string_view runnable_key,
                                    const Claimant& claimant, TimeMs now) {
  const Attempt* attempt = state.find(runnable_key);
  if (attempt == nullptr) {
    return Error{ErrorCode::unknown_runnable_intent,
                 "attempt " + std::string(runnable_key) + " was not scheduled"};
  }
  HOLDFAST_TRY(auto fact, judged(state, now, claim_of(state, *attempt, claimant, now)));
  return *std::move(fact);
}

Result<AttemptHeartbeat> decide_heartbeat(const DispatchProjection& state, const ClaimProof& proof,
                                          TimeMs now, const Payload& progress) {
  HOLDFAST_CHECK(check_run(state, proof));
  auto fact = proven<AttemptHeartbeat>(state, proof);
  fact.progress = progress;
  if (const Attempt* attempt = state.find(proof.runnable_key.view())) {
    fact.lease_until = lease_end(*attempt, now);
  }
  HOLDFAST_TRY(auto accepted, judged(state, now, std::move(fact)));
  return *std::move(accepted);
}

Result<std::optional<AttemptCompleted>> decide_complete(const DispatchProjection& state,
                                                        const ClaimProof& proof,
                                                        const Completion& completion, TimeMs now) {
  HOLDFAST_CHECK(check_run(state, proof));
  auto fact = proven<AttemptCompleted>(state, proof);
  fact.result = completion.result;
  fact.execution_opts = completion.execution_opts;
  fact.details = completion.details;
  return judged(state, now, std::move(fact));
}

Result<std::optional<AttemptFailed>> decide_fail(const DispatchProjection& state,
                                                 const ClaimProof& proof, const Payload& error,
                                                 const std::optional<Retry>& retry, TimeMs now) {
  HOLDFAST_CHECK(check_run(state, proof));
  const Attempt* attempt = state.find(proof.runnable_key.view());
  if (attempt != nullptr && attempt->status == AttemptStatus::failed &&
      attempt->holds(proof.claim_id, proof.token_hash) && attempt->outcome->has_error(error)) {
    return std::optional<AttemptFailed>();
  }
  auto fact = proven<AttemptFailed>(state, proof);
  fact.error = error;
  if (retry.has_value()) {
    fact.retry_runnable_key = retry->runnable_key;
    fact.retry_visible_at = retry->visible_at;
    if (attempt != nullptr) {
      fact.retry_idempotency_key = attempt->idempotency_key;
    }
    // The deadline of the step does not start again with a retry.
    if (attempt != nullptr && attempt->extras) {
      fact.retry_deadline = attempt->extras->deadline;
      fact.retry_trace = attempt->extras->trace;
    }
  }
  return judged(state, now, std::move(fact));
}

Result<LiveWakeupEmitted> decide_wakeup(const DispatchProjection& state,
                                        std::string_view runnable_key, TimeMs now) {
  const Attempt* attempt = state.find(runnable_key);
  LiveWakeupEmitted fact;
  fact.run_id = attempt == nullptr ? RunId{} : attempt->run_id;
  fact.runnable_key = runnable_key;
  fact.queue = state.queue();
  HOLDFAST_TRY(auto accepted, judged(state, now, std::move(fact)));
  return *std::move(accepted);
}

}  // namespace holdfast
