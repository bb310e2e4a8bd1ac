// Tokens. The numbers at the tests are those of docs/mesh-tests.md.
#include "mesh/capabilities/token.h"

#include <gtest/gtest.h>

#include "tests/support/mesh_tokens.h"

namespace holdfast::mesh::token_test {
namespace {

// A token with this payload, signed by the user.
Result<Token> parse_payload(std::string_view json,
                            std::string_view header = R"({"alg":"EdDSA","typ":"JWT"})") {
  std::string text = to_base64url(as_bytes(header)) + "." + to_base64url(as_bytes(json));
  text += "." + to_base64url(user_key().sign(as_bytes(text)));
  return parse_token(as_bytes(text));
}

std::string payload(std::string_view att, std::string_view more = "") {
  return R"({"iss":")" + to_did(user_key().public_key()) + R"(","aud":")" +
         to_did(numbered_key(1).public_key()) + R"(","att":[)" + std::string(att) + "]" +
         std::string(more) + "}";
}

constexpr std::string_view kGrant = R"({"resource":"Job","action":"Claim"})";

bool accepts(std::string_view att, std::string_view more = "") {
  return parse_payload(payload(att, more)).ok();
}

TEST(TokenForm, an_issued_token_reads_back) {
  TokenSpec spec = spec_for(numbered_key(1), {grant("Job", "*", kinds({"a.", "b"}))});
  Caveats& caveats = spec.grants[0].caveats;
  caveats.source_types = {"mail"};
  caveats.predicates = {"likes"};
  caveats.time_range = TimeRange{1, 2};
  caveats.sanitize = {{SanitiseRule::Kind::strip_geo, 0},
                      {SanitiseRule::Kind::truncate_content, 5}};
  caveats.audit_inference = true;
  spec.not_before_s = 5;
  spec.expires_s = 9;
  spec.proofs = {blake3("a"), blake3("b")};
  const auto bytes = issue_token(spec, user_key());
  const auto token = parse_token(bytes);
  ASSERT_TRUE(token.ok()) << token.error().text();
  EXPECT_EQ(token.value().cid, blake3(bytes));
  EXPECT_EQ(token.value().issuer, user_key().public_key());
  EXPECT_EQ(token.value().audience, numbered_key(1).public_key());
  EXPECT_EQ(token.value().capabilities.at(0).caveats, caveats);
  EXPECT_EQ(token.value().capabilities.at(0).pairs, expand("Job", "*"));
  EXPECT_EQ(token.value().not_before_s, 5U);
  EXPECT_EQ(token.value().expires_s, 9U);
  EXPECT_EQ(token.value().proofs, spec.proofs);
}

TEST(TokenForm, a_bad_signature_or_another_algorithm_is_refused) {  // 109
  auto bytes = issue_token(spec_for(numbered_key(1), {}), user_key());
  ASSERT_TRUE(parse_token(bytes).ok());
  bytes.back() = bytes.back() == std::byte{'A'} ? std::byte{'Q'} : std::byte{'A'};
  EXPECT_FALSE(parse_token(bytes).ok());
  EXPECT_TRUE(parse_payload(payload("")).ok());
  EXPECT_FALSE(parse_payload(payload(""), R"({"alg":"none","typ":"JWT"})").ok());
  EXPECT_FALSE(parse_payload(payload(""), R"({"typ":"JWT","alg":"EdDSA"})").ok());
  EXPECT_FALSE(parse_payload(payload(""), R"({"alg":"EdDSA"})").ok());
  EXPECT_FALSE(parse_token(as_bytes("a.b")).ok());
  EXPECT_FALSE(parse_token(as_bytes("a.b.c.d")).ok());
  EXPECT_FALSE(parse_token({}).ok());
}

TEST(TokenForm, unknown_resources_caveats_and_rules_are_refused) {  // 105
  EXPECT_TRUE(accepts(kGrant));
  EXPECT_TRUE(accepts(R"({"resource":"Job","action":"Launch","caveats":{}})"));
  EXPECT_FALSE(accepts(R"({"resource":"Rocket","action":"Read"})"));
  const auto with = [](std::string_view caveats) {
    return accepts(R"({"resource":"Job","action":"Claim","caveats":{)" + std::string(caveats) +
                   "}}");
  };
  EXPECT_TRUE(with(R"("kind_prefix":["a."],"time_range":[1,2],"sanitize":["StripGeo"])"));
  EXPECT_TRUE(with(R"("sanitize":[{"TruncateContent":5}],"audit_inference":false)"));
  for (const std::string_view wrong :
       {R"("colour":["red"])", R"("kind_prefix":"a.")", R"("kind_prefix":[1])",
        R"("time_range":[1])", R"("time_range":[1,2.0])", R"("time_range":[-1,2])",
        R"("sanitize":["Shred"])", R"("sanitize":["TruncateContent"])",
        R"("sanitize":[{"StripGeo":1}])", R"("sanitize":[{"TruncateContent":-1}])",
        R"("audit_inference":1)"}) {
    EXPECT_FALSE(with(wrong)) << wrong;
  }
  EXPECT_FALSE(accepts(R"({"resource":"Job","action":"Claim","until":5})"));
  EXPECT_FALSE(accepts(R"({"resource":"Job"})"));
  EXPECT_FALSE(accepts(R"(7)"));
}

TEST(TokenForm, members_have_their_types_and_appear_once) {
  EXPECT_TRUE(accepts(kGrant, R"(,"nbf":5,"exp":6,"prf":[],"nnc":"x","ucv":"0.10.0","fct":{})"));
  EXPECT_TRUE(accepts(kGrant, R"(,"exp":null)"));
  for (const std::string_view wrong :
       {R"(,"nbf":5.0)", R"(,"nbf":-1)", R"(,"nbf":null)", R"(,"nbf":"5")", R"(,"exp":1e3)",
        R"(,"prf":"x")", R"(,"prf":["AB"])", R"(,"prf":[5])", R"(,"nnc":5)", R"(,"ucv":"0.9.0")",
        R"(,"likewise_extra":1)", R"(,"sub":"node-5")", R"(,"nbf":1,"nbf":2)", R"(,"att":[])"}) {
    EXPECT_FALSE(accepts(kGrant, wrong)) << wrong;
  }
  const std::string sub = node_name(numbered_key(1).node_id());
  EXPECT_TRUE(accepts(kGrant, R"(,"sub":")" + sub + R"(")"));
  EXPECT_FALSE(parse_payload("[]").ok());
  EXPECT_FALSE(parse_payload("{}").ok());
  EXPECT_FALSE(parse_payload("{").ok());
}

TEST(TokenTimes, both_ends_are_inclusive_in_milliseconds) {  // 97
  TokenSpec spec = spec_for(numbered_key(1), {});
  spec.not_before_s = 5;
  spec.expires_s = 9;
  const Token token = make_token(user_key(), spec);
  EXPECT_FALSE(token.has_begun(4999));
  EXPECT_TRUE(token.has_begun(5000));
  EXPECT_FALSE(token.has_expired(9000));
  EXPECT_TRUE(token.has_expired(9001));
  spec.not_before_s = std::numeric_limits<std::uint64_t>::max() / 2;
  spec.expires_s = spec.not_before_s;
  EXPECT_FALSE(make_token(user_key(), spec).has_begun(kMaxWallMs));
  EXPECT_FALSE(make_token(user_key(), spec).has_expired(kMaxWallMs));
  spec.expires_s.reset();
  EXPECT_FALSE(make_token(user_key(), spec).has_expired(kMaxWallMs));
}

}  // namespace
}  // namespace holdfast::mesh::token_test
