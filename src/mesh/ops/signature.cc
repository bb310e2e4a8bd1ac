#include "mesh/ops/signature.h"

#include <algorithm>

#include "base/encoding.h"

namespace holdfast::mesh {

namespace {

std::string header_segment(NodeId author) {
  return to_base64url(as_bytes(R"({"alg":"EdDSA","kid":")" + node_name(author) + R"("})"));
}

}  // namespace

std::optional<SignatureBytes> parse_signature(std::string_view base64url) {
  const auto bytes = from_base64url(base64url);
  SignatureBytes signature;
  if (!bytes.ok() || bytes.value().size() != signature.size()) {
    return std::nullopt;
  }
  std::copy(bytes.value().begin(), bytes.value().end(), signature.begin());
  return signature;
}

std::string signature_text(NodeId author, const SignatureBytes& signature) {
  return header_segment(author) + ".." + to_base64url(signature);
}

Operation sign_operation(Operation operation, const SigningKey& key) {
  operation.signature = signature_text(operation.author(), key.sign(signing_bytes(operation)));
  return operation;
}

bool verify_operation(const Operation& operation, const PublicKey& key) {
  if (!operation.signature.has_value()) {
    return false;
  }
  std::string_view text = *operation.signature;
  const std::string start = header_segment(operation.author()) + "..";
  if (!text.starts_with(start)) {
    return false;
  }
  const auto signature = parse_signature(text.substr(start.size()));
  return signature.has_value() && verify(key, signing_bytes(operation), *signature);
}

}  // namespace holdfast::mesh
