// Token: a delegation from an issuer to an audience, as a compact JWS.
//
//   B64({"alg":"EdDSA","typ":"JWT"}) . B64(payload) . B64(Ed25519 of the two segments and the dot)
//
// The payload is a JSON object: iss and aud (did:key), att (array of {resource, action, caveats}),
// nbf and exp (Unix seconds; absent nbf is 0, absent or null exp never expires), prf (BLAKE3 of
// each parent token, lower-case hex), sub ("node-N" of the audience, optional), ucv "0.10.0", nnc.
// A token is identified by the BLAKE3 of its bytes.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "mesh/capabilities/capability.h"
#include "mesh/ops/node_key.h"

namespace holdfast::mesh {

inline constexpr std::size_t kMaxTokenBytes = 64 * 1024;

struct Token {
  Digest cid{};
  PublicKey issuer;
  PublicKey audience;
  std::vector<Capability> capabilities;
  std::uint64_t not_before_s = 0;
  std::optional<std::uint64_t> expires_s;
  std::vector<Digest> proofs;

  // Judged in milliseconds, both ends inclusive.
  [[nodiscard]] bool has_begun(std::uint64_t wall_ms) const;
  [[nodiscard]] bool has_expired(std::uint64_t wall_ms) const;
};

// invalid_argument, with what is wrong, when the bytes are not a token in this form, its signature
// is not the issuer's, a resource or caveat is unknown, or a key is not acceptable. Whether its
// proofs support it is a question to the TokenGraph.
Result<Token> parse_token(std::span<const std::byte> bytes);

// What a token to be issued says. `resource` and `action` may be wildcards.
struct Grant {
  std::string resource;
  std::string action;
  Caveats caveats;
};
struct TokenSpec {
  PublicKey audience;
  std::vector<Grant> grants;
  std::uint64_t not_before_s = 0;
  std::optional<std::uint64_t> expires_s;
  std::vector<Digest> proofs;
  std::string nonce;  // makes otherwise equal tokens different
};
std::vector<std::byte> issue_token(const TokenSpec& spec, const SigningKey& issuer);

}  // namespace holdfast::mesh
