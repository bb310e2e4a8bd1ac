// What belongs together is emitted together: a completion with its application, the steps that
// follow and their attempts; a failure with its retry or the end of the run; a run with its
// listing and its first attempts. So each costs one commit.
#pragma once

#include <functional>
#include <optional>

#include "runs/dispatch/dispatch_decide.h"
#include "runs/engine/claim_request.h"
#include "runs/engine/consequences.h"
#include "runs/run/run_decide.h"

namespace holdfast {

// Writes the facts of one run and all they mean for others.
Result<void> emit_with_attempts(Turn& turn, const RunId& run, const RunFacts& facts);

Result<Started> start_run(Turn& turn, const StartRun& command, IdOrigin id);

// The next attempt the claimant can execute, in the first of the queues that has one. A large input
// is not in it yet: see stored_payloads.h.
Result<std::optional<Assignment>> claim_next(Turn& turn, const Skills& skills,
                                             const Applicant& applicant);

// A worker claims: the claim may be the probe of an open circuit breaker.
Result<void> emit_claim(Turn& turn, const SharedText& queue, const AttemptClaimed& claim);

// The refusals of decide_complete and decide_fail; terminal_run also for runs that have left
// memory.
Result<void> complete_attempt(Turn& turn, const ClaimProof& proof, const Completion& completion);
Result<void> fail_attempt(Turn& turn, const ClaimProof& proof, const Failure& failure);
// The new end of the lease.
Result<TimeMs> heartbeat(Turn& turn, const ClaimProof& proof, const Payload& progress = {});
// The attempt as its holder was given it, without the token, which is not known here; or as a
// worker that claims it would be given it, without a claim.
Result<Assignment> assignment_of(Turn& turn, const Attempt& attempt, const SharedText& queue);

// The store failed; the command itself was not refused.
bool is_of_store(const Error& error);

// Starts a child of a run; both are one commit.
Result<Started> start_child(Turn& turn, const RunId& parent, const StartChild& command);

// Starts the run that repeats the attempt that failed a run, and records that; once, however often
// it is called. unknown_workflow, and the errors of plan_redrive.
Result<Started> redrive_dead_letter(Turn& turn, const RunId& run, const ResolveDeadLetter& command);

// Who the engine is when it claims something itself.
using EngineApplicant = std::function<Applicant()>;
// One timer that is due did what it is there for. False: none is due.
Result<bool> fire_timer(Turn& turn, const EngineApplicant& engine);
// One attempt whose time is up has failed. False: there is none.
Result<bool> fail_timed_out(Turn& turn, const EngineApplicant& engine);

// Carries out what other writers have left undone, as far as the definitions are known: first
// schedules what is planned, then applies what is completed, then starts missing children.
// Returns how many pieces of work were continued.
Result<std::size_t> recover(Turn& turn);

}  // namespace holdfast
