// Signatures of operations. The numbers at the tests are those of docs/mesh-tests.md.
#include "mesh/ops/signature.h"

#include <gtest/gtest.h>

#include "tests/support/mesh_samples.h"

namespace holdfast::mesh::signature_test {
namespace {

Operation signed_claim() {
  return sign_operation(sample_operation(ClaimWork{sample_id<JobId>(), {7}, 60000}), rfc_key());
}

bool verifies_with(std::string signature) {
  Operation operation = signed_claim();
  operation.signature = std::move(signature);
  return verify_operation(operation, rfc_key().public_key());
}

TEST(Signature, covers_the_envelope_without_itself_and_survives_the_wire) {  // 10
  const Operation operation = signed_claim();
  Operation bare = operation;
  bare.signature.reset();
  EXPECT_EQ(signing_bytes(operation), encode_operation(bare));
  const auto decoded = decode_operation(encode_operation(operation));
  ASSERT_TRUE(decoded.ok());
  EXPECT_TRUE(verify_operation(decoded.value(), rfc_key().public_key()));
}

TEST(Signature, any_changed_byte_makes_it_invalid) {  // 11
  for (const Payload& payload : sample_payloads()) {
    const Operation operation = sign_operation(sample_operation(payload), rfc_key());
    auto wire = encode_operation(operation);
    const std::size_t signed_bytes = signing_bytes(operation).size() - 1;
    for (std::size_t at = 0; at < signed_bytes; ++at) {
      wire[at] ^= std::byte{1};
      if (const auto decoded = decode_operation(wire); decoded.ok()) {
        EXPECT_FALSE(verify_operation(decoded.value(), rfc_key().public_key())) << at;
      }
      wire[at] ^= std::byte{1};
    }
  }
}

TEST(Signature, has_one_spelling) {  // 12
  const std::string text = *signed_claim().signature;
  ASSERT_TRUE(verifies_with(text));
  const std::size_t dots = text.find("..");
  const std::string header = text.substr(0, dots);
  const std::string value = text.substr(dots + 2);
  const auto with_header = [&](std::string_view json) {
    return verifies_with(to_base64url(as_bytes(json)) + ".." + value);
  };
  EXPECT_TRUE(with_header(R"({"alg":"EdDSA","kid":"node-7"})"));
  EXPECT_FALSE(with_header(R"({"alg":"none","kid":"node-7"})"));
  EXPECT_FALSE(with_header(R"({"alg":"EdDSA", "kid":"node-7"})"));
  EXPECT_FALSE(with_header(R"({"kid":"node-7","alg":"EdDSA"})"));
  EXPECT_FALSE(with_header(R"({"alg":"EdDSA","kid":"node-07"})"));
  EXPECT_FALSE(with_header(R"({"alg":"EdDSA","kid":"node-8"})"));
  EXPECT_FALSE(verifies_with(header + ".eA." + value));
  EXPECT_FALSE(verifies_with(header + "." + value));
  EXPECT_FALSE(verifies_with(text + "="));
  EXPECT_FALSE(verifies_with(text + " "));
  EXPECT_FALSE(verifies_with(" " + text));
  EXPECT_FALSE(verifies_with(text + "A"));
  // The last character holds two bits of the signature; the other four must be zero.
  ASSERT_EQ(text.back(), 'A');
  EXPECT_FALSE(verifies_with(text.substr(0, text.size() - 1) + "B"));
}

TEST(Signature, of_another_node_is_refused) {  // 13
  const Operation operation = sample_operation(ClaimWork{sample_id<JobId>(), {7}, 60000});
  const Operation forged = sign_operation(operation, numbered_key(1));
  EXPECT_FALSE(verify_operation(forged, rfc_key().public_key()));
  EXPECT_TRUE(verify_operation(forged, numbered_key(1).public_key()));
}

TEST(Signature, is_required) {  // 14
  Operation operation = signed_claim();
  operation.signature.reset();
  EXPECT_FALSE(verify_operation(operation, rfc_key().public_key()));
  operation.signature = "";
  EXPECT_FALSE(verify_operation(operation, rfc_key().public_key()));
}

}  // namespace
}  // namespace holdfast::mesh::signature_test
