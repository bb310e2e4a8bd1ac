// Keys and their names. The numbers at the tests are those of docs/mesh-tests.md.
#include "mesh/ops/node_key.h"

#include <gtest/gtest.h>

#include "tests/support/mesh_samples.h"

namespace holdfast::mesh::node_key_test {
namespace {

constexpr std::string_view kDid = "did:key:z6MktwupdmLXVVqTzCw4i46r4uGyosGXRnR3XjN4Zq7oMMsw";

PublicKey key_of(std::string_view hex) {
  PublicKey key;
  const auto bytes = unhex(hex);
  std::copy(bytes.begin(), bytes.end(), key.bytes.begin());
  return key;
}

TEST(NodeKey, signs_the_vectors_of_rfc_8032) {
  EXPECT_EQ(hex_of(rfc_key().public_key().bytes),
            "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a");
  EXPECT_EQ(hex_of(rfc_key().sign({})),
            "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e06522490155"
            "5fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b");
  EXPECT_TRUE(verify(rfc_key().public_key(), {}, rfc_key().sign({})));
}

TEST(NodeKey, the_node_id_is_the_start_of_the_hash_of_the_key) {
  const PublicKey key = rfc_key().public_key();
  const Digest digest = blake3(std::span<const std::byte>(key.bytes));
  std::uint64_t expected = 0;
  for (std::size_t i = 8; i > 0; --i) {
    expected = expected << 8U | std::to_integer<std::uint64_t>(digest[i - 1]);
  }
  EXPECT_EQ(node_id_of(key).value, expected);
  EXPECT_NE(node_id_of(key), numbered_key(1).node_id());
  EXPECT_EQ(node_name({7}), "node-7");
}

TEST(NodeKey, a_did_has_one_spelling) {
  EXPECT_EQ(to_did(rfc_key().public_key()), kDid);
  EXPECT_EQ(parse_did(kDid), rfc_key().public_key());
  EXPECT_EQ(parse_did(std::string(kDid) + "#" + std::string(kDid).substr(8)), std::nullopt);
  EXPECT_EQ(parse_did(std::string(kDid) + "1"), std::nullopt);
  EXPECT_EQ(parse_did("did:key:z1" + std::string(kDid).substr(9)), std::nullopt);
  EXPECT_EQ(parse_did(std::string(kDid).substr(0, 50)), std::nullopt);
  EXPECT_EQ(parse_did("did:web:example.org"), std::nullopt);
  EXPECT_EQ(parse_did("did:key:z0OIl"), std::nullopt);
  EXPECT_EQ(parse_did(""), std::nullopt);
}

TEST(NodeKey, keys_of_small_order_and_other_forms_of_a_key_are_not_acceptable) {  // 15
  for (std::string hex : {
           "0000000000000000000000000000000000000000000000000000000000000000",
           "0100000000000000000000000000000000000000000000000000000000000000",
           "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
           "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
           "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
           "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
           "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
           "efffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
       }) {
    for (const std::byte sign : {std::byte{0}, std::byte{0x80}}) {
      PublicKey key = key_of(hex);
      key.bytes[31] |= sign;
      EXPECT_FALSE(is_acceptable(key)) << hex;
      EXPECT_EQ(parse_did(to_did(key)), std::nullopt) << hex;
      SignatureBytes identity{std::byte{1}};  // R is the identity, S is 0
      EXPECT_FALSE(verify(key, as_bytes("any message"), identity)) << hex;
    }
  }
  EXPECT_TRUE(is_acceptable(rfc_key().public_key()));
}

TEST(NodeKey, a_signature_with_a_larger_s_is_refused) {  // 15
  SignatureBytes signature = rfc_key().sign(as_bytes("message"));
  ASSERT_TRUE(verify(rfc_key().public_key(), as_bytes("message"), signature));
  const auto order = unhex("edd3f55c1a631258d69cf7a2def9de1400000000000000000000000000000010");
  unsigned carry = 0;
  for (std::size_t i = 0; i < 32; ++i) {  // S + L
    carry += std::to_integer<unsigned>(signature[32 + i]) + std::to_integer<unsigned>(order[i]);
    signature[32 + i] = static_cast<std::byte>(carry);
    carry >>= 8U;
  }
  ASSERT_EQ(carry, 0U);
  EXPECT_FALSE(verify(rfc_key().public_key(), as_bytes("message"), signature));
}

}  // namespace
}  // namespace holdfast::mesh::node_key_test
