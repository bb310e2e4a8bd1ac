// What belongs together is emitted together: a completion with its application, the steps that
// follow and their attempts; a failure with its retry or the end of the run; a run with its
// listing and its first attempts. So each costs one commit.
#pragma once

#include <optional>

#include "dispatch/decide.h"
#include "engine/turn.h"
#include "engine/waiting_worker.h"
#include "workflow/decide.h"

namespace holdfast {

// Emits the facts of one run, and the attempts that planned runnables ask for.
Result<void> emit_with_attempts(Turn& turn, const RunId& run, const RunFacts& facts);

// Whether the id may be in use already: one the caller made up, or one that was just drawn.
enum class IdOrigin : std::uint8_t { given, fresh };
struct Started {
  RunId run_id;
  bool existed = false;
};
Result<Started> start_run(Turn& turn, const StartRun& command, IdOrigin id);

// The next attempt the claimant can execute, in the first of the queues that has one.
Result<std::optional<Assignment>> claim_next(Turn& turn, const Skills& skills,
                                             const Applicant& applicant);

// The refusals of decide_complete and decide_fail; terminal_run also for runs that have left
// memory.
Result<void> complete_attempt(Turn& turn, const ClaimProof& proof, const Completion& completion);
Result<void> fail_attempt(Turn& turn, const ClaimProof& proof, const Failure& failure);
// The new end of the lease.
Result<TimeMs> heartbeat(Turn& turn, const ClaimProof& proof);

// Starts a child of a run; both are one commit.
Result<Started> start_child(Turn& turn, const RunId& parent, const StartChild& command);

// Carries out what other writers have left undone, as far as the definitions are known: first
// schedules what is planned, then applies what is completed, then starts missing children.
// Returns how many debts were paid.
Result<std::size_t> recover(Turn& turn);

}  // namespace holdfast
