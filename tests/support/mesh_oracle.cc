#include "tests/support/mesh_oracle.h"

#include <algorithm>
#include <limits>

#include "tests/support/mesh_oracle_authority.h"

namespace holdfast::mesh {

namespace {

using namespace oracle;

struct Fold {
  const World& world;
  std::map<JobId, OracleJob> jobs;
  std::map<std::string, std::optional<NodeId>> routes;
  std::map<JobId, Timestamp> tenures;  // when the current or last one began
  std::optional<NodeId> coordinator;
  std::map<ArtifactId, NodeId> artifacts;
  std::set<ArtifactId> evicted;
  std::map<IdBytes, CreateArtifact> by_artifact;  // applied, by the id of the artifact
  std::map<IdBytes, CreateArtifact> by_creator;   // applied, by the id of the operation
  std::map<ClaimId, std::string> predicates;
  std::map<EvidenceId, std::string> source_types;
  std::set<OpId> owned_ids;
  std::map<OpId, Payload> effective;  // applied or noop
  std::map<Digest, std::string> verdicts;

  void run();
  std::string judge(const Op& op, bool& owns_id);
  std::string authority(const Op& op, bool& is_void) const;
  std::string state(const Op& op);
  std::string effect(const Op& op);
  std::string job_state(const Op& op, OracleJob& job);
  std::string late(const Op& op, Pair pair, Facts facts) const;
  std::string refusal(const Op& op, Pair pair, const Facts& facts) const;
  bool cites_old_claim(const Op& op, const JobId& job) const;
  bool may_derive(const Op& op) const;
  std::string audit(const Op& op) const;
};

Pair pair_for(std::size_t kind) {
  static const Pair kPairs[] = {
      {Resource::evidence, Action::write},     {Resource::evidence, Action::write},
      {Resource::entity, Action::write},       {Resource::entity, Action::write},
      {Resource::entity, Action::write},       {Resource::entity, Action::write},
      {Resource::claim, Action::write},        {Resource::claim, Action::write},
      {Resource::claim, Action::write},        {Resource::claim, Action::write},
      {Resource::job, Action::schedule},       {Resource::job, Action::claim},
      {Resource::job, Action::complete},       {Resource::job, Action::complete},
      {Resource::job, Action::complete},       {Resource::user_assertion, Action::write},
      {Resource::artifact, Action::write},     {Resource::artifact, Action::write},
      {Resource::mesh, Action::write},         {Resource::registration, Action::write},
      {Resource::registration, Action::write}, {Resource::mesh, Action::write},
      {Resource::episode, Action::write},      {Resource::episode, Action::write},
      {Resource::action, Action::write},       {Resource::action, Action::write}};
  return kPairs[kind];
}

std::optional<JobId> named_job(const Payload& payload) {
  if (const auto* p = std::get_if<ScheduleJob>(&payload)) return p->job_id;
  if (const auto* p = std::get_if<ClaimWork>(&payload)) return p->job_id;
  if (const auto* p = std::get_if<CompleteJob>(&payload)) return p->job_id;
  if (const auto* p = std::get_if<YieldWork>(&payload)) return p->job_id;
  if (const auto* p = std::get_if<ExpireWork>(&payload)) return p->job_id;
  return std::nullopt;
}

// Empty when authorised. is_void: the operation is on the log and void, not parked.
std::string Fold::authority(const Op& op, bool& is_void) const {
  const Payload& payload = op.operation.payload;
  const std::uint64_t wall_ms = op.operation.timestamp.wall_ms;
  const Pair pair = pair_for(payload.index());
  is_void = false;
  if (const auto* p = std::get_if<RevokeUcan>(&payload)) {
    if (may_revoke(world, op.author, p->ucan_cid)) {
      return "";
    }
    return world.tokens.contains(p->ucan_cid) ? "parked not_admitted" : "deferred missing_proof";
  }
  if (std::holds_alternative<RouteKind>(payload) ||
      std::holds_alternative<DesignateCoordinator>(payload)) {
    return is_owner(world, op.author, wall_ms) ? "" : "parked not_owner";
  }
  Facts facts{wall_ms, {}, {}, {}};
  if (const auto* p = std::get_if<CreateArtifact>(&payload)) {
    // The random histories have no snapshots with inline content.
    if (p->artifact_type == "likewise.inference.snapshot" &&
        (!p->source_job || !p->model_id || !p->model_version)) {
      return "rejected malformed";
    }
  }
  if (std::holds_alternative<DelegateUcan>(payload)) {
    if (!op.token) {
      return "rejected malformed";
    }
    if (chain_of(world, *op.token).first == Chain::bad) {
      return "parked not_admitted";
    }
    if (op.token->audience == op.author) {
      return "";
    }
  }
  if (const auto* p = std::get_if<IngestEvidence>(&payload)) facts.source_type = p->source_type;
  if (const auto* p = std::get_if<CreateClaim>(&payload)) facts.predicate = p->predicate;
  const std::string reason = refusal(op, pair, facts);
  if (!reason.empty()) {
    return "parked " + reason;
  }
  if (const auto* p = std::get_if<ScheduleJob>(&payload)) {
    facts.kind = p->kind;
    const std::string failed = why_not(world, op.author, pair, facts);
    is_void = !failed.empty();
    return failed.empty() ? "" : "void " + failed;
  }
  return "";
}

std::string Fold::refusal(const Op& op, Pair pair, const Facts& facts) const {
  const bool expires = std::holds_alternative<ExpireWork>(op.operation.payload);
  return expires && world.rules.expire_authority == ExpireAuthority::enrolled
             ? why_not_enrolled(world, op.author, facts.wall_ms)
             : why_not(world, op.author, pair, facts);
}

std::string Fold::late(const Op& op, Pair pair, Facts facts) const {
  const std::string reason = refusal(op, pair, facts);
  return reason.empty() ? "" : "void " + reason;
}

bool Fold::may_derive(const Op& op) const {
  const NodeId author = op.operation.author();
  const std::uint64_t wall_ms = op.operation.timestamp.wall_ms;
  std::optional<NodeId> current = coordinator;
  if (!current) {
    for (const auto& [cid, token] : world.tokens) {
      if (is_owner(world, token.audience, wall_ms)) {
        const NodeId owner = node_id_of(token.audience);
        current = current ? std::min(*current, owner) : owner;
      }
    }
  }
  if (current == author || root_grants(world, op.author, {Resource::user_assertion, Action::write},
                                       wall_ms, Caveated::absent)) {
    return true;
  }
  std::vector<JobId> named;
  if (const auto* p = std::get_if<CreateClaim>(&op.operation.payload)) {
    named = p->provenance.jobs;
  }
  for (const OpId& dep : op.operation.causal_deps) {
    if (const auto job = named_job(effective.at(dep))) {
      named.push_back(*job);
    }
  }
  for (const JobId& job : named) {
    if (jobs.contains(job) && jobs.at(job).phase == "Claimed" && jobs.at(job).claimer == author) {
      return true;
    }
  }
  return false;
}

// Empty when nothing is required or a link is valid.
std::string Fold::audit(const Op& op) const {
  std::vector<JobId> named;
  std::vector<std::optional<CreateArtifact>> links;
  if (const auto* p = std::get_if<CreateClaim>(&op.operation.payload)) {
    named = p->provenance.jobs;
    for (const ArtifactId& id : p->provenance.artifacts) {
      if (by_artifact.contains(id.bytes)) {
        links.emplace_back(by_artifact.at(id.bytes));
      } else if (by_creator.contains(id.bytes)) {
        links.emplace_back(by_creator.at(id.bytes));
      } else {
        links.emplace_back(std::nullopt);
      }
    }
  } else {
    const auto* action = std::get_if<CreateSuggestedAction>(&op.operation.payload);
    if (action != nullptr && action->derivation_job) {
      named.push_back(*action->derivation_job);
    }
    for (const OpId& dep : op.operation.causal_deps) {
      const auto job = named_job(effective.at(dep));
      if (action == nullptr && job) {
        named.push_back(*job);
      }
      if (by_creator.contains(dep.bytes)) {
        links.emplace_back(by_creator.at(dep.bytes));
      }
    }
  }
  std::set<JobId> inference;
  for (const JobId& job : named) {
    bool is_inference = false;
    for (const auto& [id, artifact] : by_artifact) {
      is_inference = is_inference || (artifact.artifact_type == "likewise.inference.snapshot" &&
                                      artifact.source_job == job);
    }
    for (const std::string& prefix : world.rules.inference_kinds) {
      is_inference = is_inference ||
                     (jobs.contains(job) && jobs.at(job).kind.substr(0, prefix.size()) == prefix);
    }
    if (is_inference) {
      inference.insert(job);
    }
  }
  if (inference.empty() || !is_audited(world, op.author, op.operation.timestamp.wall_ms)) {
    return "";
  }
  bool unknown = false;
  for (const auto& link : links) {
    unknown = unknown || !link;
    if (link && link->artifact_type == "likewise.inference.snapshot" && link->source_job &&
        inference.contains(*link->source_job)) {
      return "";
    }
  }
  if (links.empty()) return "void audit_link_missing";
  return unknown ? "deferred missing_dep" : "void audit_link_invalid";
}

// The dependencies of the operation are effective.
bool Fold::cites_old_claim(const Op& op, const JobId& job) const {
  for (const Op& other : world.ops) {
    const auto* claim = std::get_if<ClaimWork>(&other.operation.payload);
    const auto& deps = op.operation.causal_deps;
    if (claim != nullptr && claim->job_id == job && other.author == op.author &&
        std::count(deps.begin(), deps.end(), other.operation.id) > 0 &&
        (verdicts.contains(other.hash) && verdicts.at(other.hash) == "applied") &&
        other.operation.timestamp < tenures.at(job)) {
      return true;
    }
  }
  return false;
}

std::string Fold::job_state(const Op& op, OracleJob& job) {
  const Timestamp t = op.operation.timestamp;
  const Payload& payload = op.operation.payload;
  const bool mine = job.claimer == t.node;
  if (const auto* p = std::get_if<ClaimWork>(&payload)) {
    if (job.phase == "Completed") return "void job_completed";
    if (world.rules.max_lease_ms > 0 && p->lease_duration_ms > world.rules.max_lease_ms) {
      return "void lease_too_long";
    }
    const auto route = routes.find(job.kind);
    if (route != routes.end() && route->second && *route->second != t.node) {
      return "void routed_elsewhere";
    }
    if (job.phase == "Claimed" && !mine) return "void already_claimed";
    if (job.phase == "Claimed" && t.wall_ms > *job.deadline_ms) return "void renew_after_deadline";
    job.attempts += job.phase == "Pending" ? 1 : 0;
    if (job.phase == "Pending") tenures[p->job_id] = t;
    job.phase = "Claimed";
    job.claimer = t.node;
    const bool never = p->lease_duration_ms > std::numeric_limits<std::uint64_t>::max() - t.wall_ms;
    job.deadline_ms =
        never ? std::numeric_limits<std::uint64_t>::max() : t.wall_ms + p->lease_duration_ms;
    return "applied";
  }
  if (const auto* p = std::get_if<ExpireWork>(&payload)) {
    if (job.phase != "Claimed") return "noop";
    if (job.claimer != p->expired_claimer) return "void stale_expire";
    if (t.wall_ms <= *job.deadline_ms) return "void lease_not_expired";
    job.expiries += 1;
  } else {
    if (job.phase == "Completed") return "void job_completed";
    if (job.phase == "Pending") return "void not_claimed";
    if (!mine) return "void not_claimer";
    if (const auto* done = std::get_if<CompleteJob>(&payload)) {
      if (world.rules.strict_tenure && cites_old_claim(op, done->job_id))
        return "void stale_tenure";
      job.phase = "Completed";
      job.deadline_ms.reset();
      return "applied";
    }
    job.yields += 1;
  }
  job.phase = "Pending";
  job.claimer.reset();
  job.deadline_ms.reset();
  return "applied";
}

std::string Fold::state(const Op& op) {
  const Payload& payload = op.operation.payload;
  const Pair pair = pair_for(payload.index());
  const std::uint64_t wall_ms = op.operation.timestamp.wall_ms;
  Facts facts{wall_ms, {}, {}, {}};
  if (const auto* p = std::get_if<ScheduleJob>(&payload)) {
    if (jobs.contains(p->job_id)) return "void duplicate_job";
    jobs[p->job_id] = {p->kind, "Pending", {}, {}, 0, 0, 0};
    return "applied";
  }
  if (const auto id = named_job(payload)) {
    if (!jobs.contains(*id)) return "deferred unknown_job";
    facts.kind = jobs.at(*id).kind;
    const std::string failed = late(op, pair, facts);
    return failed.empty() ? job_state(op, jobs.at(*id)) : failed;
  }
  std::optional<ClaimId> claim;
  if (const auto* p = std::get_if<UpdateClaimStatus>(&payload)) claim = p->claim_id;
  if (const auto* p = std::get_if<UpdateClaimConfidence>(&payload)) claim = p->claim_id;
  if (const auto* p = std::get_if<SupersedeClaim>(&payload)) claim = p->old_claim;
  const auto* tombstone = std::get_if<TombstoneEvidence>(&payload);
  if (claim || tombstone != nullptr) {
    if (claim && predicates.contains(*claim)) facts.predicate = predicates.at(*claim);
    if (tombstone != nullptr && source_types.contains(tombstone->evidence_id)) {
      facts.source_type = source_types.at(tombstone->evidence_id);
    }
    const bool known = facts.predicate || facts.source_type;
    if (!known) {
      facts.predicate = facts.source_type = "a text that no list names";
    }
    const std::string failed = late(op, pair, facts);
    if (!failed.empty()) {
      return known ? failed : "deferred missing_dep";
    }
  }
  if (payload.index() >= 2 && payload.index() <= 9 && world.rules.enforce_coordinator &&
      !may_derive(op)) {
    return "void not_coordinator";
  }
  if (payload.index() == 6 || payload.index() == 22 || payload.index() == 24) {
    const std::string unlinked = audit(op);
    if (!unlinked.empty()) {
      return unlinked;
    }
  }
  return effect(op);
}

std::string Fold::effect(const Op& op) {
  const Payload& payload = op.operation.payload;
  if (const auto* p = std::get_if<CreateClaim>(&payload)) {
    predicates.emplace(p->claim_id, p->predicate);
  } else if (const auto* evidence = std::get_if<IngestEvidence>(&payload)) {
    source_types.emplace(evidence->evidence_id, evidence->source_type);
  } else if (const auto* artifact = std::get_if<CreateArtifact>(&payload)) {
    const bool first = artifacts.emplace(artifact->artifact_id, op.operation.author()).second;
    if (first) {
      by_artifact.emplace(artifact->artifact_id.bytes, *artifact);
      by_creator.emplace(op.operation.id.bytes, *artifact);
    }
    return first ? "applied" : "noop";
  } else if (const auto* eviction = std::get_if<EvictArtifact>(&payload)) {
    if (!artifacts.contains(eviction->artifact_id)) return "deferred missing_dep";
    if (artifacts.at(eviction->artifact_id) != op.operation.author() &&
        !is_owner(world, op.author, op.operation.timestamp.wall_ms)) {
      return "void not_owner";
    }
    return evicted.insert(eviction->artifact_id).second ? "applied" : "noop";
  } else if (const auto* route = std::get_if<RouteKind>(&payload)) {
    routes[route->kind] = route->route;
  } else if (const auto* designation = std::get_if<DesignateCoordinator>(&payload)) {
    coordinator = designation->coordinator;
  } else if (op.token && chain_of(world, *op.token).first == Chain::missing) {
    return "deferred missing_proof";
  }
  return "applied";
}

std::string Fold::judge(const Op& op, bool& owns_id) {
  const Operation& operation = op.operation;
  bool violates = false;
  bool absent = false;
  bool unmet = false;
  for (const OpId& dep : operation.causal_deps) {
    bool known = false;
    bool earlier = false;
    for (const Op& other : world.ops) {
      if (other.operation.id == dep) {
        known = true;
        earlier = earlier || other.operation.timestamp < operation.timestamp;
      }
    }
    violates = violates || (known && !earlier);
    absent = absent || !known;
    unmet = unmet || !effective.contains(dep);
  }
  bool is_void = false;
  const std::string refused = authority(op, is_void);
  owns_id = refused.empty() && !violates;
  for (const Op& other : world.ops) {
    if (other.hash != op.hash && other.operation.timestamp == operation.timestamp) {
      return "void integrity_duplicate_hlc";
    }
  }
  if (violates) return "rejected causality_violation";
  if (!refused.empty()) return refused;
  if (owned_ids.contains(operation.id)) return "void integrity_id_conflict";
  if (absent) return "deferred missing_dep";
  if (unmet) return "deferred dep_void";
  const std::string verdict = state(op);
  owns_id = !verdict.starts_with("void caveat_failed");
  return verdict;
}

void Fold::run() {
  for (const Op& op : world.ops) {
    bool owns_id = false;
    const std::string verdict = judge(op, owns_id);
    verdicts[op.hash] = verdict;
    if (owns_id) {
      owned_ids.insert(op.operation.id);
    }
    if (verdict == "applied" || verdict == "noop") {
      effective.emplace(op.operation.id, op.operation.payload);
    }
  }
}

}  // namespace

OracleResult consult_oracle(const PublicKey& user, const RosterRules& rules,
                            std::vector<VerifiedOperation> operations) {
  std::sort(operations.begin(), operations.end(), [](const Op& left, const Op& right) {
    return std::pair(left.operation.timestamp, left.hash) <
           std::pair(right.operation.timestamp, right.hash);
  });
  World world{user, rules, std::move(operations), {}, {}};
  for (const Op& op : world.ops) {
    if (op.token) {
      world.tokens.emplace(op.token->cid, *op.token);
    }
  }
  for (const Op& op : world.ops) {
    if (const auto* p = std::get_if<RevokeUcan>(&op.operation.payload)) {
      if (may_revoke(world, op.author, p->ucan_cid)) {
        world.revoked.insert(p->ucan_cid);
      }
    }
  }
  Fold fold{world, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}};
  fold.run();
  return {fold.verdicts, fold.jobs};
}

}  // namespace holdfast::mesh
