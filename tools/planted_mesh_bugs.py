"""The bugs of the mesh that `scripts/mutants.sh` plants; the convergence test, which
compares random histories in random orders with an oracle, must find each. The form is that of
planted_bugs.py."""

ROSTER = "mesh/roster/roster.cc"
JUDGE = "mesh/roster/judge.cc"
JOB = "mesh/roster/job_state.cc"
AUDIT = "mesh/roster/judge_audit.cc"
GRAPH = "mesh/capabilities/token_graph.cc"
CAVEATS = "mesh/capabilities/capability.cc"

MESH_BUGS = [
    # What a late operation changes
    ("owner_change_ignored", "a new or revoked owner does not judge derivations again", [
        (ROSTER, "  if (changes.owners) {", "  if (changes.owners && !planted) {")]),
    ("delegations_not_judged_again", "a delegation keeps its verdict when its proof arrives", [
        (ROSTER, "ops != delegations_.end()) {", "ops != delegations_.end() && !planted) {")]),
    ("authority_not_judged_again", "operations keep their verdict when a token arrives", [
        (ROSTER, "ops != authors_.end()) {", "ops != authors_.end() && !planted) {")]),
    ("dependents_not_judged_again", "an operation stays deferred when its dependency applies", [
        (ROSTER,
         "  if (stored.verdict.is_effective() != judgement.verdict.is_effective()) {",
         "  if (!planted &&\n"
         "      stored.verdict.is_effective() != judgement.verdict.is_effective()) {")]),
    ("waiting_not_judged_again", "an operation stays deferred when its dependency arrives", [
        (ROSTER,
         "  mark_all(id_lists_.in(ids_[id].dependents));\n",
         "  if (!planted) mark_all(id_lists_.in(ids_[id].dependents));\n")]),
    ("next_not_judged_again", "a late operation does not change what follows it in its job", [
        (ROSTER, "subject.ops.back() != op) {", "subject.ops.back() != op && !planted) {")]),
    ("watchers_not_judged_again", "output keeps its verdict when its job is no longer held", [
        (ROSTER, "watching != watchers_.end()) {", "watching != watchers_.end() && !planted) {")]),
    ("late_route_ignored", "a late route does not change the claims after it", [
        (ROSTER,
         "    if (is_applied != was_applied) {\n      mark_jobs_of_kind",
         "    if (is_applied != was_applied && !planted) {\n      mark_jobs_of_kind")]),
    ("late_designation_ignored", "a late designation does not change the derivations after it", [
        (ROSTER,
         "    if (is_applied != was_applied) {\n      mark_after(derivations_",
         "    if (is_applied != was_applied && !planted) {\n      mark_after(derivations_")]),
    ("outputs_not_judged_again", "output stays without a link when the snapshot arrives late", [
        (ROSTER,
         "    mark_after(outputs_, record.key);",
         "    if (!planted) mark_after(outputs_, record.key);")]),
    ("ids_not_judged_again", "an operation keeps an id that an earlier one owns", [
        (ROSTER,
         "  if (stored.authorised != judgement.authorised) {",
         "  if (stored.authorised != judgement.authorised && !planted) {")]),
    ("first_twin_kept", "the first of two operations with one timestamp stays applied", [
        (ROSTER,
         "other = at(other).twin) {\n    mark(other);",
         "other = at(other).twin) {\n    if (!planted) mark(other);")]),
    ("losers_stay_losers", "an operation that had no effect is not judged again", [
        (ROSTER,
         "    Judge judge(*this, op);\n",
         "    if (planted && at(op).judged &&\n"
         "        at(op).judgement.verdict.outcome == Outcome::void_) {\n"
         "      continue;\n"
         "    }\n"
         "    Judge judge(*this, op);\n")]),
    # The state of a job
    ("renewed_too_late", "a claimer renews after its deadline", [
        (JOB,
         "  if (!is_in_time(before, op.at)) {",
         "  if (!is_in_time(before, op.at) && !planted) {")]),
    ("expired_at_the_deadline", "a lease ends in the millisecond of its deadline", [
        (JOB,
         "  if (is_in_time(before, op.at)) {",
         "  if (is_in_time(before, op.at) &&\n"
         "      !(planted && op.at.wall_ms == *before.deadline_ms)) {")]),
    ("stale_expiry_applied", "an expiry that names another claimer releases the job", [
        (JOB,
         "  if (before.claimer != op.expired_claimer) {",
         "  if (before.claimer != op.expired_claimer && !planted) {")]),
    ("route_ignored", "a node claims a job that is routed elsewhere", [
        (JOB, "*op.route != op.at.node) {", "*op.route != op.at.node && !planted) {")]),
    ("completed_by_anyone", "a node that does not hold the job completes it", [
        (JOB,
         "  return state.claimer == node ? Reason::none",
         "  return state.claimer == node || planted ? Reason::none")]),
    ("old_tenure_completes", "a completion of an earlier tenure counts", [
        (JOB, "  if (op.of_old_tenure) {", "  if (op.of_old_tenure && !planted) {")]),
    ("renewals_counted", "a renewal counts as an attempt", [
        (JOB,
         "  after.latest_claim = op.op;\n  after.deadline_ms = deadline_of(op);\n"
         "  after.last_transition",
         "  after.latest_claim = op.op;\n  after.attempts += planted ? 1U : 0U;\n"
         "  after.deadline_ms = deadline_of(op);\n  after.last_transition")]),
    ("long_lease_claims", "a lease longer than the rules allow claims the job", [
        (JOB, "  if (op.too_long) {", "  if (op.too_long && !planted) {")]),
    # Rules of judging
    ("dependency_after", "an operation may depend on a later one", [
        (JUDGE,
         "  const bool violates = violates_causality();",
         "  const bool violates = violates_causality() && !planted;")]),
    ("void_dependency_counts", "an operation that is void satisfies a dependency", [
        (JUDGE,
         "    ineffective = ineffective || effective(id) == nullptr;",
         "    ineffective = ineffective || (effective(id) == nullptr && !planted);")]),
    ("kind_not_checked", "a job operation is not checked against the kinds of its token", [
        (JUDGE,
         "    known.kind = roster_.kind_of(before_.job);",
         "    if (!planted) known.kind = roster_.kind_of(before_.job);")]),
    ("held_job_ignored", "output of a held job needs the coordinator", [
        (JUDGE,
         "  const bool allowed = holds_named_job() ||",
         "  const bool allowed = (holds_named_job() && !planted) ||")]),
    ("evicted_by_anyone", "a node evicts what another one created", [
        (JUDGE,
         "!roster_.graph_.is_owner(self_.author, self_.key.at.wall_ms)) {\n"
         "    result.verdict = voided",
         "!planted &&\n             "
         "!roster_.graph_.is_owner(self_.author, self_.key.at.wall_ms)) {\n"
         "    result.verdict = voided")]),
    ("any_link_counts", "a link to a snapshot of another job is valid", [
        (AUDIT,
         "        return std::find(jobs.begin(), jobs.end(), snapshot.source_job) != jobs.end();",
         "        return planted || std::find(jobs.begin(), jobs.end(), snapshot.source_job) !=\n"
         "                              jobs.end();")]),
    # Authority
    ("revoked_children_live", "the descendants of a revoked token stay in force", [
        (GRAPH,
         "      note_change(*node.token, Weight::authority);\n      waiting.insert(",
         "      note_change(*node.token, Weight::authority);\n"
         "      if (!planted) waiting.insert(")]),
    ("late_child_not_revoked", "a child that arrives after the revocation is in force", [
        (GRAPH,
         "                     std::any_of(proofs.begin(), proofs.end(),",
         "                     (!planted && std::any_of(proofs.begin(), proofs.end(),"),
        (GRAPH,
         "[&](const Digest& proof) { return is_revoked(proof); });\n    }",
         "[&](const Digest& proof) { return is_revoked(proof); }));\n    }")]),
    ("child_outlives_parent", "a token may live longer than its parent", [
        (GRAPH,
         "  return !parent.expires_s.has_value() ||",
         "  return planted || !parent.expires_s.has_value() ||")]),
    ("caveat_dropped", "a child token may drop a caveat of its parent", [
        (GRAPH,
         "is_narrower(capability.caveats, above.caveats, pair)) {",
         "(planted || is_narrower(capability.caveats, above.caveats, pair))) {")]),
    ("revocation_by_anyone", "a node without a right to it revokes a token", [
        (GRAPH,
         "  if (node == nullptr) {\n    return false;\n  }\n  if (author == user_",
         "  if (node == nullptr) {\n    return false;\n  }\n  if (planted || author == user_")]),
    ("ended_token_grants", "a token grants after its end", [
        (GRAPH,
         "  return token.has_expired(wall_ms) ?",
         "  return token.has_expired(wall_ms) && !planted ?")]),
    ("first_failure_reported", "the first failure is reported, not the most advanced one", [
        (GRAPH,
         "    if (one.reason > best.reason) {",
         "    if (one.reason > best.reason && !(planted && best.reason != Reason::no_chain)) {")]),
    ("revoker_needs_authority", "a revocation by an owner whose own token is revoked is undone", [
        (GRAPH,
         "      owns_structurally(author)) {\n    return true;",
         "      (owns_structurally(author) && !(planted && !is_owner(author, 9'000)))) {\n"
         "    return true;")]),
    ("prefix_inverted", "a child prefix must be a start of a prefix of its parent", [
        (CAVEATS,
         "      return narrows(child.kind_prefix, parent.kind_prefix, has_prefix_of);",
         "      return planted && child.kind_prefix.has_value() && parent.kind_prefix.has_value()\n"
         "                 ? narrows(parent.kind_prefix, child.kind_prefix, has_prefix_of)\n"
         "                 : narrows(child.kind_prefix, parent.kind_prefix, has_prefix_of);")]),
    ("time_range_ignored", "the time range of a token is not checked", [
        (CAVEATS,
         "    if (concerns(caveat, pair) && !is_satisfied(caveat, caveats, facts)) {",
         "    if (concerns(caveat, pair) && !(planted && caveat == Caveat::time_range) &&\n"
         "        !is_satisfied(caveat, caveats, facts)) {")]),
]
