// Short forms for tests of authority: the user, numbered nodes, and tokens between them.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "mesh/capabilities/token_graph.h"
#include "tests/support/mesh_samples.h"

namespace holdfast::mesh {

inline SigningKey user_key() { return numbered_key(1000); }

inline Grant grant(std::string resource, std::string action, Caveats caveats = {}) {
  return {std::move(resource), std::move(action), std::move(caveats)};
}

inline Caveats kinds(std::vector<std::string> prefixes) {
  Caveats caveats;
  caveats.kind_prefix = std::move(prefixes);
  return caveats;
}

inline TokenSpec spec_for(const SigningKey& audience, std::vector<Grant> grants,
                          std::vector<Digest> proofs = {}) {
  return {.audience = audience.public_key(),
          .grants = std::move(grants),
          .not_before_s = 0,
          .expires_s = std::nullopt,
          .proofs = std::move(proofs),
          .nonce = ""};
}

inline Token make_token(const SigningKey& issuer, const TokenSpec& spec) {
  return parse_token(issue_token(spec, issuer)).value();
}

}  // namespace holdfast::mesh
