#include "tests/support/mesh_oracle.h"

#include <algorithm>
#include <limits>

namespace holdfast::mesh {

namespace {

using Op = VerifiedOperation;

// ---- authority, from scratch for every question

struct World {
  PublicKey user;
  std::vector<Op> ops;  // sorted by time
  std::map<Digest, Token> tokens;
  std::set<Digest> revoked;
};

bool within_list(const std::optional<std::vector<std::string>>& list, const std::string& text) {
  return !list || std::count(list->begin(), list->end(), text) > 0;
}

bool within_prefixes(const std::optional<std::vector<std::string>>& list, const std::string& text) {
  if (!list) {
    return true;
  }
  for (const std::string& prefix : *list) {
    if (text.substr(0, prefix.size()) == prefix) {
      return true;
    }
  }
  return false;
}

bool all_within(const std::optional<std::vector<std::string>>& child,
                const std::optional<std::vector<std::string>>& parent, bool prefixes) {
  if (!parent) {
    return true;
  }
  if (!child) {
    return false;
  }
  for (const std::string& text : *child) {
    if (!(prefixes ? within_prefixes(parent, text) : within_list(parent, text))) {
      return false;
    }
  }
  return true;
}

// For the caveats that the random worlds use: all but sanitize.
bool attenuates(const Caveats& child, const Caveats& parent, Pair pair) {
  if (pair.resource == Resource::job && !all_within(child.kind_prefix, parent.kind_prefix, true)) {
    return false;
  }
  if (pair.resource == Resource::claim && !all_within(child.predicates, parent.predicates, false)) {
    return false;
  }
  if (pair.resource == Resource::evidence &&
      !all_within(child.source_types, parent.source_types, false)) {
    return false;
  }
  if (parent.time_range &&
      (!child.time_range || child.time_range->start_ms < parent.time_range->start_ms ||
       child.time_range->end_ms > parent.time_range->end_ms)) {
    return false;
  }
  return true;
}

enum class Chain { good, missing, bad };

// Also the number of tokens of the chain.
std::pair<Chain, int> chain_of(const World& world, const Token& token) {
  if (token.proofs.empty()) {
    return {token.issuer == world.user ? Chain::good : Chain::bad, 1};
  }
  bool missing = false;
  int depth = 1;
  for (const Digest& proof : token.proofs) {
    const auto parent = world.tokens.find(proof);
    if (parent == world.tokens.end()) {
      missing = true;
      continue;
    }
    const auto [chain, length] = chain_of(world, parent->second);
    const bool outlives = parent->second.expires_s &&
                          (!token.expires_s || *token.expires_s > *parent->second.expires_s);
    if (chain == Chain::bad || parent->second.audience != token.issuer || outlives ||
        token.not_before_s < parent->second.not_before_s) {
      return {Chain::bad, 0};
    }
    missing = missing || chain == Chain::missing;
    depth = std::max(depth, length + 1);
  }
  if (missing) {
    return {Chain::missing, 0};
  }
  for (const Capability& capability : token.capabilities) {
    for (const Pair pair : capability.pairs.pairs()) {
      bool covered = false;
      for (const Digest& proof : token.proofs) {
        for (const Capability& above : world.tokens.at(proof).capabilities) {
          covered = covered ||
                    (above.pairs.has(pair) && attenuates(capability.caveats, above.caveats, pair));
        }
      }
      if (!covered) {
        return {Chain::bad, 0};
      }
    }
  }
  return {depth > 16 || token.proofs.size() > 8 ? Chain::bad : Chain::good, depth};
}

bool is_root(const World& world, const Token& token) {
  return token.issuer == world.user && token.proofs.empty();
}

bool grants(const Token& token, Pair pair) {
  for (const Capability& capability : token.capabilities) {
    if (capability.pairs.has(pair)) {
      return true;
    }
  }
  return false;
}

std::set<Digest> ancestors(const World& world, const Token& token) {
  std::set<Digest> found;
  if (chain_of(world, token).first != Chain::good) {
    return found;
  }
  for (const Digest& proof : token.proofs) {
    found.insert(proof);
    found.merge(ancestors(world, world.tokens.at(proof)));
  }
  return found;
}

bool may_revoke(const World& world, const PublicKey& author, const Digest& target) {
  if (!world.tokens.contains(target)) {
    return false;
  }
  const Token& token = world.tokens.at(target);
  if (author == world.user || author == token.issuer || author == token.audience) {
    return true;
  }
  for (const Digest& cid : ancestors(world, token)) {
    if (world.tokens.at(cid).issuer == author) {
      return true;
    }
  }
  for (const auto& [cid, other] : world.tokens) {
    if (is_root(world, other) && other.audience == author &&
        grants(other, {Resource::mesh, Action::write})) {
      return true;
    }
  }
  return false;
}

bool is_revoked(const World& world, const Token& token) {
  if (world.revoked.contains(token.cid)) {
    return true;
  }
  for (const Digest& proof : token.proofs) {
    const auto parent = world.tokens.find(proof);
    if (parent != world.tokens.end() && is_revoked(world, parent->second)) {
      return true;
    }
  }
  return false;
}

struct Facts {
  std::uint64_t wall_ms;
  std::optional<std::string> kind, predicate, source_type;
};

// The name of the first caveat that fails; empty when all hold.
std::string failing(const Caveats& caveats, Pair pair, const Facts& facts) {
  if (pair.resource == Resource::evidence && facts.source_type &&
      !within_list(caveats.source_types, *facts.source_type)) {
    return "source_types";
  }
  if (pair.resource == Resource::claim && facts.predicate &&
      !within_list(caveats.predicates, *facts.predicate)) {
    return "predicates";
  }
  if (pair.resource == Resource::job && facts.kind &&
      !within_prefixes(caveats.kind_prefix, *facts.kind)) {
    return "kind_prefix";
  }
  if (caveats.time_range && (facts.wall_ms < caveats.time_range->start_ms ||
                             facts.wall_ms >= caveats.time_range->end_ms)) {
    return "time_range";
  }
  return "";
}

// Empty when admitted, else the most advanced failure.
std::string why_not(const World& world, const PublicKey& author, Pair pair, const Facts& facts) {
  static const std::vector<std::string> kOrder = {"no_chain",
                                                  "missing_proof",
                                                  "chain_revoked",
                                                  "not_admitted",
                                                  "chain_not_yet",
                                                  "chain_expired",
                                                  "caveat_failed(time_range)",
                                                  "caveat_failed(kind_prefix)",
                                                  "caveat_failed(predicates)",
                                                  "caveat_failed(source_types)"};
  std::size_t best = 0;
  for (const auto& [cid, token] : world.tokens) {
    if (token.audience != author) {
      continue;
    }
    std::set<std::string> reasons;
    const Chain chain = chain_of(world, token).first;
    if (chain != Chain::good) {
      reasons.insert(chain == Chain::bad ? "no_chain" : "missing_proof");
    } else if (is_revoked(world, token)) {
      reasons.insert("chain_revoked");
    } else if (!grants(token, pair)) {
      reasons.insert("not_admitted");
    } else if (facts.wall_ms < token.not_before_s * 1000) {
      reasons.insert("chain_not_yet");
    } else if (token.expires_s && facts.wall_ms > *token.expires_s * 1000) {
      reasons.insert("chain_expired");
    } else {
      for (const Capability& capability : token.capabilities) {
        if (capability.pairs.has(pair)) {
          const std::string name = failing(capability.caveats, pair, facts);
          if (name.empty()) {
            return "";
          }
          reasons.insert("caveat_failed(" + name + ")");
        }
      }
    }
    for (const std::string& reason : reasons) {
      const auto rank = std::find(kOrder.begin(), kOrder.end(), reason) - kOrder.begin();
      best = std::max(best, static_cast<std::size_t>(rank));
    }
  }
  return kOrder[best];
}

bool root_grants(const World& world, const PublicKey& author, Pair pair, std::uint64_t wall_ms,
                 bool without_caveats) {
  for (const auto& [cid, token] : world.tokens) {
    if (token.audience != author || !is_root(world, token) || is_revoked(world, token) ||
        wall_ms < token.not_before_s * 1000 ||
        (token.expires_s && wall_ms > *token.expires_s * 1000)) {
      continue;
    }
    for (const Capability& capability : token.capabilities) {
      const bool free = !capability.caveats.time_range.has_value();
      const bool holds = failing(capability.caveats, pair, {wall_ms, {}, {}, {}}).empty();
      if (capability.pairs.has(pair) && (without_caveats ? free : holds)) {
        return true;
      }
    }
  }
  return false;
}

bool is_owner(const World& world, const PublicKey& author, std::uint64_t wall_ms) {
  return root_grants(world, author, {Resource::mesh, Action::write}, wall_ms, false);
}

// ---- the fold

struct Fold {
  const World& world;
  std::map<JobId, OracleJob> jobs;
  std::map<std::string, std::optional<NodeId>> routes;
  std::optional<NodeId> coordinator;
  std::map<ArtifactId, NodeId> artifacts;
  std::set<ArtifactId> evicted;
  std::map<ClaimId, std::string> predicates;
  std::map<EvidenceId, std::string> source_types;
  std::set<OpId> owned_ids;
  std::map<OpId, Payload> effective;  // applied or noop
  std::map<Digest, std::string> verdicts;

