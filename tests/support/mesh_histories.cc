#include "tests/support/mesh_histories.h"

#include <algorithm>
#include <array>

#include "tests/support/mesh_tokens.h"

namespace holdfast::mesh {

namespace {

constexpr unsigned kNodes = 7;
constexpr std::array<std::string_view, 3> kKinds = {"a.x", "a.y", "b.x"};

template <typename T>
T small_id(unsigned number) {
  T id;
  id.bytes[15] = static_cast<std::byte>(number);
  return id;
}

// Signing is slow, so keys and tokens are made once and shared by all histories.
struct Pool {
  std::vector<SigningKey> nodes;
  struct Issued {
    DelegateUcan payload;
    Token token;
  };
  std::vector<Issued> tokens;

  const Token& issue(const SigningKey& issuer, const TokenSpec& spec) {
    const auto bytes = issue_token(spec, issuer);
    tokens.push_back({{blake3(bytes), bytes}, parse_token(bytes).value()});
    return tokens.back().token;
  }

  // Roots first, one per node; then children, some of which are not valid.
  Pool() {
    for (unsigned node = 0; node < kNodes; ++node) {
      nodes.push_back(numbered_key(node + 1));
    }
    Caveats early;
    early.time_range = TimeRange{0, 6'000};
    Caveats named;
    named.predicates = {"likes"};
    named.source_types = {"mail"};
    named.kind_prefix = {"a."};
    TokenSpec short_lived = spec_for(nodes[2], {grant("*", "*", kinds({"a."}))});
    short_lived.not_before_s = 2;
    short_lived.expires_s = 8;
    const Digest owner = issue(user_key(), spec_for(nodes[0], {grant("*", "*")})).cid;
    const Digest second = issue(user_key(), spec_for(nodes[1], {grant("Ops", "*", early)})).cid;
    const Digest third = issue(user_key(), short_lived).cid;
    issue(user_key(), spec_for(nodes[3], {grant("Job", "*"), grant("Ops", "Write", named)}));
    issue(user_key(), spec_for(nodes[4], {grant("Job", "*", kinds({"b."})),
                                          grant("Artifact", "Write"), grant("Claim", "Write")}));
    issue(user_key(), spec_for(nodes[5], {grant("*", "*", early)}));
    issue(user_key(), spec_for(nodes[6], {grant("Ops", "Write"), grant("Job", "Complete")}));
    issue(user_key(), spec_for(nodes[2], {grant("Job", "Claim", kinds({"a.x"}))}));
    const Digest child =
        issue(nodes[0], spec_for(nodes[2], {grant("Job", "*"), grant("Ops", "Write")}, {owner}))
            .cid;
    issue(nodes[2], spec_for(nodes[3], {grant("Job", "*", kinds({"a."}))}, {child}));
    issue(nodes[0], spec_for(nodes[1], {grant("*", "*")}, {owner}));
    TokenSpec within = spec_for(nodes[3], {grant("Job", "*", kinds({"a.x"}))}, {third});
    within.not_before_s = 3;
    within.expires_s = 7;
    issue(nodes[2], within);
    within.expires_s = 20;  // outlives its parent
    issue(nodes[2], within);
    issue(nodes[2],
          spec_for(nodes[3], {grant("Job", "*", kinds({"a.x"}))}, {third}));  // begins before
    issue(nodes[1], spec_for(nodes[2], {grant("Job", "*")}, {second}));       // drops a caveat
    issue(nodes[1], spec_for(nodes[2], {grant("Job", "*")}, {owner}));        // not its token
    issue(nodes[3], spec_for(nodes[3], {grant("*", "*")}));                   // from nothing
    Caveats audited;
    audited.audit_inference = true;
    const Digest watched =
        issue(nodes[0], spec_for(nodes[2], {grant("*", "*", audited)}, {owner})).cid;
    issue(nodes[2], spec_for(nodes[3], {grant("Claim", "Write", audited)}, {watched}));
    issue(nodes[2], spec_for(nodes[3], {grant("Claim", "Write")}, {watched}));  // drops the audit
    issue(nodes[0], spec_for(nodes[3], {grant("Job", "*")}, {blake3("nothing")}));
    // Owners that do not speak for the user: who coordinates depends on which of them are known.
    for (unsigned node = 1; node < kNodes; ++node) {
      issue(user_key(),
            spec_for(nodes[node], {grant("Mesh", "Write"), grant("Claim", "Write"),
                                   grant("Entity", "Write"), grant("Job", "Schedule")}));
    }
  }
};

const Pool& pool() {
  static const Pool kPool;
  return kPool;
}

}  // namespace

PublicKey history_user() { return user_key().public_key(); }

HistoryMaker::HistoryMaker(std::uint64_t seed) : random_(seed) {}

unsigned HistoryMaker::draw(unsigned limit) { return static_cast<unsigned>(random_() % limit); }

std::vector<VerifiedOperation> HistoryMaker::make() {
  ops_.clear();
  nodes_ = 2 + draw(kNodes - 1);
  // Most nodes start with authority; the first tokens of the pool are theirs.
  for (unsigned node = 0; node < nodes_; ++node) {
    if (draw(8) > 0) {
      author_ = node;
      Operation operation = any_operation();
      operation.causal_deps.clear();
      operation.payload = pool().tokens[node].payload;
      add(operation);
    }
  }
  if (draw(6) == 0) {
    add_tenures();
  }
  for (unsigned count = 6 + draw(28); count > 0; --count) {
    add(any_operation());
  }
  return ops_;
}

// One node claims a job twice, and completes it for the first or the second tenure.
void HistoryMaker::add_tenures() {
  const auto job = small_id<JobId>(draw(2) + 1);
  const auto say = [&](std::uint64_t wall_ms, Payload payload, std::vector<OpId> deps) {
    Operation operation;
    operation.id = small_id<OpId>(static_cast<unsigned>(ops_.size()) + 1);
    operation.timestamp = {wall_ms, 9, pool().nodes[author_].node_id()};
    operation.payload = std::move(payload);
    operation.causal_deps = std::move(deps);
    const OpId id = operation.id;
    add(std::move(operation));
    return id;
  };
  author_ = 0;
  say(0, ScheduleJob{job, std::string(kKinds[draw(kKinds.size())]), {}, {}}, {});
  author_ = draw(nodes_);
  const NodeId claimer = pool().nodes[author_].node_id();
  const OpId first = say(3'000, ClaimWork{job, claimer, 500}, {});
  say(4'000, YieldWork{job, claimer, ""}, {});
  const OpId second = say(5'000, ClaimWork{job, claimer, 500}, {});
  say(7'000, CompleteJob{job, {}, {}, {}}, {draw(2) == 0 ? first : second});
}

void HistoryMaker::add(Operation operation) {
  VerifiedOperation made{std::move(operation), pool().nodes[author_].public_key(), {}, {}};
  made.hash = blake3(encode_operation(made.operation));
  if (const auto* delegation = std::get_if<DelegateUcan>(&made.operation.payload)) {
    for (const auto& issued : pool().tokens) {
      if (issued.token.cid == delegation->ucan_cid) {
        made.token = issued.token;
      }
    }
  }
  for (const VerifiedOperation& known : ops_) {
    if (known.hash == made.hash) {
      return;
    }
  }
  ops_.push_back(std::move(made));
}

Operation HistoryMaker::any_operation() {
  if (draw(12) > 0 || ops_.empty()) {
    author_ = draw(nodes_);
  }
  Operation operation;
  operation.id = small_id<OpId>(static_cast<unsigned>(ops_.size()) + 1);
  operation.timestamp = {draw(12) * 1000 + draw(2), draw(2), pool().nodes[author_].node_id()};
  operation.causal_deps = any_dependencies();
  operation.payload = any_payload();
  if (!ops_.empty() && draw(25) == 0) {
    operation.id = ops_[draw(static_cast<unsigned>(ops_.size()))].operation.id;
  }
  if (!ops_.empty() && draw(25) == 0) {  // another operation at the same moment
    const Timestamp& taken = ops_[draw(static_cast<unsigned>(ops_.size()))].operation.timestamp;
    operation.timestamp.wall_ms = taken.wall_ms;
    operation.timestamp.logical = taken.logical;
  }
  link_output(operation);
  cite_claims(operation);
  std::erase(operation.causal_deps, operation.id);
  return operation;
}

// Output often depends on an artifact, which may be a snapshot of its job, and comes later.
void HistoryMaker::link_output(Operation& operation) {
  auto& deps = operation.causal_deps;
  if (!is_output(operation.payload) || draw(2) == 0) {
    return;
  }
  for (const VerifiedOperation& known : ops_) {
    const OpId& id = known.operation.id;
    if (std::holds_alternative<CreateArtifact>(known.operation.payload) && draw(2) == 0 &&
        std::find(deps.begin(), deps.end(), id) == deps.end()) {
      operation.timestamp.wall_ms = 11'000 + draw(2);
      deps.push_back(id);
    }
  }
}

// A completion often cites the claims of its author, as workers do, and comes late.
void HistoryMaker::cite_claims(Operation& operation) {
  auto& deps = operation.causal_deps;
  const auto* completion = std::get_if<CompleteJob>(&operation.payload);
  if (completion == nullptr || draw(2) == 0) {
    return;
  }
  operation.timestamp.wall_ms = 8'000 + draw(4) * 1000;
  for (const VerifiedOperation& known : ops_) {
    const auto* claim = std::get_if<ClaimWork>(&known.operation.payload);
    const OpId& id = known.operation.id;
    if (claim != nullptr && claim->job_id == completion->job_id && draw(2) == 0 &&
        known.operation.author() == operation.author() &&
        std::find(deps.begin(), deps.end(), id) == deps.end()) {
      deps.push_back(id);
    }
  }
}

std::vector<OpId> HistoryMaker::any_dependencies() {
  std::vector<OpId> deps;
  if (draw(3) == 0 && !ops_.empty()) {
    for (unsigned count = draw(2) + 1; count > 0; --count) {
      // Also ids that come later, and some that never come.
      const OpId id = small_id<OpId>(draw(static_cast<unsigned>(ops_.size()) + 3) + 1);
      if (std::find(deps.begin(), deps.end(), id) == deps.end()) {
        deps.push_back(id);
      }
    }
  }
  return deps;
}

Payload HistoryMaker::any_payload() {
  const NodeId author = pool().nodes[author_].node_id();
  const unsigned choice = draw(100);
  if (choice < 52) {
    return any_job_payload(author);
  }
  if (choice < 60) {
    const bool cleared = draw(3) == 0;
    return RouteKind{std::string(kKinds[draw(kKinds.size())]),
                     cleared ? std::nullopt : std::optional(pool().nodes[draw(nodes_)].node_id())};
  }
  if (choice < 64) {
    return DesignateCoordinator{pool().nodes[draw(nodes_)].node_id()};
  }
  if (choice < 72) {
    return pool().tokens[draw(static_cast<unsigned>(pool().tokens.size()))].payload;
  }
  if (choice < 76) {
    return RevokeUcan{pool().tokens[draw(static_cast<unsigned>(pool().tokens.size()))].token.cid};
  }
  return any_knowledge_payload();
}

Payload HistoryMaker::any_job_payload(NodeId author) {
  const auto job = small_id<JobId>(draw(2) + 1);
  const std::uint64_t leases_ms[] = {1, 1000, 3000, std::numeric_limits<std::uint64_t>::max()};
  switch (draw(10)) {
    case 0:
    case 1:
      return ScheduleJob{job, std::string(kKinds[draw(kKinds.size())]), {}, {}};
    case 2:
    case 3:
    case 4:
    case 5:
      return ClaimWork{job, author, leases_ms[draw(4)]};
    case 6:
      return YieldWork{job, author, "shutdown"};
    case 7:
    case 8:
      return ExpireWork{job, pool().nodes[draw(nodes_)].node_id(), "deadline_passed"};
    default:
      return CompleteJob{job, {}, {}, {}};
  }
}

Payload HistoryMaker::any_knowledge_payload() {
  const auto claim = small_id<ClaimId>(draw(2) + 1);
  const auto evidence = small_id<EvidenceId>(draw(2) + 1);
  const auto artifact = small_id<ArtifactId>(draw(2) + 1);
  CreateClaim created;
  created.claim_id = claim;
  created.predicate = draw(2) == 0 ? "likes" : "knows";
  if (draw(2) == 0) {
    created.provenance.jobs = {small_id<JobId>(draw(2) + 1)};
    for (unsigned links = draw(3); links > 0; --links) {
      created.provenance.artifacts.push_back(
          small_id<ArtifactId>(draw(6) == 0 ? draw(30) : draw(2) + 1));
    }
  }
  const auto job = small_id<JobId>(draw(2) + 1);
  switch (draw(15)) {
    case 11:
      return AddEntityAlias{small_id<EntityId>(1), "alias"};
    case 12:
      return MergeEntities{small_id<EntityId>(draw(4)), {small_id<EntityId>(draw(4))}, ""};
    case 13:
      return SplitEntity{small_id<EntityId>(draw(4)), {small_id<EntityId>(draw(4))}, ""};
    case 0:
      return IngestEvidence{evidence, {}, draw(2) == 0 ? "mail" : "chat", "", {}};
    case 1:
      return TombstoneEvidence{evidence, "Privacy"};
    case 2:
    case 3:
      return created;
    case 4:
      return UpdateClaimStatus{claim, ClaimStatus::fact, {}};
    case 5:
      return SupersedeClaim{claim, small_id<ClaimId>(3), ""};
    case 6:
      return CreateArtifact{artifact, "note", {}, {}, {}, {}, {}, {}, 0, {}};
    case 7:
    case 8:
      return CreateArtifact{artifact, "likewise.inference.snapshot",
                            job,      {},
                            {},       {},
                            "model",  draw(8) == 0 ? std::nullopt : std::optional<std::string>("1"),
                            0,        {}};
    case 9: {
      CreateEpisode episode;
      episode.title = "morning";
      return episode;
    }
    case 10: {
      CreateSuggestedAction action;
      action.derivation_job = job;
      return action;
    }
    default:
      return EvictArtifact{artifact};
  }
}

std::string describe(const VerifiedOperation& operation) {
  std::string text = to_text(operation.operation.timestamp) + " " +
                     std::string(kind_name(operation.operation.payload.index())) + " id " +
                     to_text(operation.operation.id).substr(28);
  for (unsigned node = 0; node < kNodes; ++node) {
    if (pool().nodes[node].node_id() == operation.operation.author()) {
      text += " by node " + std::to_string(node);
    }
  }
  for (const OpId& dep : operation.operation.causal_deps) {
    text += " dep " + to_text(dep).substr(28);
  }
  return text;
}

}  // namespace holdfast::mesh
