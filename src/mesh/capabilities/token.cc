#include "mesh/capabilities/token.h"

#include <algorithm>

#include "base/blake3.h"
#include "base/encoding.h"
#include "mesh/capabilities/token_json.h"
#include "mesh/ops/signature.h"

namespace holdfast::mesh {

namespace {

constexpr std::string_view kHeader = R"({"alg":"EdDSA","typ":"JWT"})";

std::string as_text(std::span<const std::byte> bytes) {
  std::string text(bytes.size(), '\0');
  std::transform(bytes.begin(), bytes.end(), text.begin(),
                 [](std::byte byte) { return static_cast<char>(byte); });
  return text;
}

}  // namespace

bool Token::has_begun(std::uint64_t wall_ms) const {
  // Compared in seconds, so that no product overflows: nbf * 1000 <= wall.
  return not_before_s <= wall_ms / 1000;
}

bool Token::has_expired(std::uint64_t wall_ms) const {
  // wall > exp * 1000
  return expires_s.has_value() &&
         (wall_ms / 1000 > *expires_s || (wall_ms / 1000 == *expires_s && wall_ms % 1000 > 0));
}

Result<Token> parse_token(std::span<const std::byte> bytes) {
  if (bytes.size() > kMaxTokenBytes) {
    return malformed_token("it is longer than 64 KiB");
  }
  const std::string text = as_text(bytes);
  const std::size_t first = text.find('.');
  const std::size_t last = text.rfind('.');
  if (first == std::string::npos || first == last || text.find('.', first + 1) != last) {
    return malformed_token("it does not have three segments");
  }
  if (text.substr(0, first) != to_base64url(as_bytes(kHeader))) {
    return malformed_token("the header is not exactly " + std::string(kHeader));
  }
  HOLDFAST_TRY(const auto payload, from_base64url(text.substr(first + 1, last - first - 1)));
  const auto signature = parse_signature(text.substr(last + 1));
  if (!signature.has_value()) {
    return malformed_token("the signature is not 64 bytes in base64url");
  }
  HOLDFAST_TRY(Token token, token_from_json(as_text(payload)));
  if (!verify(token.issuer, bytes.first(last), *signature)) {
    return malformed_token("the signature is not that of the issuer");
  }
  token.cid = blake3(bytes);
  return token;
}

std::vector<std::byte> issue_token(const TokenSpec& spec, const SigningKey& issuer) {
  const std::string payload = token_to_json(spec, issuer.public_key());
  std::string text = to_base64url(as_bytes(kHeader)) + "." + to_base64url(as_bytes(payload));
  text += "." + to_base64url(issuer.sign(as_bytes(text)));
  const auto bytes = as_bytes(text);
  return {bytes.begin(), bytes.end()};
}

}  // namespace holdfast::mesh
