// Commands of the dispatch protocol. Each is a pure function from what is known, the command and
// the time to the fact to append, or a refusal. No value means that it was done before and there is
// nothing to append.
//
// A refusal carries the code of the rule (dispatch_rules.h). The projection accepts every fact that
// is returned.
#pragma once

#include <optional>
#include <span>

#include "holdfast/result.h"
#include "runs/dispatch/dispatch_projection.h"
#include "runs/facts/attempt_outcome.h"

namespace holdfast {

inline constexpr std::uint64_t kDefaultLeaseMs = 30'000;
// A hundred years: a longer lease is cut to this, so that no sum of times overflows.
inline constexpr std::uint64_t kMaxLeaseMs = 3'155'760'000'000;

// unknown_runnable_intent, terminal_run, conflicting_runnable_intent, wrong_queue.
Result<std::optional<AttemptScheduled>> decide_schedule(const DispatchProjection& state,
                                                        const AttemptScheduled& intent, TimeMs now);

// The worker that claims. Of its secret token only the hash is known here.
struct Claimant {
  SharedText claim_id;
  Digest token_hash{};
  SharedText owner_id;
  std::vector<SharedText> handlers;  // what it can execute; empty: anything
};

// No value: nothing can be claimed now. Call state.advance(now) first.
std::optional<AttemptClaimed> decide_claim_next(const DispatchProjection& state,
                                                const Claimant& claimant, TimeMs now);
// The same for one named attempt: unknown_runnable_intent, terminal_run, terminal_attempt,
// active_claim, attempt_not_visible.
Result<AttemptClaimed> decide_claim(const DispatchProjection& state, std::string_view runnable_key,
                                    const Claimant& claimant, TimeMs now);

// What a worker presents to prove that it holds a claim: the fence.
struct ClaimProof {
  RunId run_id;
  SharedText runnable_key;
  SharedText claim_id;
  Digest token_hash{};
};

// The next three: unknown_runnable_intent, wrong_run, terminal_run, stale_claim, expired_claim.
Result<AttemptHeartbeat> decide_heartbeat(const DispatchProjection& state, const ClaimProof& proof,
                                          TimeMs now, const Payload& progress = {});

// Also conflicting_completion. No value: completed before, by the same claim with the same result.
Result<std::optional<AttemptCompleted>> decide_complete(const DispatchProjection& state,
                                                        const ClaimProof& proof,
                                                        const Completion& completion, TimeMs now);

struct Retry {
  SharedText runnable_key;
  TimeMs visible_at;
};
// No value: failed before, by the same claim with the same error.
Result<std::optional<AttemptFailed>> decide_fail(const DispatchProjection& state,
                                                 const ClaimProof& proof, const Payload& error,
                                                 const std::optional<Retry>& retry, TimeMs now);

// After a fact about the attempt: what it means for the circuit breaker of its step type. No value:
// nothing.
std::optional<CircuitOpened> decide_circuit_opened(const DispatchProjection& state,
                                                   std::string_view runnable_key, TimeMs now);
std::optional<CircuitProbed> decide_circuit_probed(const DispatchProjection& state,
                                                   std::string_view runnable_key, TimeMs now);
std::optional<CircuitClosed> decide_circuit_closed(const DispatchProjection& state,
                                                   std::string_view runnable_key, TimeMs now);
// An operator closes the circuit breaker of a step type. No value: it is not open.
std::optional<CircuitReset> decide_circuit_reset(const DispatchProjection& state,
                                                 const StepType& type, std::string_view actor,
                                                 std::string_view reason);

Result<LiveWakeupEmitted> decide_wakeup(const DispatchProjection& state,
                                        std::string_view runnable_key, TimeMs now);

}  // namespace holdfast
