#include "mesh/roster/judge.h"

#include <algorithm>

#include "holdfast/assert.h"
#include "mesh/audit/snapshot.h"

namespace holdfast::mesh {

namespace {

// Not UTF-8, so no token can name it: what is unknown is admitted by no list.
constexpr std::string_view kUnknownText = "\xFF";

template <typename T>
bool is(const Payload& payload) {
  return std::holds_alternative<T>(payload);
}

Verdict unauthorised(const Admission& admission, Outcome outcome) {
  return {outcome, admission.reason, admission.failed};
}

// Operations on something that another operation created, and whose caveats look at that one.
bool is_about_existing(const Payload& payload) {
  return is<TombstoneEvidence>(payload) || is<UpdateClaimStatus>(payload) ||
         is<UpdateClaimConfidence>(payload) || is<SupersedeClaim>(payload);
}

}  // namespace

Pair required_pair(const Payload& payload) {
  struct Visitor {
    Pair operator()(const IngestEvidence&) const { return {Resource::evidence, Action::write}; }
    Pair operator()(const TombstoneEvidence&) const { return {Resource::evidence, Action::write}; }
    Pair operator()(const CreateEntity&) const { return {Resource::entity, Action::write}; }
    Pair operator()(const AddEntityAlias&) const { return {Resource::entity, Action::write}; }
    Pair operator()(const MergeEntities&) const { return {Resource::entity, Action::write}; }
    Pair operator()(const SplitEntity&) const { return {Resource::entity, Action::write}; }
    Pair operator()(const CreateClaim&) const { return {Resource::claim, Action::write}; }
    Pair operator()(const UpdateClaimStatus&) const { return {Resource::claim, Action::write}; }
    Pair operator()(const UpdateClaimConfidence&) const { return {Resource::claim, Action::write}; }
    Pair operator()(const SupersedeClaim&) const { return {Resource::claim, Action::write}; }
    Pair operator()(const ScheduleJob&) const { return {Resource::job, Action::schedule}; }
    Pair operator()(const ClaimWork&) const { return {Resource::job, Action::claim}; }
    Pair operator()(const CompleteJob&) const { return {Resource::job, Action::complete}; }
    Pair operator()(const YieldWork&) const { return {Resource::job, Action::complete}; }
    Pair operator()(const ExpireWork&) const { return {Resource::job, Action::complete}; }
    Pair operator()(const UserAssert&) const { return {Resource::user_assertion, Action::write}; }
    Pair operator()(const CreateArtifact&) const { return {Resource::artifact, Action::write}; }
    Pair operator()(const EvictArtifact&) const { return {Resource::artifact, Action::write}; }
    Pair operator()(const DesignateCoordinator&) const { return {Resource::mesh, Action::write}; }
    Pair operator()(const DelegateUcan&) const { return {Resource::registration, Action::write}; }
    Pair operator()(const RevokeUcan&) const { return {Resource::registration, Action::write}; }
    Pair operator()(const RouteKind&) const { return {Resource::mesh, Action::write}; }
    Pair operator()(const CreateEpisode&) const { return {Resource::episode, Action::write}; }
    Pair operator()(const UpdateEpisode&) const { return {Resource::episode, Action::write}; }
    Pair operator()(const CreateSuggestedAction&) const {
      return {Resource::action, Action::write};
    }
    Pair operator()(const UpdateActionStatus&) const { return {Resource::action, Action::write}; }
  };
  return std::visit(Visitor{}, payload);
}

Judge::Judge(const Roster& roster, OpRef op) : roster_(roster), op_(op), self_(roster.at(op)) {
  if (self_.subject != kNoRef) {
    before_ = roster_.state_before(self_);
  }
}

Judgement Judge::run() {
  Judgement result;
  result.after = before_;
  const bool violates = violates_causality();
  const std::optional<Verdict> refused = check_authority();
  result.authorised = !refused.has_value() && !violates;
  if (has_twin()) {
    result.verdict = voided(Reason::integrity_duplicate_hlc);
  } else if (violates) {
    result.verdict = rejected(Reason::causality_violation);
  } else if (refused.has_value()) {
    result.verdict = *refused;
  } else if (is_id_taken()) {
    result.verdict = voided(Reason::integrity_id_conflict);
  } else if (const auto waits = check_dependencies()) {
    result.verdict = *waits;
  } else if (const auto late = check_late_caveats()) {
    result.verdict = *late;
    result.authorised = late->reason != Reason::caveat_failed;
  } else if (const auto foreign = check_coordinator()) {
    result.verdict = *foreign;
  } else if (const auto unlinked = check_audit()) {
    result.verdict = *unlinked;
  } else {
    decide(result);
  }
  HOLDFAST_ASSERT(result.verdict.is_effective() || result.after == before_);
  return result;
}

bool Judge::has_twin() const { return self_.twin != op_; }

// A dependency is known when any operation carries its id. If all that do are not earlier than
// this one, it cannot be a cause. An unauthorised operation with a stolen id changes nothing: it
// could only add an earlier carrier.
bool Judge::violates_causality() const {
  return std::any_of(self_.operation.causal_deps.begin(), self_.operation.causal_deps.end(),
                     [&](const OpId& id) {
                       bool known = false;
                       for (const OpRef other : roster_.carriers(id)) {
                         if (roster_.at(other).key.at < self_.key.at) {
                           return false;
                         }
                         known = true;
                       }
                       return known;
                     });
}

bool Judge::is_id_taken() const {
  for (const OpRef other : roster_.carriers(self_.operation.id)) {
    const OpRecord& record = roster_.at(other);
    if (record.key.at < self_.key.at && record.judgement.authorised) {
      return true;
    }
  }
  return false;
}

const OpRecord* Judge::effective(const OpId& id) const {
  const OpRef cause = roster_.effective_before(id, self_.key.at);
  return cause == kNoRef ? nullptr : &roster_.at(cause);
}

std::optional<Verdict> Judge::check_dependencies() const {
  bool ineffective = false;
  for (const OpId& id : self_.operation.causal_deps) {
    if (roster_.carriers(id).empty()) {
      return deferred(Reason::missing_dep);
    }
    ineffective = ineffective || effective(id) == nullptr;
  }
  return ineffective ? std::optional(deferred(Reason::dep_void)) : std::nullopt;
}

Admission Judge::admit(const CaveatFacts& facts) const {
  const Payload& payload = self_.operation.payload;
  if (is<ExpireWork>(payload) && roster_.rules_.expire_authority == ExpireAuthority::enrolled) {
    return roster_.graph_.admit_enrolled(self_.author, facts.wall_ms);
  }
  return roster_.graph_.admit(self_.author, required_pair(payload), facts);
}

std::optional<Verdict> Judge::check_chain(const CaveatFacts& facts) const {
  const Admission admission = admit(facts);
  return admission.admitted() ? std::nullopt
                              : std::optional(unauthorised(admission, Outcome::parked));
}

std::optional<Verdict> Judge::check_delegation() const {
  if (self_.token == nullptr) {
    return rejected(Reason::malformed);
  }
  if (roster_.graph_.structure(self_.token->cid) == TokenGraph::Structure::invalid) {
    return parked(Reason::not_admitted);
  }
  return self_.token->audience == self_.author ? std::nullopt : check_chain(facts());
}

std::optional<Verdict> Judge::check_revocation(const RevokeUcan& revocation) const {
  if (roster_.graph_.may_revoke(self_.author, revocation.ucan_cid)) {
    return std::nullopt;
  }
  return roster_.graph_.knows(revocation.ucan_cid) ? parked(Reason::not_admitted)
                                                   : deferred(Reason::missing_proof);
}

std::optional<Verdict> Judge::check_authority() const {
  const Payload& payload = self_.operation.payload;
  if (is<DelegateUcan>(payload)) {
    return check_delegation();
  }
  if (const auto* revocation = std::get_if<RevokeUcan>(&payload)) {
    return check_revocation(*revocation);
  }
  if (is<RouteKind>(payload) || is<DesignateCoordinator>(payload)) {
    const bool owns = roster_.graph_.is_owner(self_.author, self_.key.at.wall_ms);
    return owns ? std::nullopt : std::optional(parked(Reason::not_owner));
  }
  if (!check_snapshot(self_.operation).ok()) {
    return rejected(Reason::malformed);
  }
  CaveatFacts known = facts();
  if (const auto* evidence = std::get_if<IngestEvidence>(&payload)) {
    known.source_type = evidence->source_type;
  } else if (const auto* claim = std::get_if<CreateClaim>(&payload)) {
    known.predicate = claim->predicate;
  }
  if (const auto refused = check_chain(known)) {
    return refused;
  }
  if (const auto* schedule = std::get_if<ScheduleJob>(&payload)) {
    known.kind = schedule->kind;
    const Admission admission = admit(known);
    if (!admission.admitted()) {
      return unauthorised(admission, Outcome::void_);
    }
  }
  return std::nullopt;
}

// The kind of a job, the predicate of a claim and the source type of evidence are in the operation
// that created it. An operation that fails them is on the log: it was undecided at first.
std::optional<Verdict> Judge::check_late_caveats() const {
  const Payload& payload = self_.operation.payload;
  CaveatFacts known = facts();
  if (job_of(payload).has_value() && !is<ScheduleJob>(payload)) {
    if (before_.job.phase == JobPhase::unknown) {
      return std::nullopt;  // decided by step_job
    }
    known.kind = roster_.kind_of(before_.job);
  } else if (is_about_existing(payload)) {
    if (!before_.creation.has_value()) {
      return check_unknown_subject();
    }
    const Payload& creation = roster_.at(*before_.creation).operation.payload;
    if (const auto* evidence = std::get_if<IngestEvidence>(&creation)) {
      known.source_type = evidence->source_type;
    } else {
      known.predicate = std::get<CreateClaim>(creation).predicate;
    }
  }
  if (!known.kind.has_value() && !known.predicate.has_value() && !known.source_type.has_value()) {
    return std::nullopt;
  }
  const Admission admission = admit(known);
  return admission.admitted() ? std::nullopt
                              : std::optional(unauthorised(admission, Outcome::void_));
}

// Waits for the creating operation only if a caveat would have to look at it.
std::optional<Verdict> Judge::check_unknown_subject() const {
  CaveatFacts unknown = facts();
  unknown.predicate = kUnknownText;
  unknown.source_type = kUnknownText;
  const Admission admission = admit(unknown);
  return admission.admitted() ? std::nullopt : std::optional(deferred(Reason::missing_dep));
}

std::optional<Verdict> Judge::check_coordinator() {
  if (!roster_.rules_.enforce_coordinator || !is_derivation(self_.operation.payload)) {
    return std::nullopt;
  }
  const bool allowed = holds_named_job() ||
                       roster_.coordinator_at(self_.key.at) == self_.key.at.node ||
                       roster_.graph_.speaks_for_user(self_.author, self_.key.at.wall_ms);
  return allowed ? std::nullopt : std::optional(voided(Reason::not_coordinator));
}

// Output of a worker: the operation names a job that its author holds at that time.
bool Judge::holds_named_job() {
  if (const auto* claim = std::get_if<CreateClaim>(&self_.operation.payload)) {
    watched_ = claim->provenance.jobs;
  }
  const auto caused = jobs_of_effective_dependencies();
  watched_.insert(watched_.end(), caused.begin(), caused.end());
  return std::any_of(watched_.begin(), watched_.end(), [&](const JobId& job) {
    const JobState state = roster_.state_before({Subject::Type::job, job.bytes}, self_.key).job;
    return state.phase == JobPhase::claimed && state.claimer == self_.key.at.node;
  });
}

void Judge::decide(Judgement& result) {
  const Payload& payload = self_.operation.payload;
  result.verdict = applied();
  if (job_of(payload).has_value()) {
    decide_job(result);
  } else if (is<CreateArtifact>(payload) || is<EvictArtifact>(payload)) {
    decide_artifact(result);
  } else if (is<IngestEvidence>(payload) || is<CreateClaim>(payload)) {
    result.after.creation = before_.creation.value_or(op_);
  } else if (self_.token != nullptr &&
             roster_.graph_.structure(self_.token->cid) != TokenGraph::Structure::valid) {
    result.verdict = deferred(Reason::missing_proof);
  }
}

void Judge::decide_artifact(Judgement& result) const {
  if (is<CreateArtifact>(self_.operation.payload)) {
    result.verdict = before_.creation.has_value() ? noop() : applied();
    result.after.creation = before_.creation.value_or(op_);
    return;
  }
  if (!before_.creation.has_value()) {
    result.verdict = deferred(Reason::missing_dep);
  } else if (roster_.at(*before_.creation).key.at.node != self_.key.at.node &&
             !roster_.graph_.is_owner(self_.author, self_.key.at.wall_ms)) {
    result.verdict = voided(Reason::not_owner);
  } else {
    result.verdict = before_.evicted ? noop() : applied();
    result.after.evicted = true;
  }
}

void Judge::decide_job(Judgement& result) const {
  JobStep step = step_job(before_.job, job_op());
  result.verdict = step.verdict;
  result.after.job = step.after;
}

// The dependencies are effective, so claims among them are of earlier tenures or of this one.
bool Judge::cites_old_tenure() const {
  const auto& first = before_.job.first_claim;
  return first.has_value() && std::any_of(self_.operation.causal_deps.begin(),
                                          self_.operation.causal_deps.end(), [&](const OpId& id) {
                                            const OpRecord* cause = effective(id);
                                            HOLDFAST_ASSERT(cause != nullptr);
                                            return is<ClaimWork>(cause->operation.payload) &&
                                                   cause->key.at.node == self_.key.at.node &&
                                                   cause->subject == self_.subject &&
                                                   cause->key < roster_.at(*first).key;
                                          });
}

JobOp Judge::job_op() const {
  const Payload& payload = self_.operation.payload;
  JobOp op{.kind = JobOpKind::schedule, .op = op_, .at = self_.key.at};
  if (const auto* claim = std::get_if<ClaimWork>(&payload)) {
    op.kind = JobOpKind::claim;
    op.lease_ms = claim->lease_duration_ms;
    const std::uint64_t longest_ms = roster_.rules_.max_lease_ms;
    op.too_long = longest_ms > 0 && op.lease_ms > longest_ms;
    op.route = before_.job.phase == JobPhase::unknown
                   ? std::nullopt
                   : roster_.route_at(roster_.kind_of(before_.job), self_.key.at);
  } else if (is<CompleteJob>(payload)) {
    op.kind = JobOpKind::complete;
    op.of_old_tenure = roster_.rules_.strict_tenure && cites_old_tenure();
  } else if (is<YieldWork>(payload)) {
    op.kind = JobOpKind::yield;
  } else if (const auto* expiry = std::get_if<ExpireWork>(&payload)) {
    op.kind = JobOpKind::expire;
    op.expired_claimer = expiry->expired_claimer;
  }
  return op;
}

}  // namespace holdfast::mesh
