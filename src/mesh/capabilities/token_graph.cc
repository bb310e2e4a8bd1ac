#include "mesh/capabilities/token_graph.h"

#include <algorithm>
#include <deque>
#include <utility>

#include "holdfast/assert.h"

namespace holdfast::mesh {

namespace {

constexpr Pair kMeshWrite{Resource::mesh, Action::write};
constexpr Pair kAssert{Resource::user_assertion, Action::write};
constexpr Pair kAuditedPairs[] = {{Resource::job, Action::claim},
                                  {Resource::job, Action::complete},
                                  {Resource::artifact, Action::write},
                                  {Resource::claim, Action::write}};

// The child is in force only while the parent is.
bool is_within(const Token& child, const Token& parent) {
  if (child.not_before_s < parent.not_before_s) {
    return false;
  }
  return !parent.expires_s.has_value() ||
         (child.expires_s.has_value() && *child.expires_s <= *parent.expires_s);
}

Reason why_not_timely(const Token& token, std::uint64_t wall_ms) {
  if (!token.has_begun(wall_ms)) {
    return Reason::chain_not_yet;
  }
  return token.has_expired(wall_ms) ? Reason::chain_expired : Reason::none;
}

bool grants(const Token& token, Pair pair) {
  return std::any_of(token.capabilities.begin(), token.capabilities.end(),
                     [&](const Capability& capability) { return capability.pairs.has(pair); });
}

}  // namespace

const TokenGraph::Node* TokenGraph::find(const Digest& cid) const {
  const auto found = nodes_.find(cid);
  return found == nodes_.end() || !found->second.token.has_value() ? nullptr : &found->second;
}

const TokenGraph::Tokens& TokenGraph::tokens_of(const PublicKey& audience) const {
  static const Tokens kNone;
  const auto tokens = by_audience_.find(audience);
  return tokens == by_audience_.end() ? kNone : tokens->second;
}

void TokenGraph::add(const Token& token) {
  if (find(token.cid) != nullptr) {
    return;
  }
  Node& added = nodes_[token.cid];
  added.token = token;
  by_audience_[token.audience].push_back(&added);
  const bool owner = is_root(token) && grants(token, kMeshWrite) &&
                     owners_.emplace(node_id_of(token.audience), token.audience).second;
  for (const Digest& proof : token.proofs) {
    nodes_[proof].children.push_back(token.cid);
  }
  const std::vector<Digest> judged = evaluate_from(token.cid);
  if (owner) {
    count_all_revocations();
  }
  for (const Digest& target : judged) {
    count_revocations_of(target);
  }
}

void TokenGraph::add_revocation(const PublicKey& author, const Digest& target) {
  waiting_revocations_.emplace(target, author);
  count_revocations_of(target);
}

void TokenGraph::remove(const Digest& cid) {
  const auto removed = nodes_.find(cid);
  HOLDFAST_ASSERT(removed != nodes_.end() && removed->second.token.has_value());
  HOLDFAST_ASSERT(removed->second.structure != Structure::valid);
  const Token token = *removed->second.token;
  note_change(token, Weight::reason);
  const auto audience = by_audience_.find(token.audience);
  std::erase(audience->second, &removed->second);
  if (audience->second.empty()) {
    by_audience_.erase(audience);
  }
  for (const Digest& proof : token.proofs) {
    const auto parent = nodes_.find(proof);
    std::erase(parent->second.children, cid);
    if (parent->second.children.empty() && !parent->second.token.has_value()) {
      nodes_.erase(parent);
    }
  }
  const std::vector<Digest> children = nodes_.at(cid).children;
  nodes_.erase(cid);
  if (!children.empty()) {
    nodes_[cid].children = children;
  }
  for (const Digest& child : children) {
    evaluate_from(child);
  }
  for (auto counted = counted_revocations_.lower_bound({cid, PublicKey{}});
       counted != counted_revocations_.end() && counted->first == cid;) {
    waiting_revocations_.insert(*counted);
    counted = counted_revocations_.erase(counted);
  }
}

void TokenGraph::remove_revocation(const PublicKey& author, const Digest& target) {
  HOLDFAST_ASSERT(structure(target) != Structure::valid);
  waiting_revocations_.erase({target, author});
  counted_revocations_.erase({target, author});
}

bool TokenGraph::sanitises(const Digest& cid, const PublicKey& audience, Resource resource,
                           const std::vector<SanitiseRule>& rules) const {
  const Node* node = find(cid);
  return node != nullptr && is_live(*node) && node->token->audience == audience &&
         std::any_of(node->token->capabilities.begin(), node->token->capabilities.end(),
                     [&](const Capability& capability) {
                       return capability.pairs.has({resource, Action::read}) &&
                              capability.caveats.sanitize == rules;
                     });
}

std::optional<TokenGraph::Structure> TokenGraph::structure(const Digest& cid) const {
  const Node* node = find(cid);
  return node == nullptr ? std::nullopt : std::optional(node->structure);
}

bool TokenGraph::is_revoked(const Digest& cid) const {
  const Node* node = find(cid);
  return node != nullptr && node->revoked;
}

bool TokenGraph::is_root(const Token& token) const {
  return token.issuer == user_ && token.proofs.empty();
}

TokenGraph::Structure TokenGraph::judge(const Token& token, std::size_t& depth) const {
  if (token.proofs.empty()) {
    depth = 1;
    return token.issuer == user_ ? Structure::valid : Structure::invalid;
  }
  if (token.proofs.size() > kMaxProofs) {
    return Structure::invalid;
  }
  std::vector<const Token*> parents;
  bool missing = false;
  depth = 0;
  for (const Digest& proof : token.proofs) {
    const Node* parent = find(proof);
    if (parent == nullptr) {
      missing = true;
      continue;
    }
    if (parent->structure == Structure::invalid || parent->token->audience != token.issuer ||
        !is_within(token, *parent->token)) {
      return Structure::invalid;
    }
    missing = missing || parent->structure == Structure::missing_proof;
    depth = std::max(depth, parent->depth + 1);
    parents.push_back(&*parent->token);
  }
  if (missing) {
    return Structure::missing_proof;
  }
  return depth <= kMaxChainTokens && covers(parents, token) ? Structure::valid : Structure::invalid;
}

bool TokenGraph::covers(const std::vector<const Token*>& parents, const Token& child) const {
  const auto is_covered = [&](const Capability& capability, Pair pair) {
    for (const Token* parent : parents) {
      for (const Capability& above : parent->capabilities) {
        if (above.pairs.has(pair) && is_narrower(capability.caveats, above.caveats, pair)) {
          return true;
        }
      }
    }
    return false;
  };
  for (const Capability& capability : child.capabilities) {
    for (const Pair pair : capability.pairs.pairs()) {
      if (!is_covered(capability, pair)) {
        return false;
      }
    }
  }
  return true;
}

// Judges the token and, where something changed, the tokens that cite it. A citation is a hash of
// the cited token, so there are no cycles.
std::vector<Digest> TokenGraph::evaluate_from(const Digest& cid) {
  std::vector<Digest> judged;
  std::vector<Digest> waiting{cid};
  while (!waiting.empty()) {
    const Digest next = waiting.back();
    waiting.pop_back();
    Node& node = nodes_[next];
    HOLDFAST_ASSERT(node.token.has_value());
    std::size_t depth = 0;
    const Structure before = node.structure;
    node.structure = judge(*node.token, depth);
    node.depth = node.structure == Structure::valid ? depth : 0;
    if (node.structure == Structure::valid && before != Structure::valid) {
      // Revocations of it and of its ancestors may have come before.
      const auto counted = counted_revocations_.lower_bound({next, PublicKey{}});
      const auto& proofs = node.token->proofs;
      node.revoked = (counted != counted_revocations_.end() && counted->first == next) ||
                     std::any_of(proofs.begin(), proofs.end(),
                                 [&](const Digest& proof) { return is_revoked(proof); });
    }
    if (node.structure != before || next == cid) {
      const bool counts = node.structure == Structure::valid || before == Structure::valid;
      note_change(*node.token, counts ? Weight::authority : Weight::reason);
      judged.push_back(next);
      waiting.insert(waiting.end(), node.children.begin(), node.children.end());
    }
  }
  return judged;
}

void TokenGraph::revoke_from(const Digest& cid) {
  std::vector<Digest> waiting{cid};
  while (!waiting.empty()) {
    Node& node = nodes_[waiting.back()];
    waiting.pop_back();
    HOLDFAST_ASSERT(node.token.has_value());
    if (!node.revoked) {
      node.revoked = true;
      note_change(*node.token, Weight::authority);
      waiting.insert(waiting.end(), node.children.begin(), node.children.end());
    }
  }
}

// Whose revocation counts depends on the token, its ancestors through valid tokens, and the owners.
void TokenGraph::count_revocations_of(const Digest& target) {
  for (auto waiting = waiting_revocations_.lower_bound({target, PublicKey{}});
       waiting != waiting_revocations_.end() && waiting->first == target;) {
    if (may_revoke(waiting->second, target)) {
      revoke_from(target);
      counted_revocations_.insert(*waiting);
      waiting = waiting_revocations_.erase(waiting);
    } else {
      ++waiting;
    }
  }
}

void TokenGraph::count_all_revocations() {
  std::set<Digest> targets;
  for (const auto& [target, author] : waiting_revocations_) {
    targets.insert(target);
  }
  for (const Digest& target : targets) {
    count_revocations_of(target);
  }
}

bool TokenGraph::may_revoke(const PublicKey& author, const Digest& target) const {
  const Node* node = find(target);
  if (node == nullptr) {
    return false;
  }
  if (author == user_ || author == node->token->issuer || author == node->token->audience ||
      owns_structurally(author)) {
    return true;
  }
  // Ancestors count through valid tokens only.
  std::set<Digest> seen;
  std::vector<const Node*> waiting{node};
  while (!waiting.empty()) {
    const Node* child = waiting.back();
    waiting.pop_back();
    if (child->structure != Structure::valid) {
      continue;
    }
    for (const Digest& proof : child->token->proofs) {
      const Node* parent = find(proof);
      HOLDFAST_ASSERT(parent != nullptr);  // the child is valid
      if (parent->token->issuer == author) {
        return true;
      }
      if (seen.insert(proof).second) {
        waiting.push_back(parent);
      }
    }
  }
  return false;
}

void TokenGraph::note_change(const Token& token, Weight weight) {
  (weight == Weight::authority ? changes_.audiences : changes_.refused).insert(token.audience);
  changes_.tokens.insert(token.cid);
  changes_.owners = changes_.owners || (is_root(token) && grants(token, kMeshWrite));
}

bool TokenGraph::is_live(const Node& node) const {
  return node.structure == Structure::valid && !node.revoked;
}

bool TokenGraph::owns_structurally(const PublicKey& author) const {
  const auto owner = owners_.find(node_id_of(author));
  return owner != owners_.end() && owner->second == author;
}

Reason TokenGraph::why_not_chained(const Node& node) {
  if (node.structure != Structure::valid) {
    return node.structure == Structure::invalid ? Reason::no_chain : Reason::missing_proof;
  }
  return node.revoked ? Reason::chain_revoked : Reason::none;
}

Admission TokenGraph::judge_token(const Node& node, Pair pair, const CaveatFacts& facts) const {
  const Token& token = *node.token;
  if (const Reason reason = why_not_chained(node); reason != Reason::none) {
    return {reason, {}};
  }
  if (!grants(token, pair)) {
    return {Reason::not_admitted, {}};
  }
  if (const Reason reason = why_not_timely(token, facts.wall_ms); reason != Reason::none) {
    return {reason, {}};
  }
  std::optional<Caveat> failed;
  for (const Capability& capability : token.capabilities) {
    if (capability.pairs.has(pair)) {
      const auto failure = first_failure(capability.caveats, pair, facts);
      if (!failure.has_value()) {
        return {Reason::none, {}};
      }
      failed = failed.has_value() ? std::min(*failed, *failure) : *failure;
    }
  }
  HOLDFAST_ASSERT(failed.has_value());
  return {Reason::caveat_failed, failed};
}

Admission TokenGraph::admit_enrolled(const PublicKey& author, std::uint64_t wall_ms) const {
  Admission best;
  for (const Node* node : tokens_of(author)) {
    Reason reason = why_not_chained(*node);
    if (reason == Reason::none) {
      reason = why_not_timely(*node->token, wall_ms);
    }
    if (reason == Reason::none) {
      return {Reason::none, {}};
    }
    best.reason = std::max(best.reason, reason);
  }
  return best;
}

Admission TokenGraph::admit(const PublicKey& author, Pair pair, const CaveatFacts& facts) const {
  Admission best;
  for (const Node* node : tokens_of(author)) {
    const Admission one = judge_token(*node, pair, facts);
    if (one.admitted()) {
      return one;
    }
    if (one.reason > best.reason) {
      best = one;
    } else if (one.reason == Reason::caveat_failed && best.reason == Reason::caveat_failed) {
      best.failed = std::min(*best.failed, *one.failed);
    }
  }
  return best;
}

template <typename Condition>
std::optional<Digest> TokenGraph::nearest(const Digest& cid, Condition condition) const {
  std::set<Digest> seen{cid};
  std::deque<Digest> waiting{cid};
  while (!waiting.empty()) {
    const Digest next = waiting.front();
    waiting.pop_front();
    if (condition(next)) {
      return next;
    }
    if (const Node* node = find(next); node != nullptr) {
      for (const Digest& proof : node->token->proofs) {
        if (seen.insert(proof).second) {
          waiting.push_back(proof);
        }
      }
    }
  }
  return std::nullopt;
}

std::vector<TokenFault> TokenGraph::faults(const PublicKey& author, Pair pair,
                                           const CaveatFacts& facts) const {
  std::vector<TokenFault> found;
  for (const Node* node : tokens_of(author)) {
    const Admission admission = judge_token(*node, pair, facts);
    std::optional<Digest> cause;
    if (admission.reason == Reason::missing_proof) {
      cause = nearest(node->token->cid, [&](const Digest& cid) { return !knows(cid); });
    } else if (admission.reason == Reason::chain_revoked) {
      cause = nearest(node->token->cid, [&](const Digest& cid) {
        const auto counted = counted_revocations_.lower_bound({cid, PublicKey{}});
        return counted != counted_revocations_.end() && counted->first == cid;
      });
    }
    if (!admission.admitted()) {
      found.push_back({&*node->token, admission, cause});
    }
  }
  std::sort(found.begin(), found.end(), [](const TokenFault& left, const TokenFault& right) {
    return left.token->cid < right.token->cid;
  });
  return found;
}

template <typename Accepts>
bool TokenGraph::holds(const PublicKey& author, std::uint64_t wall_ms, Pair pair,
                       Accepts accepts) const {
  for (const Node* node : tokens_of(author)) {
    if (!is_live(*node) || !node->token->has_begun(wall_ms) || node->token->has_expired(wall_ms)) {
      continue;
    }
    for (const Capability& capability : node->token->capabilities) {
      if (capability.pairs.has(pair) && accepts(*node->token, capability.caveats)) {
        return true;
      }
    }
  }
  return false;
}

bool TokenGraph::is_owner(const PublicKey& author, std::uint64_t wall_ms) const {
  return holds(author, wall_ms, kMeshWrite, [&](const Token& token, const Caveats& caveats) {
    return is_root(token) && !first_failure(caveats, kMeshWrite, {.wall_ms = wall_ms}).has_value();
  });
}

std::optional<NodeId> TokenGraph::first_owner(std::uint64_t wall_ms) const {
  const auto owner = std::find_if(owners_.begin(), owners_.end(), [&](const auto& candidate) {
    return is_owner(candidate.second, wall_ms);
  });
  return owner == owners_.end() ? std::nullopt : std::optional(owner->first);
}

bool TokenGraph::speaks_for_user(const PublicKey& author, std::uint64_t wall_ms) const {
  return holds(author, wall_ms, kAssert, [&](const Token& token, const Caveats& caveats) {
    return is_root(token) && !caveats.time_range.has_value();
  });
}

bool TokenGraph::is_audited(const PublicKey& author, std::uint64_t wall_ms) const {
  const auto audits = [&](const Capability& capability) {
    return capability.caveats.audit_inference &&
           std::any_of(std::begin(kAuditedPairs), std::end(kAuditedPairs), [&](Pair pair) {
             return capability.pairs.has(pair) &&
                    !first_failure(capability.caveats, pair, {.wall_ms = wall_ms}).has_value();
           });
  };
  const Tokens& tokens = tokens_of(author);
  return std::any_of(tokens.begin(), tokens.end(), [&](const Node* node) {
    const auto& granted = node->token->capabilities;
    return is_live(*node) && node->token->has_begun(wall_ms) &&
           !node->token->has_expired(wall_ms) &&
           (is_root(*node->token) || std::any_of(granted.begin(), granted.end(), audits));
  });
}

std::set<NodeId> TokenGraph::possible_claimers(std::string_view kind) const {
  constexpr Pair kClaim{Resource::job, Action::claim};
  std::set<NodeId> nodes;
  for (const auto& [cid, node] : nodes_) {
    if (!node.token.has_value() || !is_live(node)) {
      continue;
    }
    for (const Capability& capability : node.token->capabilities) {
      const CaveatFacts facts{
          .wall_ms = capability.caveats.time_range.value_or(TimeRange{}).start_ms, .kind = kind};
      if (capability.pairs.has(kClaim) &&
          !first_failure(capability.caveats, kClaim, facts).has_value()) {
        nodes.insert(node_id_of(node.token->audience));
      }
    }
  }
  return nodes;
}

AuthorityChanges TokenGraph::take_changes() { return std::exchange(changes_, {}); }

}  // namespace holdfast::mesh
