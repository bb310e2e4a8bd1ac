// The JSON payload of a token, in both directions. Refuses repeated keys, fractions where seconds
// or milliseconds are expected, and names that the vocabulary does not have.
#pragma once

#include <string>
#include <string_view>

#include "mesh/capabilities/token.h"

namespace holdfast::mesh {

// invalid_argument: "malformed token: " and what is wrong.
Error malformed_token(std::string_view what);

// Everything of a token but its cid and signature.
Result<Token> token_from_json(std::string_view text);
std::string token_to_json(const TokenSpec& spec, const PublicKey& issuer);

}  // namespace holdfast::mesh
