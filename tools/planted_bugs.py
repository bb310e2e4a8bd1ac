"""The bugs that `scripts/mutants.sh` plants, to check that the simulator finds each of them.

A bug has a name, a sentence, and edits: in a file, a text that occurs exactly once is replaced by
another. In the new text `planted` is true when this bug is enabled. All bugs are built into one
program and enabled one at a time, by the environment variable HOLDFAST_PLANTED.
"""

BUGS = [
    # Claims
    ("skip_fence", "a report counts with any claim", [
        ("runs/dispatch/dispatch_rules.cc",
         "  if (attempt.status != AttemptStatus::claimed || attempt.applied ||\n"
         "      !attempt.holds(fact.claim_id, fact.claim_token_hash)) {",
         "  if (attempt.status != AttemptStatus::claimed || attempt.applied ||\n"
         "      (!attempt.holds(fact.claim_id, fact.claim_token_hash) && !planted)) {")]),
    ("skip_token", "the id of a claim is enough, its token is not checked", [
        ("runs/dispatch/dispatch_rules.cc",
         "  if (attempt.status != AttemptStatus::claimed || attempt.applied ||\n"
         "      !attempt.holds(fact.claim_id, fact.claim_token_hash)) {",
         "  if (attempt.status != AttemptStatus::claimed || attempt.applied ||\n"
         "      (!attempt.holds(fact.claim_id, fact.claim_token_hash) &&\n"
         "       !(planted && attempt.claim->claim_id == fact.claim_id))) {")]),
    ("lease_one_too_long", "a claim still counts in the millisecond its lease ends", [
        ("runs/dispatch/dispatch_rules.cc",
         "  if (attempt.claim->lease_until <= at) {",
         "  if (attempt.claim->lease_until < at ||\n"
         "      (!planted && attempt.claim->lease_until == at)) {")]),
    ("lease_never_ends", "a report after the end of the lease counts", [
        ("runs/dispatch/dispatch_rules.cc",
         "  if (attempt.claim->lease_until <= at) {",
         "  if (attempt.claim->lease_until <= at && !planted) {")]),
    ("claim_taken_away",
     "an attempt can be claimed one second before the lease of its holder ends", [
        ("runs/dispatch/dispatch_projection.cc",
         "  while (Attempt* attempt = leases_.top()) {\n"
         "    if (attempt->claim->lease_until > now) {",
         "  while (Attempt* attempt = leases_.top()) {\n"
         "    if (attempt->claim->lease_until.value - (planted ? 1000 : 0) > now.value) {"),
        ("runs/dispatch/dispatch_projection.cc",
         "top->status == AttemptStatus::claimed && top->claim->lease_until > now;",
         "top->status == AttemptStatus::claimed && top->claim->lease_until > now && !planted;"),
        ("runs/dispatch/dispatch_rules.cc",
         "attempt->status == AttemptStatus::claimed && attempt->claim->lease_until > at) {",
         "attempt->status == AttemptStatus::claimed &&\n"
         "      attempt->claim->lease_until.value - (planted ? 1000 : 0) > at.value) {")]),
    ("claim_too_early", "an attempt can be claimed before its time has come", [
        ("runs/dispatch/dispatch_projection.cc",
         "      if (from <= now &&",
         "      if ((planted || from <= now) &&"),
        ("runs/dispatch/dispatch_rules.cc",
         "  if (at < attempt->visible_at) {",
         "  if (at < attempt->visible_at && !planted) {")]),
    ("other_result_accepted",
     "a second, different result of a completed attempt is answered with ok", [
        ("runs/dispatch/dispatch_rules.cc",
         "    return same ? Verdict::repeat() : Verdict::refuse(Reason::conflicting_completion);",
         "    return same || planted ? Verdict::repeat()\n"
         "                           : Verdict::refuse(Reason::conflicting_completion);")]),
    ("no_heartbeats", "the leases of attempts that this process executes are not renewed", [
        ("runs/engine/engine_core_claims.cc",
         "    const auto sent = heartbeat(turn, claim.proof, claim.progress);",
         "    const auto sent = planted ? Result<TimeMs>(turn.now())\n"
         "                              : heartbeat(turn, claim.proof, claim.progress);")]),
    # The loop
    ("ack_before_sync", "clients hear the answer when the write begins", [
        ("runs/engine/engine_core.cc",
         "  building_->begin = writing_->end;\n",
         "  building_->begin = writing_->end;\n"
         "  if (planted) {\n"
         "    for (std::size_t i = 0; i < writing_->commands.size(); ++i) {\n"
         "      effects_.emplace_back([command = writing_->commands[i],\n"
         "                             no = writing_->refusals[i]] {\n"
         "        command->settle(no.has_value() ? Result<void>(*no) : Result<void>());\n"
         "      });\n"
         "    }\n"
         "    writing_->commands.clear();\n"
         "    writing_->refusals.clear();\n"
         "  }\n")]),
    ("claim_before_sync", "a worker gets its attempt before the claim is durable", [
        ("runs/engine/engine_core_claims.cc",
         "  building_->claimed.push_back({request, std::move(assignments)});\n",
         "  if (planted) {\n"
         "    effects_.emplace_back([request, inputs = inputs_,\n"
         "                           early = std::move(assignments)]() mutable {\n"
         "      request->assigned(inputs->fill_in(std::move(early)));\n"
         "    });\n"
         "  } else {\n"
         "    building_->claimed.push_back({request, std::move(assignments)});\n"
         "  }\n")]),
    ("stale_answers", "a reply without a write may be older than replies of other processes", [
        ("runs/engine/engine_core.cc",
         "  if (!building_->commands.empty()) {\n    const auto store",
         "  if (!building_->commands.empty() && !planted) {\n    const auto store")]),
    ("nothing_taken_back", "after a conflict the state keeps what was not written", [
        ("runs/engine/engine_core.cc",
         "  state_->undo().roll_back_to(oldest->begin);",
         "  if (!planted) {\n    state_->undo().roll_back_to(oldest->begin);\n  }")]),
    ("refused_result_stays",
     "a result that cannot become part of the run stays beside its failure", [
        ("runs/engine/worker_pool.cc",
         "  turn.roll_back_to(mark);\n  return report(",
         "  if (!planted) {\n    turn.roll_back_to(mark);\n  }\n  return report(")]),
    ("requests_lost", "after a conflict the commands are forgotten", [
        ("runs/engine/engine_core.cc",
         "  inbox_.insert(inbox_.begin(), commands.begin(), commands.end());",
         "  if (!planted) {\n"
         "    inbox_.insert(inbox_.begin(), commands.begin(), commands.end());\n  }")]),
    ("position_ignored", "a commit does not care what others have written since it was decided", [
        ("storage/journal/journal.cc",
         "  if (expected_head.has_value() && *expected_head != directory_.at()) {",
         "  if (!planted && expected_head.has_value() && *expected_head != directory_.at()) {")]),
    ("landed_taken_for_lost", "after a lost connection a batch that landed is taken for lost", [
        ("storage/log/log_recovery.cc",
         "    return std::optional(chain == open_->chain ? Append::landed : Append::lost);",
         "    return std::optional(chain == open_->chain && !planted ? Append::landed\n"
         "                                                           : Append::lost);")]),
    ("lost_taken_for_landed", "after a lost connection a batch that was lost is taken for there", [
        ("storage/log/log_recovery.cc",
         "  return free ? std::nullopt : std::optional(Append::lost);",
         "  if (planted) {\n    return std::optional(Append::landed);\n  }\n"
         "  return free ? std::nullopt : std::optional(Append::lost);")]),
    ("timer_lost", "the engine does not wake up for timers", [
        ("runs/engine/queue_index.cc",
         "  return first_of(timer);",
         "  return planted ? std::nullopt : first_of(timer);")]),
    ("timeouts_lost", "the engine does not wake up for attempts that exceed their timeout", [
        ("runs/engine/queue_index.cc",
         "  return timeouts_.empty() ? std::nullopt",
         "  return timeouts_.empty() || planted ? std::nullopt"),
        ("runs/engine/engine_core.cc",
         "    HOLDFAST_TRY(const bool failed, fail_timed_out(turn, options_.applicant));",
         "    HOLDFAST_TRY(const bool failed,\n"
         "                 planted ? Result<bool>(false)\n"
         "                         : fail_timed_out(turn, options_.applicant));")]),
    # Recovery and checkpoints
    ("planned_not_scheduled", "what others planned and did not schedule stays so", [
        ("runs/engine/engine_recover.cc",
         "                 return schedule_planned(turn, key, run);",
         "                 return planted ? Result<void>() : schedule_planned(turn, key, run);")]),
    ("completed_not_applied", "what others completed and did not apply stays so", [
        ("runs/engine/engine_recover.cc",
         "                                          return apply_completed(turn, key, queue);",
         "                                          if (planted) {\n"
         "                                            return Result<void>();\n"
         "                                          }\n"
         "                                          return apply_completed(turn, key, queue);")]),
    ("failed_not_progressed", "a failure before a crash is not continued", [
        ("runs/engine/engine_recover.cc",
         "                 return progress_failed(turn, key, queue);",
         "                 return planted ? Result<void>() : progress_failed(turn, key, queue);")]),
    ("child_not_started", "a child that is linked but was not started stays so", [
        ("runs/engine/engine_recover.cc",
         "                 return start_missing_child(turn, link);",
         "                 return planted ? Result<void>() : start_missing_child(turn, link);")]),
    ("checkpoint_skips_a_batch", "a start from a checkpoint skips the batch after it", [
        ("runs/engine/live_checkpoint.cc",
         "  position_ = Position{stored.position};\n",
         "  position_ = Position{stored.position};\n"
         "  if (planted && position_ < journal_.log().head().position) {\n"
         "    position_ = position_.next();\n  }\n")]),
    ("checkpoint_forgets_live", "a checkpoint does not know which runs are live", [
        ("runs/engine/live_checkpoint.cc",
         "  stored.live = runs_.ids();",
         "  stored.live = planted ? std::vector<RunId>() : runs_.ids();")]),
    ("withdrawn_is_claimable", "what a run does not want any more is still given to workers", [
        ("runs/engine/live_state.cc",
         "      close_attempt(*queue, at_, closed);",
         "      if (!closed.withdrawn || !planted) {\n"
         "        close_attempt(*queue, at_, closed);\n      }")]),
    ("damage_served", "a body that does not match its hash is served", [
        ("storage/log/log.cc",
         "  if (sha256(row.body) != row.body_hash) {",
         "  if (sha256(row.body) != row.body_hash && !planted) {")]),
    # Workflows
    ("join_any", "a step begins when one of the steps before it is done", [
        ("runs/run/run_progress.cc",
         "    unmet.push_back(static_cast<std::uint32_t>(step.after.size()));",
         "    unmet.push_back(static_cast<std::uint32_t>(\n"
         "        planted ? std::min<std::size_t>(step.after.size(), 1) : step.after.size()));"),
        ("runs/run/run_progress.cc",
         "    --unmet[dependent];",
         "    unmet[dependent] -= planted && unmet[dependent] == 0 ? 0U : 1U;")]),
    ("last_transition", "the last transition that fits is taken, not the first", [
        ("runs/run/run_planning.cc",
         "      return &transition;\n    }\n  }\n  return nullptr;",
         "      if (!planted) {\n        return &transition;\n      }\n"
         "      last = &transition;\n    }\n  }\n  return last;"),
        ("runs/run/run_planning.cc",
         "  for (const Transition& transition : transitions) {",
         "  const Transition* last = nullptr;\n"
         "  for (const Transition& transition : transitions) {")]),
    ("condition_without_result", "a condition is evaluated on what was known before the step", [
        ("runs/run/run_advance.cc",
         "    taken = choose(step.on_ok, ContextView(run_, applied.output_key, end.result));",
         "    taken = choose(step.on_ok,\n"
         "                   planted ? ContextView(run_)\n"
         "                           : ContextView(run_, applied.output_key, end.result));")]),
    ("one_retry_too_many", "a step is tried once more than its policy says", [
        ("runs/run/run_planning.cc",
         "      attempts_made(plan) >= rule.max_attempts) {",
         "      attempts_made(plan) >= rule.max_attempts + (planted ? 1 : 0)) {")]),
    ("key_per_attempt", "a retry or a deferral gets an idempotency key of its own", [
        ("runs/dispatch/dispatch_decide.cc",
         "      fact.retry_idempotency_key = attempt->idempotency_key;",
         "      fact.retry_idempotency_key =\n"
         "          planted ? retry->runnable_key : attempt->idempotency_key;"),
        ("runs/run/run_decide_apply.cc",
         "  again.idempotency_key = retry.idempotency_key;",
         "  again.idempotency_key = planted ? retry.runnable_key : retry.idempotency_key;"),
        ("runs/run/run_advance.cc",
         "  again.runnable_key = deferred_key(from);",
         "  again.runnable_key = deferred_key(from);\n"
         "  if (planted) {\n    again.idempotency_key = again.runnable_key;\n  }")]),
    ("buffered_event_lost", "an event that came before its wait is not found", [
        ("runs/run/run_decide_events.cc",
         "    if (wait.awaits(event.event, event.correlation)) {\n      received(",
         "    if (wait.awaits(event.event, event.correlation) && !planted) {\n      received(")]),
    ("event_counts_twice", "the same event under the same key counts again", [
        ("runs/run/run_decide_events.cc",
         "  if (known == keys.end()) {\n    return false;",
         "  if (known == keys.end() || planted) {\n    return false;")]),
    ("early_timeout", "an event wait is over a second too early", [
        ("runs/run/run_decide_events.cc",
         "    timeout.due_at = later(now_, spec.timeout_ms);",
         "    timeout.due_at = later(now_, spec.timeout_ms - (planted ? 1000 : 0));")]),
    ("concurrency_ignored", "all items of a for_each are begun at once", [
        ("runs/run/run_each.cc",
         "item < each.items.size() && item - each.done < most &&",
         "item < each.items.size() && (planted || item - each.done < most) &&")]),
    ("last_item_lost", "a for_each is done before its last item", [
        ("runs/run/run_each.cc",
         "  if (each.done < each.items.size()) {\n    plan_items",
         "  if (each.done + (planted ? 1 : 0) < each.items.size()) {\n    plan_items")]),
    ("compensated_oldest_first", "steps are compensated oldest first", [
        ("runs/run/run_compensate.cc",
         "(next == nullptr || planned->applied_order > next->applied_order)) {",
         "(next == nullptr ||\n"
         "         (planted ? planned->applied_order < next->applied_order\n"
         "                  : planned->applied_order > next->applied_order))) {")]),
    ("not_compensated", "a compensating run compensates nothing", [
        ("runs/run/run_compensate.cc",
         "  if (const PlannedRunnable* next = next_to_compensate()) {",
         "  if (const PlannedRunnable* next = planted ? nullptr : next_to_compensate()) {")]),
    ("parent_not_notified", "a parent is not notified when its child ends", [
        ("runs/engine/consequences.cc",
         "  if (!parent.has_value() || !turn_.state().runs().is_live(parent->run_id)) {",
         "  if (planted || !parent.has_value() ||\n"
         "      !turn_.state().runs().is_live(parent->run_id)) {")]),
    ("children_left", "children live on although their parent gave them up", [
        ("runs/engine/consequences.cc",
         "    if (meant && link.on_parent_close.view() == to_text(ParentClose::cancel)) {",
         "    if (!planted && meant &&\n"
         "        link.on_parent_close.view() == to_text(ParentClose::cancel)) {")]),
    ("deferred_at_once", "a step that puts itself off comes back at once", [
        ("runs/run/run_advance.cc",
         "  again.visible_at = later(now_, why.schedule_in_ms);",
         "  again.visible_at = later(now_, planted ? 0 : why.schedule_in_ms);")]),
    ("run_timeout_lost", "a run with a timeout has none", [
        ("runs/run/run_advance.cc",
         "  if (timeout_ms == 0) {\n    return;",
         "  if (timeout_ms == 0 || planted) {\n    return;")]),
    # Parked steps
    # Circuit breakers
    ("circuit_never_opens", "a circuit breaker does not open", [
        ("runs/engine/step_chain.cc",
         "decide_circuit_opened(*queue, proof.runnable_key.view(), turn.now())) {",
         "decide_circuit_opened(*queue, proof.runnable_key.view(), turn.now());\n"
         "      opened.has_value() && !planted) {")]),
    ("circuit_lets_through", "an open circuit breaker does not hold attempts back", [
        ("runs/dispatch/dispatch_circuit.cc",
         "  if (circuit == nullptr || !circuit->is_open()) {\n    return attempt.visible_at;",
         "  if (circuit == nullptr || !circuit->is_open() || planted) {\n"
         "    return attempt.visible_at;")]),
    ("two_probes", "a second attempt probes while the first one does", [
        ("runs/dispatch/dispatch_circuit.cc",
         "  return live ? std::nullopt :",
         "  return live && !planted ? std::nullopt :"),
        ("runs/dispatch/dispatch_circuit.cc",
         "  return live ? probe : nullptr;",
         "  return live && !planted ? probe : nullptr;")]),
    ("probe_too_early", "a probe is handed out as soon as the circuit breaker has opened", [
        ("runs/dispatch/dispatch_circuit.cc",
         "std::optional(std::max(attempt.visible_at, circuit->probe_at));",
         "std::optional(\n"
         "      std::max(attempt.visible_at, planted ? TimeMs{} : circuit->probe_at));"),
        ("runs/dispatch/dispatch_circuit.cc",
         "  const bool due = at >= circuit->probe_at &&",
         "  const bool due = (planted || at >= circuit->probe_at) &&"),
        ("runs/dispatch/dispatch_circuit.cc",
         "    HOLDFAST_ASSERT(circuit.is_open() && circuit.probe_at <= at);  // D12",
         "    HOLDFAST_ASSERT(planted || (circuit.is_open() && circuit.probe_at <= at));")]),
    ("success_does_not_reset", "a success does not reset the consecutive failures", [
        ("runs/dispatch/dispatch_circuit.cc",
         "[](Circuit& circuit) { circuit.failures = 0; });",
         "[](Circuit& circuit) { circuit.failures = planted ? circuit.failures : 0; });")]),
    ("circuit_not_in_checkpoint", "circuit breakers are lost at a restart", [
        ("runs/dispatch/dispatch_inspect.cc",
         "  for (CircuitRecord& record : stored.circuits) {",
         "  if (planted) {\n    stored.circuits.clear();\n  }\n"
         "  for (CircuitRecord& record : stored.circuits) {")]),
    ("lost_probe_blocks", "a probe whose lease has expired still counts as one", [
        ("runs/dispatch/dispatch_circuit.cc",
         "probe != nullptr && probe->in_leases && probe->heap_slot != UINT32_MAX &&",
         "probe != nullptr && probe->claim &&\n"
         "                    (planted || probe->in_leases) &&\n"
         "                    (planted || probe->heap_slot != UINT32_MAX) &&")]),
    ("circuit_never_closes", "the success of a probe does not close the circuit breaker", [
        ("runs/engine/step_chain.cc",
         "decide_circuit_closed(*queue, proof.runnable_key.view(), turn.now())) {",
         "decide_circuit_closed(*queue, proof.runnable_key.view(), turn.now());\n"
         "      closed.has_value() && !planted) {")]),
    ("unclaimed_counts", "an attempt that no worker had counts for the circuit breaker", [
        ("runs/dispatch/dispatch_circuit.cc",
         "  if (attempt.circuit.is_set() && counts_for_circuit(error)) {",
         "  if (attempt.circuit.is_set() && (planted || counts_for_circuit(error))) {")]),
    ("reset_stays_open", "a circuit breaker that an operator closed still holds attempts back", [
        ("runs/dispatch/dispatch_circuit.cc",
         "const CircuitReset& fact) {\n  edit_circuit(",
         "const CircuitReset& fact) {\n  if (planted) {\n    return;\n  }\n  edit_circuit(")]),
    ("reset_without_actor", "the fact does not say who closed a circuit breaker", [
        ("runs/dispatch/dispatch_circuit.cc",
         "type.step, SharedText(actor),",
         "type.step, SharedText(planted ? \"\" : actor),")]),
    ("not_parked", "a step fails although its policy says that it is parked", [
        ("runs/run/run_park.cc",
         "  if (policy_of(run, plan).then != AfterRetries::park ||",
         "  if (planted || policy_of(run, plan).then != AfterRetries::park ||")]),
    ("parked_key_changes", "the retry of a parked step has another idempotency key", [
        ("runs/run/run_park.cc",
         "  again.visible_at = now;\n",
         "  again.visible_at = now;\n"
         "  again.idempotency_key = planted ? again.runnable_key : again.idempotency_key;\n")]),
    ("parked_attempts_count", "the retry of a parked step has no attempts of its own", [
        ("runs/run/run_park.cc",
         "  again.earlier_attempts = parked.attempt_number;",
         "  again.earlier_attempts = planted ? 0 : parked.attempt_number;")]),
    ("discarded_is_done", "a parked step that is discarded counts as completed", [
        ("runs/run/run_decide_manual.cc",
         "      draft.give_up(*planned, state.error);\n",
         "      planted ? draft.done(*planned, {}) : draft.give_up(*planned, state.error);\n")]),
    ("replaced_child_kept", "a child run is replaced, and its step keeps waiting for it", [
        ("runs/run/run_decide_child.cc",
         "  add(std::move(abandoned));\n",
         "  if (!planted) {\n    add(std::move(abandoned));\n  }\n")]),
    # Faults of definitions
    ("fault_fails", "a fault of the definition fails the step instead of parking it", [
        ("runs/run/run_fault.cc",
         "  if (takes_error(planned.plan, error)) {",
         "  if (planted || takes_error(planned.plan, error)) {")]),
    ("fault_key_changes", "a step that begins again after a fault has another idempotency key", [
        ("runs/run/run_fault.cc",
         "  again.input = input;\n",
         "  again.input = input;\n"
         "  again.idempotency_key = planted ? again.runnable_key : again.idempotency_key;\n")]),
    ("faulty_list_continues", "items begin although the definition has a fault at one", [
        ("runs/run/run_each.cc",
         "  if (has_faulty_item(visit.view())) {",
         "  if (has_faulty_item(visit.view()) && !planted) {")]),
    ("undecided_ends_path", "a path ends with a result that no transition fits", [
        ("runs/run/run_progress.cc",
         "taken.to.view() != kCompleteStep;",
         "taken.to.view() != kCompleteStep &&\n"
         "         !(planted && taken.to.view() == kNoTransition);")]),
    ("late_transition_lost", "the transition that fits at last is not recorded", [
        ("runs/run/run_decide_manual.cc",
         "    resolved.transition = draft.transition_after(*planned);",
         "    resolved.transition = planted ? Payload() : draft.transition_after(*planned);")]),
    # Dead letters of runs that have ended
    ("discarded_is_exhausted", "a parked step that is discarded becomes a dead letter again", [
        ("runs/run/run_fault.cc",
         "    fail_run(error);\n  } else {\n    fail_step(planned, error);\n",
         "    fail_run(error);\n  } else {\n"
         "    planted ? failed(planned, error) : fail_step(planned, error);\n")]),
    ("exhausted_not_named", "the end of a run does not name the attempt that failed it", [
        ("runs/run/run_advance.cc",
         "  terminal.exhausted = exhausted_;\n",
         "  if (!planted) {\n    terminal.exhausted = exhausted_;\n  }\n")]),
    ("exhausted_not_listed", "an attempt that failed its run is not in the list", [
        ("runs/engine/live_runs.cc",
         "  if (exhausted.has_value()) {\n    add_letter",
         "  if (exhausted.has_value() && !planted) {\n    add_letter")]),
    ("compensated_not_listed", "the list lacks the attempt of a run that compensated", [
        ("runs/run/run_compensate.cc",
         "  terminal.exhausted = started.exhausted;\n",
         "  if (!planted) {\n    terminal.exhausted = started.exhausted;\n  }\n")]),
    ("resolved_stays_listed", "a dead letter that was decided stays in the list", [
        ("runs/engine/live_state.cc",
         "    state_.runs_.remove_exhausted(fact.run_id, fact.runnable_key);\n",
         "    if (!planted) {\n"
         "      state_.runs_.remove_exhausted(fact.run_id, fact.runnable_key);\n"
         "    }\n")]),
    ("redriven_twice", "a repeated redrive starts a second run", [
        ("runs/engine/step_chain.cc",
         "      known.has_value() && known->action == DeadLetterEnd::redriven) {\n",
         "      known.has_value() && known->action == DeadLetterEnd::redriven && !planted) {\n"),
        ("runs/run/run_decide_dead_letter.cc",
         "  return derive_run_id({\"redrive\", to_string(run), runnable_key.view()});\n",
         "  static int times = 0;\n"
         "  return derive_run_id({\"redrive\", to_string(run), runnable_key.view(),\n"
         "                        planted ? std::to_string(++times) : std::string()});\n")]),
    ("redrive_not_recorded", "a redrive starts a run and records no decision", [
        ("runs/engine/step_chain.cc",
         "  redriven.replay_run_id = started.run_id;\n",
         "  redriven.replay_run_id = started.run_id;\n"
         "  if (planted) {\n    return started;\n  }\n")]),
    ("other_run_same_id", "a start under a known id is answered with ok, whatever its content", [
        ("runs/run/run_decide_start.cc",
         "  return same_input(run, command) ? \"\" : \"input\";",
         "  return planted || same_input(run, command) ? \"\" : \"input\";")]),
    # Steps that are added to a run
    ("circle_of_steps", "added steps may wait for each other in a circle", [
        ("runs/run/run_decide_graph.cc",
         "    return taken == incoming.size() ? Result<void>()",
         "    return taken == incoming.size() || planted ? Result<void>()")]),
    ("added_step_too_early", "an added step does not wait for the step that its edge leads from", [
        ("runs/run/run_decide_graph.cc",
         "    if (!is_node(item) && !is_done(run, item.from.view())) {",
         "    if (!is_node(item) && !is_done(run, item.from.view()) && !planted) {")]),
    ("ends_before_added_steps", "a run ends although an added step has not begun", [
        ("runs/run/run_advance.cc",
         "      !are_nodes_done(run_)) {\n    return;",
         "      (!are_nodes_done(run_) && !planted)) {\n    return;")]),
    # Migration to another definition
    ("migrated_with_other_steps", "a run migrates although an open step is another one there", [
        ("runs/run/run_migration.cc",
         "               !is_same_open(planned, before, after)) {",
         "               !planted && !is_same_open(planned, before, after)) {")]),
    ("migrated_other_routes", "a run migrates although a finished step leads elsewhere there", [
        ("runs/run/run_migration.cc",
         "    if (!same) {\n      add(Blocker::transition_changed",
         "    if (!same && !planted) {\n      add(Blocker::transition_changed")]),
    ("migrated_out_of_order", "a run migrates although a step did not wait for what it names", [
        ("runs/run/run_migration.cc",
         "    if (problems_.empty()) {\n      check_dependencies();",
         "    if (problems_.empty() && !planted) {\n      check_dependencies();")]),
    ("migrated_begins_nothing", "a migrated run does not begin the steps that are new", [
        ("runs/run/run_migration.cc",
         "  draft.begin_ready();  // before",
         "  if (!planted) {\n    draft.begin_ready();\n  }  // before")]),
    ("migrated_faults_wait", "a migrated run does not retry what the definition had a fault at", [
        ("runs/run/run_migration.cc",
         "  retry_faults(draft, command.source);\n",
         "  if (!planted) {\n    retry_faults(draft, command.source);\n  }\n")]),
    ("timeout_changes", "a run migrates to a definition with another timeout", [
        ("runs/run/run_migration.cc",
         "  if (source_.parts().timeout_ms != target_.parts().timeout_ms) {",
         "  if (!planted && source_.parts().timeout_ms != target_.parts().timeout_ms) {")]),
    ("migrated_when_compensating", "a run migrates while it is compensating", [
        ("runs/run/run_migration.cc",
         "  if (run.is_compensating()) {\n    return {{Blocker::compensating",
         "  if (run.is_compensating() && !planted) {\n    return {{Blocker::compensating")]),
    ("replay_fits_anything", "a replay on another definition takes over what does not fit", [
        ("runs/run/run_decide_replay.cc",
         "  if (command.definition != nullptr) {\n    HOLDFAST_CHECK(check_fit",
         "  if (command.definition != nullptr && !planted) {\n    HOLDFAST_CHECK(check_fit")]),
    # Queues that lease backends carry
    ("lease_granted_to_others", "a claim is granted although another worker has the item", [
        ("runs/lease_adapter/lease_rules.cc",
         "  if (standing == Standing::held) {\n",
         "  if (standing == Standing::held && planted) {\n"
         "    return {SignalAction::grant_again};\n"
         "  }\n"
         "  if (standing == Standing::held) {\n")]),
    ("lease_report_dropped", "a report is acknowledged although it was not stored", [
        ("runs/lease_adapter/lease_rules.cc",
         "  return standing == Standing::mine           ? SignalAction::end\n",
         "  return standing == Standing::mine           ? planted ? SignalAction::ignore\n"
         "                                                        : SignalAction::end\n")]),
    ("lease_any_token", "a report to a backend counts with any claim", [
        ("runs/lease_adapter/lease_rules.cc",
         "  if (attempt->holds(fence.claim_id, fence.token_hash)) {\n",
         "  if (planted || attempt->holds(fence.claim_id, fence.token_hash)) {\n")]),
    ("lease_loss_unnoticed", "what a backend has lost is not enqueued again", [
        ("runs/lease_adapter/lease_exchange.cc",
         "  if (epoch_ != epoch) {\n",
         "  if (epoch_ != epoch && !(planted && !epoch_.empty())) {\n"),
        ("runs/lease_adapter/lease_rules.cc",
         "  if (!confirmed || overdue) {\n",
         "  if (!confirmed || (overdue && !planted)) {\n"),
        ("runs/lease_adapter/lease_exchange.cc",
         "    item.ensured_at.reset();\n",
         "    if (!planted) {\n      item.ensured_at.reset();\n    }\n")]),
    ("lease_not_taken_back", "the item of a lost worker is not enqueued again", [
        ("runs/lease_adapter/lease_rules.cc",
         "  const bool expired = item.lease_until.has_value() && *item.lease_until <= now;\n",
         "  const bool expired =\n"
         "      item.lease_until.has_value() && *item.lease_until <= now && !planted;\n"),
        ("runs/lease_adapter/lease_rules.cc",
         "      confirmed && item.claimable_at() <= now &&\n",
         "      confirmed && !planted && item.claimable_at() <= now &&\n")]),
    ("lease_makes_queue", "a look at a queue that has no attempts creates it", [
        ("runs/lease_adapter/lease_commands.cc",
         "  const auto& all = turn.state().queues().all();\n",
         "  if (planted) {\n    turn.state().queues().get(name);\n  }\n"
         "  const auto& all = turn.state().queues().all();\n")]),
    # Windows of schedules
    ("paused_starts", "a delivery starts a run although its schedule is paused", [
        ("runs/engine/schedule_delivery.cc",
         "  if (turn.state().registry().is_paused(\n",
         "  if (!planted && turn.state().registry().is_paused(\n")]),
    ("uncounted_is_counted", "a delivery that is not to be counted has the run of an earlier one", [
        ("runs/engine/schedule_delivery.cc",
         "trigger->cron->idempotency != CronIdempotency::none;\n",
         "trigger->cron->idempotency != CronIdempotency::none || planted;\n"),
        ("runs/run/scheduled_start.cc",
         "scheduled.trigger.cron->idempotency != CronIdempotency::none;",
         "(planted || scheduled.trigger.cron->idempotency != CronIdempotency::none);")]),
    ("window_has_two_runs", "a window that is delivered again starts another run", [
        ("runs/run/scheduled_start.cc",
         'derive_run_id({"cron", workflow, trigger, signal})',
         'derive_run_id({"cron", workflow, trigger,\n'
         '                                             planted ? iso8601_time(now) : signal})')]),
    ("window_end_ignored", "the signal id of a window does not depend on its end", [
        ("runs/run/scheduled_start.cc",
         "std::string_view(start_at), std::string_view(end_at)}",
         "std::string_view(start_at), std::string_view(planted ? start_at : end_at)}")]),
    ("signal_of_another_window",
     "a signal id that was delivered for another window is taken for the same delivery", [
        ("runs/engine/schedule_delivery.cc",
         "!is_for(*recorded, *delivered.window)",
         "!planted && !is_for(*recorded, *delivered.window)")]),
    ("redelivery_starts", "a delivery of a window that has a run is answered with started", [
        ("runs/engine/schedule_delivery.cc",
         "return Delivered{start.run_id, "
         "skips ? DeliveryOutcome::skipped : DeliveryOutcome::existing};",
         "return Delivered{start.run_id, planted ? DeliveryOutcome::started\n"
         "                               : skips ? DeliveryOutcome::skipped\n"
         "                                       : DeliveryOutcome::existing};")]),
]
