#include "tests/support/mesh_oracle_authority.h"

#include <algorithm>

namespace holdfast::mesh::oracle {

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
  const bool audited_pair = pair.action == Action::claim || pair.action == Action::complete ||
                            (pair.action == Action::write && (pair.resource == Resource::claim ||
                                                              pair.resource == Resource::artifact));
  if (audited_pair && parent.audit_inference && !child.audit_inference) {
    return false;
  }
  if (parent.time_range &&
      (!child.time_range || child.time_range->start_ms < parent.time_range->start_ms ||
       child.time_range->end_ms > parent.time_range->end_ms)) {
    return false;
  }
  return true;
}

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

std::string why_not_enrolled(const World& world, const PublicKey& author, std::uint64_t wall_ms) {
  const std::vector<std::string> order = {"no_chain", "missing_proof", "chain_revoked",
                                          "chain_not_yet", "chain_expired"};
  std::size_t best = 0;
  for (const auto& [cid, token] : world.tokens) {
    if (token.audience != author) {
      continue;
    }
    std::size_t reached = 0;
    const Chain chain = chain_of(world, token).first;
    if (chain == Chain::missing) {
      reached = 1;
    } else if (chain == Chain::good) {
      const bool late = token.expires_s && wall_ms > *token.expires_s * 1000;
      const bool early = wall_ms < token.not_before_s * 1000;
      if (!is_revoked(world, token) && !early && !late) {
        return "";
      }
      reached = is_revoked(world, token) ? 2 : early ? 3 : 4;
    }
    best = std::max(best, reached);
  }
  return order[best];
}

bool root_grants(const World& world, const PublicKey& author, Pair pair, std::uint64_t wall_ms,
                 Caveated caveats) {
  for (const auto& [cid, token] : world.tokens) {
    if (token.audience != author || !is_root(world, token) || is_revoked(world, token) ||
        wall_ms < token.not_before_s * 1000 ||
        (token.expires_s && wall_ms > *token.expires_s * 1000)) {
      continue;
    }
    for (const Capability& capability : token.capabilities) {
      const bool free = !capability.caveats.time_range.has_value();
      const bool holds = failing(capability.caveats, pair, {wall_ms, {}, {}, {}}).empty();
      if (capability.pairs.has(pair) && (caveats == Caveated::absent ? free : holds)) {
        return true;
      }
    }
  }
  return false;
}

bool is_audited(const World& world, const PublicKey& author, std::uint64_t wall_ms) {
  for (const auto& [cid, token] : world.tokens) {
    if (token.audience != author || chain_of(world, token).first != Chain::good ||
        is_revoked(world, token) || wall_ms < token.not_before_s * 1000 ||
        (token.expires_s && wall_ms > *token.expires_s * 1000)) {
      continue;
    }
    if (is_root(world, token)) {
      return true;
    }
    for (const Capability& capability : token.capabilities) {
      for (const Pair pair :
           {Pair{Resource::job, Action::claim}, Pair{Resource::job, Action::complete},
            Pair{Resource::artifact, Action::write}, Pair{Resource::claim, Action::write}}) {
        if (capability.caveats.audit_inference && capability.pairs.has(pair) &&
            failing(capability.caveats, pair, {wall_ms, {}, {}, {}}).empty()) {
          return true;
        }
      }
    }
  }
  return false;
}

bool is_owner(const World& world, const PublicKey& author, std::uint64_t wall_ms) {
  return root_grants(world, author, {Resource::mesh, Action::write}, wall_ms, Caveated::satisfied);
}

}  // namespace holdfast::mesh::oracle
