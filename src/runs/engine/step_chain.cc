#include "runs/engine/step_chain.h"

#include "base/hash.h"

namespace holdfast {

namespace {

// The queue that knows the attempt, or why none does.
Result<DispatchProjection*> queue_with(Turn& turn, const ClaimProof& proof) {
  DispatchProjection* queue = turn.state().queues().find(proof.run_id, proof.runnable_key.view());
  if (queue != nullptr) {
    return queue;
  }
  auto run = turn.state().runs().get(proof.run_id);
  const bool ended = run.ok() && run.value()->is_terminal();
  const ErrorCode code = ended ? ErrorCode::terminal_run : ErrorCode::unknown_runnable_intent;
  return Error{code, std::string(error_info(code).line)}
      .with("runnable_key", proof.runnable_key.view())
      .with("run_id", to_string(proof.run_id))
      .in("attempt " + proof.runnable_key.str());
}

// Only a process that has the definition can decide what follows a step.
Result<RunProjection*> run_with_definition(Turn& turn, const RunId& id) {
  HOLDFAST_TRY(RunProjection * run, turn.state().runs().get(id));
  if (run->definition() == nullptr) {
    return Error{ErrorCode::unknown_workflow,
                 "the definition of run " + to_string(id) + " is not known here"}
        .with("run_id", to_string(id));
  }
  return run;
}

// Applies the outcome of an attempt to its run. Without the definition the outcome stays pending,
// for a process that has the definition.
Result<void> apply_outcome(Turn& turn, const Attempt& attempt) {
  HOLDFAST_TRY(RunProjection * run, run_with_definition(turn, attempt.run_id));
  HOLDFAST_TRY(const RunFacts facts,
               decide_apply(*run, attempt, EngineSurroundings(turn), turn.now()));
  return emit_with_attempts(turn, attempt.run_id, facts);
}

bool is_unknown_definition(const Result<void>& result) {
  return !result.ok() && result.error().code() == ErrorCode::unknown_workflow;
}

}  // namespace

bool is_of_store(const Error& error) {
  const int exit_code = error_info(error.code()).exit_code;
  return exit_code == 3 || exit_code == 5;
}

Result<Assignment> assignment_of(Turn& turn, const Attempt& attempt, const SharedText& queue) {
  Assignment given;
  given.run_id = attempt.run_id;
  given.runnable_key = attempt.runnable_key;
  given.idempotency_key = attempt.idempotency_key;
  given.workflow = attempt.workflow;
  given.step = attempt.step;
  given.handler = attempt.handler;
  given.queue = queue;
  given.attempt_number = attempt.attempt_number;
  given.input = attempt.input;
  if (attempt.stored_input() != nullptr) {
    given.stored_input = *attempt.stored_input();
  }
  given.trace = attempt.extras ? attempt.extras->trace : Payload();
  if (attempt.claim) {
    given.progress = attempt.claim->progress;
    given.claim_id = attempt.claim->claim_id;
    given.lease_until = attempt.claim->lease_until;
  }
  given.lease_ms = attempt.options.lease_ms == 0 ? kDefaultLeaseMs : attempt.options.lease_ms;
  // What the engine's own workers carry out is written in the definition.
  if (given.handler.view() == kHttpHandler || given.handler.view() == kExecHandler) {
    HOLDFAST_TRY(const RunProjection* run, turn.state().runs().get(given.run_id));
    given.definition = run->definition();
  }
  return given;
}

ClaimProof proof_of(const Assignment& assignment) {
  return ClaimProof{assignment.run_id, assignment.runnable_key, assignment.claim_id,
                    sha256(assignment.token.view())};
}

Result<void> emit_with_attempts(Turn& turn, const RunId& run, const RunFacts& facts) {
  Consequences consequences(turn);
  HOLDFAST_CHECK(consequences.record(run, facts));
  return consequences.settle();
}

Result<Started> start_run(Turn& turn, const StartRun& command, IdOrigin id) {
  Consequences consequences(turn);
  HOLDFAST_TRY(const Started started, consequences.start(command, id));
  HOLDFAST_CHECK(consequences.settle());
  return started;
}

Result<void> emit_claim(Turn& turn, const SharedText& queue, const AttemptClaimed& claim) {
  HOLDFAST_CHECK(turn.emit(queue, claim));
  const auto probed = decide_circuit_probed(turn.state().queues().get(queue),
                                            claim.runnable_key.view(), turn.now());
  return probed.has_value() ? turn.emit(queue, *probed) : Result<void>();
}

Result<Started> redrive_dead_letter(Turn& turn, const RunId& run,
                                    const ResolveDeadLetter& command) {
  HOLDFAST_TRY(RunProjection * source, run_with_definition(turn, run));
  if (const auto& known = source->dead_letter();
      known.has_value() && known->action == DeadLetterEnd::redriven) {
    return Started{known->replay_run_id, true};
  }
  HOLDFAST_TRY(const StartRun start, plan_redrive(*source, command));
  HOLDFAST_TRY(const Started started, start_run(turn, start, IdOrigin::given));
  ResolveDeadLetter redriven = command;
  redriven.action = DeadLetterEnd::redriven;
  redriven.replay_run_id = started.run_id;
  HOLDFAST_TRY(const RunFacts facts, decide_resolve_dead_letter(*source, redriven, turn.now()));
  HOLDFAST_CHECK(emit_with_attempts(turn, run, facts));
  return started;
}

Result<std::optional<Assignment>> claim_next(Turn& turn, const Skills& skills,
                                             const Applicant& applicant) {
  DispatchProjection* queue =
      turn.state().queues().find_claimable(skills.queues, applicant.claimant.handlers, turn.now());
  if (queue == nullptr) {
    return std::optional<Assignment>();
  }
  const auto claim = decide_claim_next(*queue, applicant.claimant, turn.now());
  HOLDFAST_ASSERT(claim.has_value());
  HOLDFAST_CHECK(emit_claim(turn, queue->queue(), *claim));
  HOLDFAST_TRY(Assignment given,
               assignment_of(turn, *queue->find(claim->runnable_key.view()), queue->queue()));
  given.token = applicant.token;
  return std::optional(std::move(given));
}

Result<void> complete_attempt(Turn& turn, const ClaimProof& proof, const Completion& completion) {
  HOLDFAST_TRY(DispatchProjection * queue, queue_with(turn, proof));
  if (const auto run = turn.state().runs().get(proof.run_id); run.ok()) {
    if (const auto fault =
            completion_fault(*run.value(), *queue->find(proof.runnable_key.view()), completion)) {
      return fail_attempt(turn, proof, Failure{*fault, false, std::nullopt});
    }
  }
  HOLDFAST_TRY(const auto fact, decide_complete(*queue, proof, completion, turn.now()));
  if (!fact.has_value()) {
    return {};
  }
  HOLDFAST_CHECK(turn.emit(queue->queue(), *fact));
  if (const auto closed = decide_circuit_closed(*queue, proof.runnable_key.view(), turn.now())) {
    HOLDFAST_CHECK(turn.emit(queue->queue(), *closed));
  }
  Result<void> applied = apply_outcome(turn, *queue->find(proof.runnable_key.view()));
  if (is_unknown_definition(applied)) {
    insert(&turn.state().undo(), turn.state().pending_recovery().unapplied, proof.runnable_key,
           queue->queue());
    return {};
  }
  return applied;
}

Result<void> fail_attempt(Turn& turn, const ClaimProof& proof, const Failure& failure) {
  HOLDFAST_TRY(DispatchProjection * queue, queue_with(turn, proof));
  const Attempt* attempt = queue->find(proof.runnable_key.view());
  HOLDFAST_TRY(RunProjection * run, run_with_definition(turn, attempt->run_id));
  const auto planned = plan_retry(*run, *attempt, failure, turn.now());
  std::optional<Retry> retry;
  if (planned.has_value()) {
    retry = Retry{planned->runnable_key, planned->visible_at};
  }
  HOLDFAST_TRY(const auto fact, decide_fail(*queue, proof, failure.error, retry, turn.now()));
  if (!fact.has_value()) {
    return {};
  }
  HOLDFAST_CHECK(turn.emit(queue->queue(), *fact));
  if (const auto opened = decide_circuit_opened(*queue, proof.runnable_key.view(), turn.now())) {
    HOLDFAST_CHECK(turn.emit(queue->queue(), *opened));
  }
  HOLDFAST_TRY(const RunFacts facts,
               decide_after_failure(*run, *queue->find(proof.runnable_key.view()), failure.error,
                                    planned, EngineSurroundings(turn), turn.now()));
  return emit_with_attempts(turn, proof.run_id, facts);
}

Result<TimeMs> heartbeat(Turn& turn, const ClaimProof& proof, const Payload& progress) {
  HOLDFAST_TRY(DispatchProjection * queue, queue_with(turn, proof));
  HOLDFAST_TRY(const auto fact, decide_heartbeat(*queue, proof, turn.now(), progress));
  HOLDFAST_CHECK(turn.emit(queue->queue(), fact));
  return fact.lease_until;
}

Result<Started> start_child(Turn& turn, const RunId& parent, const StartChild& command) {
  HOLDFAST_TRY(RunProjection * run, turn.state().runs().get(parent));
  turn.definitions().keep(command.definition);
  const RunId child = child_run_id(parent, command);
  HOLDFAST_TRY(const RunFacts facts, decide_start_child(*run, command, turn.now()));
  HOLDFAST_CHECK(emit_with_attempts(turn, parent, facts));
  if (!facts.empty()) {
    return Started{child, false};
  }
  // A parent whose child was never started is repaired.
  const auto link = run->children().find(child);
  HOLDFAST_ASSERT(link != run->children().end());
  return start_run(turn, start_of_child(link->second, command.definition), IdOrigin::given);
}

namespace {

// Claims for the engine itself, so that it may say how the attempt ended.
Result<ClaimProof> claim_for_engine(Turn& turn, DispatchProjection& queue, const Attempt& attempt,
                                    const EngineApplicant& as_engine) {
  const Applicant engine = as_engine();
  HOLDFAST_TRY(const AttemptClaimed claim,
               decide_claim(queue, attempt.runnable_key.view(), engine.claimant, turn.now()));
  HOLDFAST_CHECK(turn.emit(queue.queue(), claim));
  return ClaimProof{attempt.run_id, attempt.runnable_key, engine.claimant.claim_id,
                    engine.claimant.token_hash};
}

Result<void> continue_at(Turn& turn, const Attempt& timer) {
  const RunId id = timer.run_id;
  HOLDFAST_TRY(RunProjection * run, run_with_definition(turn, id));
  HOLDFAST_TRY(const RunFacts facts,
               decide_timer(*run, timer.runnable_key.view(), EngineSurroundings(turn), turn.now()));
  if (facts.empty()) {
    return Error{ErrorCode::invalid_transition, "nothing waits for the timer"};
  }
  return emit_with_attempts(turn, id, facts);
}

Result<void> fail_late(Turn& turn, DispatchProjection& queue, const Attempt& late,
                       const EngineApplicant& engine) {
  const bool claimed = late.status == AttemptStatus::claimed;
  ClaimProof proof{late.run_id, late.runnable_key, {}, {}};
  if (claimed && late.claim->lease_until > turn.now()) {
    proof.claim_id = late.claim->claim_id;
    proof.token_hash = late.claim->token_hash;
  } else {
    HOLDFAST_TRY(proof, claim_for_engine(turn, queue, late, engine));
  }
  const TimedOut what = claimed ? TimedOut::attempt : TimedOut::start;
  const Failure failure{timeout_error(what, late.step.view()), claimed, std::nullopt};
  HOLDFAST_CHECK(fail_attempt(turn, proof, failure));
  turn.withdraw_claim(proof.runnable_key);
  return {};
}

}  // namespace

Result<bool> fire_timer(Turn& turn, const EngineApplicant& engine) {
  static const std::vector<SharedText> timers{SharedText(kTimerHandler)};
  DispatchProjection* queue = turn.state().queues().find_due_timer(turn.now());
  if (queue == nullptr) {
    return false;
  }
  const Attempt* timer = queue->next_claimable(timers, turn.now());
  const Turn::Mark mark = turn.mark();
  const Result<void> fired = continue_at(turn, *timer);
  if (!fired.ok()) {
    turn.roll_back_to(mark);
    if (is_of_store(fired.error())) {
      return fired.error();
    }
    // Another process may be able to continue the run; here the timer returns when this claim ends.
    HOLDFAST_CHECK(claim_for_engine(turn, *queue, *timer, engine));
  }
  return true;
}

Result<bool> fail_timed_out(Turn& turn, const EngineApplicant& engine) {
  DispatchProjection* queue = turn.state().queues().find_timed_out(turn.now());
  if (queue == nullptr) {
    return false;
  }
  const Attempt* late = queue->timed_out(turn.now());
  const SharedText key = late->runnable_key;
  const Turn::Mark mark = turn.mark();
  const Result<void> failed = fail_late(turn, *queue, *late, engine);
  if (!failed.ok()) {
    turn.roll_back_to(mark);
    if (is_of_store(failed.error())) {
      return failed.error();
    }
    // Processes that know the definition handle it.
    turn.state().queues().put_off_timeout(*queue, key);
  }
  return true;
}

}  // namespace holdfast