  void run();
  std::string judge(const Op& op, bool& owns_id);
  std::string authority(const Op& op, bool& is_void) const;
  std::string state(const Op& op);
  std::string job_state(const Op& op, OracleJob& job);
  std::string late(const Op& op, Pair pair, Facts facts) const;
  bool may_derive(const Op& op) const;
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
  const std::string reason = why_not(world, op.author, pair, facts);
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

std::string Fold::late(const Op& op, Pair pair, Facts facts) const {
  const std::string reason = why_not(world, op.author, pair, facts);
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
  if (current == author ||
      root_grants(world, op.author, {Resource::user_assertion, Action::write}, wall_ms, true)) {
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

std::string Fold::job_state(const Op& op, OracleJob& job) {
  const Timestamp t = op.operation.timestamp;
  const Payload& payload = op.operation.payload;
  const bool mine = job.claimer == t.node;
  if (const auto* p = std::get_if<ClaimWork>(&payload)) {
    if (job.phase == "Completed") return "void job_completed";
    const auto route = routes.find(job.kind);
    if (route != routes.end() && route->second && *route->second != t.node) {
      return "void routed_elsewhere";
    }
    if (job.phase == "Claimed" && !mine) return "void already_claimed";
    if (job.phase == "Claimed" && t.wall_ms > *job.deadline_ms) return "void renew_after_deadline";
    job.attempts += job.phase == "Pending" ? 1 : 0;
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
    if (std::holds_alternative<CompleteJob>(payload)) {
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
  if (payload.index() >= 2 && payload.index() <= 9 && !may_derive(op)) {
    return "void not_coordinator";
  }
  if (const auto* p = std::get_if<CreateClaim>(&payload)) {
    predicates.emplace(p->claim_id, p->predicate);
  } else if (const auto* evidence = std::get_if<IngestEvidence>(&payload)) {
    source_types.emplace(evidence->evidence_id, evidence->source_type);
  } else if (const auto* artifact = std::get_if<CreateArtifact>(&payload)) {
    const bool first = artifacts.emplace(artifact->artifact_id, op.operation.author()).second;
    return first ? "applied" : "noop";
  } else if (const auto* eviction = std::get_if<EvictArtifact>(&payload)) {
    if (!artifacts.contains(eviction->artifact_id)) return "deferred missing_dep";
    if (artifacts.at(eviction->artifact_id) != op.operation.author() &&
        !is_owner(world, op.author, wall_ms)) {
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

OracleResult consult_oracle(const PublicKey& user, std::vector<VerifiedOperation> operations) {
  std::sort(operations.begin(), operations.end(), [](const Op& left, const Op& right) {
    return std::pair(left.operation.timestamp, left.hash) <
           std::pair(right.operation.timestamp, right.hash);
  });
  World world{user, std::move(operations), {}, {}};
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
  Fold fold{world, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}};
  fold.run();
  return {fold.verdicts, fold.jobs};
}

}  // namespace holdfast::mesh
