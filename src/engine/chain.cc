#include "engine/chain.h"

#include "base/hash.h"

namespace holdfast {

namespace {

Result<void> schedule(Turn& turn, const Runnable& runnable, const SharedText& workflow) {
  const AttemptScheduled intent = intent_of(runnable, workflow);
  DispatchProjection& queue = turn.state().queue(intent.queue);
  HOLDFAST_TRY(const auto fact, decide_schedule(queue, intent, turn.now()));
  return fact.has_value() ? turn.emit(intent.queue, *fact) : Result<void>();
}

// The queue that knows the attempt, or why none does.
Result<DispatchProjection*> queue_with(Turn& turn, const ClaimProof& proof) {
  DispatchProjection* queue = turn.state().queue_of(proof.runnable_key.view());
  if (queue != nullptr) {
    return queue;
  }
  auto run = turn.state().run(proof.run_id);
  const bool ended = run.ok() && run.value()->is_terminal();
  const ErrorCode code = ended ? ErrorCode::terminal_run : ErrorCode::unknown_runnable_intent;
  return Error{code, std::string(error_info(code).line)}
      .with("runnable_key", proof.runnable_key.view())
      .with("run_id", to_string(proof.run_id))
      .in("attempt " + proof.runnable_key.str());
}

// What follows a step can be decided only by those who know the definition.
Result<RunProjection*> run_with_definition(Turn& turn, const RunId& id) {
  HOLDFAST_TRY(RunProjection * run, turn.state().run(id));
  if (run->definition() == nullptr) {
    return Error{ErrorCode::unknown_workflow,
                 "the definition of run " + to_string(id) + " is not known here"}
        .with("run_id", to_string(id));
  }
  return run;
}

// The run takes in how an attempt ended. Without the definition it stays for those who have it.
Result<void> apply_outcome(Turn& turn, const Attempt& attempt) {
  HOLDFAST_TRY(RunProjection * run, run_with_definition(turn, attempt.run_id));
  HOLDFAST_TRY(const RunFacts facts, decide_apply(*run, attempt, turn.now()));
  return emit_with_attempts(turn, attempt.run_id, facts);
}

Assignment assignment_of(const Attempt& attempt, const SharedText& queue) {
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
  given.trace = attempt.extras ? attempt.extras->trace : Payload();
  given.claim_id = attempt.claim->claim_id;
  given.lease_until = attempt.claim->lease_until;
  given.lease_ms = attempt.lease_ms == 0 ? kDefaultLeaseMs : attempt.lease_ms;
  return given;
}

bool is_unknown_definition(const Result<void>& result) {
  return !result.ok() && result.error().code() == ErrorCode::unknown_workflow;
}

}  // namespace

ClaimProof proof_of(const Assignment& assignment) {
  return ClaimProof{assignment.run_id, assignment.runnable_key, assignment.claim_id,
                    sha256(assignment.token.view())};
}

Result<void> emit_with_attempts(Turn& turn, const RunId& run, const RunFacts& facts) {
  for (const RunFact& fact : facts) {
    HOLDFAST_CHECK(turn.emit(fact));
    if (const auto* planned = std::get_if<RunnablesPlanned>(&fact)) {
      const SharedText workflow = turn.state().held(run).started()->workflow;
      for (const Runnable& runnable : planned->runnables) {
        HOLDFAST_CHECK(schedule(turn, runnable, workflow));
      }
    }
  }
  return {};
}

Result<Started> start_run(Turn& turn, const StartRun& command, IdOrigin id) {
  LiveState& state = turn.state();
  bool exists = false;
  if (id == IdOrigin::given) {
    HOLDFAST_TRY(exists, state.run_exists(command.run_id));
  }
  RunProjection* run = nullptr;
  if (exists) {
    HOLDFAST_TRY(run, state.run(command.run_id));
  } else {
    run = &state.new_run(command.run_id);
  }
  HOLDFAST_TRY(const RunFacts facts, decide_start(*run, command, turn.now()));
  if (facts.empty()) {
    return Started{command.run_id, true};
  }
  run->attach(command.definition);
  HOLDFAST_CHECK(turn.emit_definition(*command.definition));
  const SharedText workflow = command.definition->workflow();
  const SharedText queue = command.queue.empty() ? SharedText(kDefaultQueue) : command.queue;
  for (const RunFact& fact : facts) {
    HOLDFAST_CHECK(turn.emit(fact));
  }
  HOLDFAST_CHECK(
      turn.emit_listing({command.run_id, workflow, queue}, {command.run_id, workflow, queue}));
  HOLDFAST_CHECK(turn.emit(queue, RunQueued{command.run_id, queue}));
  for (const RunFact& fact : facts) {
    if (const auto* planned = std::get_if<RunnablesPlanned>(&fact)) {
      for (const Runnable& runnable : planned->runnables) {
        HOLDFAST_CHECK(schedule(turn, runnable, workflow));
      }
    }
  }
  return Started{command.run_id, false};
}

Result<std::optional<Assignment>> claim_next(Turn& turn, const Skills& skills,
                                             const Applicant& applicant) {
  for (const SharedText& name : skills.queues) {
    DispatchProjection& queue = turn.state().queue(name);
    queue.advance(turn.now());
    const auto claim = decide_claim_next(queue, applicant.claimant, turn.now());
    if (claim.has_value()) {
      HOLDFAST_CHECK(turn.emit(name, *claim));
      Assignment given = assignment_of(*queue.find(claim->runnable_key.view()), name);
      given.token = applicant.token;
      return std::optional(std::move(given));
    }
  }
  return std::optional<Assignment>();
}

Result<void> complete_attempt(Turn& turn, const ClaimProof& proof, const Completion& completion) {
  HOLDFAST_TRY(DispatchProjection * queue, queue_with(turn, proof));
  HOLDFAST_TRY(const auto fact, decide_complete(*queue, proof, completion, turn.now()));
  if (!fact.has_value()) {
    return {};
  }
  HOLDFAST_CHECK(turn.emit(queue->queue(), *fact));
  Result<void> applied = apply_outcome(turn, *queue->find(proof.runnable_key.view()));
  if (is_unknown_definition(applied)) {
    insert(&turn.state().undo(), turn.state().debts().unapplied, proof.runnable_key,
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
  HOLDFAST_TRY(const RunFacts facts,
               decide_after_failure(*run, *queue->find(proof.runnable_key.view()), failure.error,
                                    planned, turn.now()));
  return emit_with_attempts(turn, proof.run_id, facts);
}

Result<TimeMs> heartbeat(Turn& turn, const ClaimProof& proof) {
  HOLDFAST_TRY(DispatchProjection * queue, queue_with(turn, proof));
  HOLDFAST_TRY(const auto fact, decide_heartbeat(*queue, proof, turn.now()));
  HOLDFAST_CHECK(turn.emit(queue->queue(), fact));
  return fact.lease_until;
}

Result<Started> start_child(Turn& turn, const RunId& parent, const StartChild& command) {
  HOLDFAST_TRY(RunProjection * run, turn.state().run(parent));
  HOLDFAST_TRY(const RunFacts facts, decide_start_child(*run, command, turn.now()));
  HOLDFAST_CHECK(emit_with_attempts(turn, parent, facts));
  const auto link = run->children().find(child_run_id(parent, command));
  HOLDFAST_ASSERT(link != run->children().end());
  return start_run(turn, start_of_child(link->second, command.definition), IdOrigin::given);
}

}  // namespace holdfast
