#include "mesh/roster/roster_rules.h"

#include <algorithm>

#include "base/blake3.h"
#include "base/quote.h"
#include "mesh/capabilities/token_graph.h"
#include "mesh/ops/operation.h"

namespace holdfast::mesh {

namespace {

std::string kinds_text(std::vector<std::string> kinds) {
  std::sort(kinds.begin(), kinds.end());
  kinds.erase(std::unique(kinds.begin(), kinds.end()), kinds.end());
  std::string text;
  for (const std::string& kind : kinds) {
    text += (text.empty() ? "" : ",") + quote(kind);
  }
  return text;
}

}  // namespace

std::string rules_document(const PublicKey& user, const RosterRules& rules,
                           const SkewLimits& skew) {
  using holdfast::to_text;
  const auto flag = [](bool value) { return std::string(value ? "true" : "false"); };
  return "derivations=2-9\n"
         "discriminants=likewise-0.1-appendix\n"
         "ed25519=canonical-no-small-order\n"
         "enforce_coordinator=" +
         flag(rules.enforce_coordinator) +
         "\n"
         "expire_authority=" +
         std::string(to_text(rules.expire_authority)) +
         "\n"
         "fold=hlc-set-1\n"
         "inference_kinds=" +
         kinds_text(rules.inference_kinds) +
         "\n"
         "max_chain_tokens=" +
         std::to_string(kMaxChainTokens) +
         "\n"
         "max_dependencies=" +
         std::to_string(kMaxCausalDeps) +
         "\n"
         "max_lease_ms=" +
         std::to_string(rules.max_lease_ms) +
         "\n"
         "max_proofs=" +
         std::to_string(kMaxProofs) +
         "\n"
         "node_id=key-derived\n"
         "protocol=likewise-0.1\n"
         "skew_max_ms=" +
         std::to_string(skew.max_ms) +
         "\n"
         "skew_warn_ms=" +
         std::to_string(skew.warn_ms) +
         "\n"
         "strict_tenure=" +
         flag(rules.strict_tenure) +
         "\n"
         "user=" +
         to_did(user) + "\n";
}

Digest rules_hash(const PublicKey& user, const RosterRules& rules, const SkewLimits& skew) {
  return blake3(rules_document(user, rules, skew));
}

}  // namespace holdfast::mesh
