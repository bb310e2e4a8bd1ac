// Commands of the dispatch protocol. Each is a pure function from what is known, the command and
// the time to the fact to append, or a refusal. No value means: it was done before, there is
// nothing to append.
//
// Refusals carry the code of the rule (dispatch/rules.h); what is returned as a fact is accepted
// by the projection.
#pragma once

#include <optional>
#include <span>

#include "holdfast/result.h"
#include "runs/dispatch/dispatch_projection.h"
#include "runs/facts/attempt_outcome.h"

namespace holdfast {

inline constexpr std::uint64_t kDefaultLeaseMs = 30'000;
// A hundred years: what asks for more gets this, so that no sum of times overflows.
inline constexpr std::uint64_t kMaxLeaseMs = 3'155'760'000'000;

// unknown_runnable_intent, terminal_run, conflicting_runnable_intent, wrong_queue.
Result<std::optional<AttemptScheduled>> decide_schedule(const DispatchProjection& state,
                                                        const AttemptScheduled& intent, TimeMs now);

// Who claims, and the secret of which only the hash is known here.
struct Claimant {
  SharedText claim_id;
  Digest token_hash{};
  SharedText owner_id;
  std::vector<SharedText> handlers;  // what it can execute; empty: anything
};

// No value: there is nothing to claim now. state.advance(now) must have been called.
std::optional<AttemptClaimed> decide_claim_next(const DispatchProjection& state,
                                                const Claimant& claimant, TimeMs now);
// The same for one named attempt: unknown_runnable_intent, terminal_run, terminal_attempt,
// active_claim, attempt_not_visible.
Result<AttemptClaimed> decide_claim(const DispatchProjection& state, std::string_view runnable_key,
                                    const Claimant& claimant, TimeMs now);

// What a worker shows to prove that it holds a claim.
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

Result<LiveWakeupEmitted> decide_wakeup(const DispatchProjection& state,
                                        std::string_view runnable_key, TimeMs now);

}  // namespace holdfast
