// Chains, revocation and what they admit. The numbers at the tests are those of
// docs/mesh-tests.md.
#include "mesh/capabilities/token_graph.h"

#include <gtest/gtest.h>

#include "tests/support/mesh_tokens.h"

namespace holdfast::mesh::token_graph_test {
namespace {

using Structure = TokenGraph::Structure;
constexpr Pair kClaim{Resource::job, Action::claim};
constexpr Pair kSchedule{Resource::job, Action::schedule};

class TokenGraphTest : public testing::Test {
 protected:
  Token add(const SigningKey& issuer, const TokenSpec& spec) {
    Token token = make_token(issuer, spec);
    graph.add(token);
    return token;
  }
  Token add_root(const SigningKey& audience, std::vector<Grant> grants) {
    return add(user, spec_for(audience, std::move(grants)));
  }
  Structure structure_of(const SigningKey& issuer, const TokenSpec& spec) {
    return *graph.structure(add(issuer, spec).cid);
  }
  Reason reason(const SigningKey& author, Pair pair, CaveatFacts facts = {}) {
    return graph.admit(author.public_key(), pair, facts).reason;
  }

  SigningKey user = user_key();
  SigningKey phone = numbered_key(1);
  SigningKey server = numbered_key(2);
  SigningKey worker = numbered_key(3);
  TokenGraph graph{user_key().public_key()};
};

TEST_F(TokenGraphTest, without_a_chain_nothing_is_admitted) {  // 93
  EXPECT_EQ(reason(phone, kClaim), Reason::no_chain);
  // A token that the node gave itself is not a chain to the user.
  add(phone, spec_for(phone, {grant("*", "*")}));
  EXPECT_EQ(reason(phone, kClaim), Reason::no_chain);
}

TEST_F(TokenGraphTest, another_action_is_not_admitted) {  // 94
  add_root(phone, {grant("Job", "Schedule")});
  EXPECT_EQ(reason(phone, kSchedule), Reason::none);
  EXPECT_EQ(reason(phone, kClaim), Reason::not_admitted);
}

TEST_F(TokenGraphTest, a_pair_that_the_parent_lacks_is_refused) {  // 98
  const Token root = add_root(phone, {grant("Job", "Claim"), grant("Job", "Read")});
  EXPECT_EQ(structure_of(phone, spec_for(server, {grant("Job", "Claim")}, {root.cid})),
            Structure::valid);
  EXPECT_EQ(structure_of(phone, spec_for(server, {grant("Job", "Schedule")}, {root.cid})),
            Structure::invalid);
  EXPECT_EQ(structure_of(phone, spec_for(server, {grant("Job", "*")}, {root.cid})),
            Structure::invalid);
  // A pair that is not defined grants nothing, so it needs no parent.
  EXPECT_EQ(structure_of(phone, spec_for(server, {grant("Mesh", "Claim")}, {root.cid})),
            Structure::valid);
}

TEST_F(TokenGraphTest, each_pair_needs_one_capability_of_one_parent) {
  const Token claims = add_root(phone, {grant("Job", "Claim", kinds({"a."}))});
  const Token more = add_root(phone, {grant("Job", "Claim", kinds({"b."})), grant("Mesh", "Read")});
  const auto child = [&](std::vector<std::string> prefixes) {
    return spec_for(server, {grant("Job", "Claim", kinds(prefixes)), grant("Mesh", "Read")},
                    {claims.cid, more.cid});
  };
  EXPECT_EQ(structure_of(phone, child({"a.x"})), Structure::valid);
  EXPECT_EQ(structure_of(phone, child({"b.x"})), Structure::valid);
  EXPECT_EQ(structure_of(phone, child({"a.x", "b.x"})), Structure::invalid);
}

TEST_F(TokenGraphTest, a_child_lives_within_its_parent) {  // 102
  TokenSpec root = spec_for(phone, {grant("*", "*")});
  root.not_before_s = 10;
  root.expires_s = 20;
  const Token parent = add(user, root);
  const auto child = [&](std::uint64_t not_before_s, std::optional<std::uint64_t> expires_s) {
    TokenSpec spec = spec_for(server, {grant("Job", "Claim")}, {parent.cid});
    spec.not_before_s = not_before_s;
    spec.expires_s = expires_s;
    return structure_of(phone, spec);
  };
  EXPECT_EQ(child(10, 20), Structure::valid);
  EXPECT_EQ(child(9, 20), Structure::invalid);
  EXPECT_EQ(child(10, 21), Structure::invalid);
  EXPECT_EQ(child(10, std::nullopt), Structure::invalid);
}

TEST_F(TokenGraphTest, a_parent_must_be_issued_to_the_issuer_of_the_child) {  // 103
  const Token root = add_root(phone, {grant("*", "*")});
  EXPECT_EQ(structure_of(server, spec_for(server, {grant("Job", "Claim")}, {root.cid})),
            Structure::invalid);
  const Token other = add_root(worker, {grant("*", "*")});
  EXPECT_EQ(structure_of(phone, spec_for(server, {grant("Job", "Claim")}, {root.cid, other.cid})),
            Structure::invalid);
}

TEST_F(TokenGraphTest, a_chain_is_in_force_when_its_last_proof_arrives) {  // 104
  const Token root = make_token(user, spec_for(phone, {grant("*", "*")}));
  const Token middle = make_token(phone, spec_for(server, {grant("Job", "*")}, {root.cid}));
  const Token leaf = make_token(server, spec_for(worker, {grant("Job", "Claim")}, {middle.cid}));
  graph.add(leaf);
  EXPECT_EQ(reason(worker, kClaim), Reason::missing_proof);
  graph.add(middle);
  EXPECT_EQ(reason(worker, kClaim), Reason::missing_proof);
  EXPECT_EQ(reason(server, kClaim), Reason::missing_proof);
  graph.take_changes();
  graph.add(root);
  EXPECT_EQ(reason(worker, kClaim), Reason::none);
  EXPECT_EQ(graph.take_changes().audiences,
            (std::set{phone.public_key(), server.public_key(), worker.public_key()}));
}

TEST_F(TokenGraphTest, chains_are_at_most_16_tokens_long_and_cite_at_most_8) {
  std::vector<SigningKey> keys;
  Token last = add_root(numbered_key(100), {grant("Job", "Claim")});
  for (unsigned depth = 2; depth <= 17; ++depth) {
    last = add(numbered_key(98 + depth),
               spec_for(numbered_key(99 + depth), {grant("Job", "Claim")}, {last.cid}));
    EXPECT_EQ(*graph.structure(last.cid), depth <= 16 ? Structure::valid : Structure::invalid);
  }
  std::vector<Digest> proofs;
  for (int i = 0; i < 9; ++i) {
    TokenSpec spec = spec_for(phone, {grant("Job", "Claim")});
    spec.nonce = std::to_string(i);
    proofs.push_back(add(user, spec).cid);
  }
  EXPECT_EQ(structure_of(phone, spec_for(server, {}, proofs)), Structure::invalid);
  proofs.pop_back();
  EXPECT_EQ(structure_of(phone, spec_for(server, {}, proofs)), Structure::valid);
}

TEST_F(TokenGraphTest, validity_is_judged_at_the_time_of_the_operation) {  // 97
  TokenSpec spec = spec_for(phone, {grant("Job", "Claim", kinds({"a."}))});
  spec.not_before_s = 10;
  spec.expires_s = 20;
  add(user, spec);
  EXPECT_EQ(reason(phone, kClaim, {.wall_ms = 9'999}), Reason::chain_not_yet);
  EXPECT_EQ(reason(phone, kClaim, {.wall_ms = 10'000}), Reason::none);
  EXPECT_EQ(reason(phone, kClaim, {.wall_ms = 20'000}), Reason::none);
  EXPECT_EQ(reason(phone, kClaim, {.wall_ms = 20'001}), Reason::chain_expired);
  EXPECT_EQ(reason(phone, kClaim, {.wall_ms = 15'000, .kind = "b"}), Reason::caveat_failed);
}

TEST_F(TokenGraphTest, the_most_advanced_failure_is_reported) {
  add_root(phone, {grant("Job", "Claim", kinds({"a."}))});
  TokenSpec expired = spec_for(phone, {grant("*", "*")});
  expired.expires_s = 1;
  add(user, expired);
  EXPECT_EQ(reason(phone, kClaim, {.wall_ms = 5'000, .kind = "b"}), Reason::caveat_failed);
  EXPECT_EQ(reason(phone, kSchedule, {.wall_ms = 5'000}), Reason::chain_expired);
}

TEST_F(TokenGraphTest, a_revoked_token_takes_its_descendants_with_it) {  // 110
  const Token root = add_root(phone, {grant("*", "*")});
  const Token middle = add(phone, spec_for(server, {grant("Job", "*")}, {root.cid}));
  const Token other = add_root(server, {grant("Job", "*")});
  const Token leaf =
      add(server, spec_for(worker, {grant("Job", "Claim")}, {middle.cid, other.cid}));
  EXPECT_EQ(reason(worker, kClaim), Reason::none);
  graph.add_revocation(user.public_key(), middle.cid);
  EXPECT_EQ(reason(worker, kClaim), Reason::chain_revoked);
  EXPECT_TRUE(graph.is_revoked(leaf.cid));
  EXPECT_EQ(reason(server, kClaim), Reason::none);  // by the other token
  EXPECT_EQ(reason(phone, kClaim), Reason::none);
  // A token that cites a revoked one is revoked from the start.
  const Token late = add(server, spec_for(phone, {grant("Job", "Read")}, {middle.cid}));
  EXPECT_TRUE(graph.is_revoked(late.cid));
}

TEST_F(TokenGraphTest, a_revocation_is_for_ever_and_a_new_token_grants_again) {  // 112
  TokenSpec spec = spec_for(phone, {grant("Job", "Claim")});
  const Token first = add(user, spec);
  graph.add_revocation(user.public_key(), first.cid);
  graph.add(first);
  EXPECT_EQ(reason(phone, kClaim), Reason::chain_revoked);
  spec.nonce = "again";
  add(user, spec);
  EXPECT_EQ(reason(phone, kClaim), Reason::none);
}

TEST_F(TokenGraphTest, only_those_with_a_right_to_it_can_revoke) {  // 113
  const SigningKey stranger = numbered_key(9);
  const SigningKey owner = numbered_key(8);
  const Token root = add_root(phone, {grant("Job", "*")});
  const Token middle = add(phone, spec_for(server, {grant("Job", "*")}, {root.cid}));
  const Token leaf = add(server, spec_for(worker, {grant("Job", "Claim")}, {middle.cid}));
  add_root(owner, {grant("Mesh", "Write")});
  add_root(stranger, {grant("Job", "*"), grant("Registration", "*")});
  const auto may = [&](const SigningKey& key) {
    return graph.may_revoke(key.public_key(), leaf.cid);
  };
  EXPECT_TRUE(may(server));  // issuer
  EXPECT_TRUE(may(phone));   // issuer of an ancestor
  EXPECT_TRUE(may(user));
  EXPECT_TRUE(may(worker));  // renounces it
  EXPECT_TRUE(may(owner));
  EXPECT_FALSE(may(stranger));
  graph.add_revocation(stranger.public_key(), leaf.cid);
  EXPECT_FALSE(graph.is_revoked(leaf.cid));
  EXPECT_FALSE(graph.may_revoke(worker.public_key(), middle.cid));
}

TEST_F(TokenGraphTest, the_right_to_revoke_does_not_need_authority_that_still_holds) {  // 114
  const Token root = add_root(phone, {grant("*", "*")});
  const Token other = add_root(server, {grant("*", "*")});
  graph.add_revocation(server.public_key(), root.cid);
  graph.add_revocation(phone.public_key(), other.cid);
  EXPECT_TRUE(graph.is_revoked(root.cid));
  EXPECT_TRUE(graph.is_revoked(other.cid));
}

TEST_F(TokenGraphTest, a_retired_device_keeps_its_history_and_gets_nothing_new) {  // 116
  const Token original = add_root(phone, {grant("Job", "*")});
  const Token child = add(phone, spec_for(worker, {grant("Job", "Claim")}, {original.cid}));
  TokenSpec replacement = spec_for(phone, {grant("Job", "*")});
  replacement.expires_s = 100;
  add(user, replacement);
  graph.add_revocation(user.public_key(), original.cid);
  EXPECT_EQ(reason(phone, kClaim, {.wall_ms = 100'000}), Reason::none);
  EXPECT_EQ(reason(phone, kClaim, {.wall_ms = 100'001}), Reason::chain_expired);
  EXPECT_TRUE(graph.is_revoked(child.cid));
}

TEST_F(TokenGraphTest, several_delegations_add_up) {  // 117
  add_root(phone, {grant("Job", "Claim", kinds({"a."}))});
  add_root(phone, {grant("Job", "Claim", kinds({"b."}))});
  EXPECT_EQ(reason(phone, kClaim, {.wall_ms = 0, .kind = "a.1"}), Reason::none);
  EXPECT_EQ(reason(phone, kClaim, {.wall_ms = 0, .kind = "b.1"}), Reason::none);
  EXPECT_EQ(reason(phone, kClaim, {.wall_ms = 0, .kind = "c.1"}), Reason::caveat_failed);
}

TEST_F(TokenGraphTest, an_owner_holds_the_mesh_by_a_root_token) {  // 69
  const Token root = add_root(phone, {grant("*", "*")});
  add(phone, spec_for(server, {grant("Mesh", "Write")}, {root.cid}));
  EXPECT_TRUE(graph.is_owner(phone.public_key(), 0));
  EXPECT_FALSE(graph.is_owner(server.public_key(), 0));
  EXPECT_EQ(graph.first_owner(0), phone.node_id());
  add_root(server, {grant("Mesh", "Write")});
  EXPECT_EQ(graph.first_owner(0), std::min(phone.node_id(), server.node_id()));
  graph.add_revocation(user.public_key(), root.cid);
  EXPECT_FALSE(graph.is_owner(phone.public_key(), 0));
  EXPECT_EQ(graph.first_owner(0), server.node_id());
}

TEST_F(TokenGraphTest, audit_is_in_force_by_a_root_token_or_a_caveat) {
  const Token root = add_root(phone, {grant("*", "*")});
  Caveats audited;
  audited.audit_inference = true;
  add(phone, spec_for(server, {grant("Job", "Claim", audited)}, {root.cid}));
  add(phone, spec_for(worker, {grant("Job", "Claim")}, {root.cid}));
  EXPECT_TRUE(graph.is_audited(phone.public_key(), 0));
  EXPECT_TRUE(graph.is_audited(server.public_key(), 0));
  EXPECT_FALSE(graph.is_audited(worker.public_key(), 0));
}

}  // namespace
}  // namespace holdfast::mesh::token_graph_test
