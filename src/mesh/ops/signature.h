// Signatures of operations: text of the form B64(header) ".." B64(signature), where header is
// exactly {"alg":"EdDSA","kid":"node-N"} for the author N, and the signature covers
// signing_bytes. Base64url without padding, in its only spelling.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "mesh/ops/node_key.h"
#include "mesh/ops/operation.h"

namespace holdfast::mesh {

std::string signature_text(NodeId author, const SignatureBytes& signature);
// The operation with its signature. The caller gives an operation whose author is the key's node,
// or, in a mesh with assigned node ids, the node the key is bound to.
Operation sign_operation(Operation operation, const SigningKey& key);
// False for every text but the one that the author's key makes, and for an unsigned operation.
bool verify_operation(const Operation& operation, const PublicKey& key);

// 64 bytes in base64url, or empty.
std::optional<SignatureBytes> parse_signature(std::string_view base64url);

}  // namespace holdfast::mesh
