// The rules that a mesh may choose, and what they change.
#include "mesh/roster/roster_rules.h"

#include "mesh/roster/roster.h"
#include "tests/support/mesh_fixture.h"

namespace holdfast::mesh::roster_rules_test {
namespace {

class RosterRulesTest : public MeshTest {
 protected:
  void use(RosterRules rules) {
    roster = Roster(user.public_key(), std::move(rules));
    SetUp();
  }
};

TEST_F(RosterRulesTest, a_lease_longer_than_the_rules_allow_is_void) {
  use({.max_lease_ms = 100});
  schedule(10);
  EXPECT_EQ(verdict(add(anna, 20, claim_by(anna, 101))), "void lease_too_long");
  EXPECT_EQ(verdict(add(bert, 21, claim_by(bert, 100))), "applied");
  EXPECT_EQ(verdict(add(bert, 22, claim_by(bert, 101))), "void lease_too_long");
}

TEST_F(RosterRulesTest, a_completion_of_an_earlier_tenure_is_void) {
  for (const bool strict : {false, true}) {
    use({.strict_tenure = strict});
    schedule(10);
    const OpId first = add(anna, 20, claim_by(anna));
    add(anna, 30, yield_by(anna));
    const OpId second = add(anna, 40, claim_by(anna));
    const OpId renewal = add(anna, 50, claim_by(anna));
    EXPECT_EQ(verdict(add(anna, 60, completion(), {first})),
              strict ? "void stale_tenure" : "applied");
    if (strict) {
      EXPECT_EQ(verdict(add(anna, 61, completion(), {first, second})), "void stale_tenure");
      EXPECT_EQ(verdict(add(bert, 62, completion(), {first})), "void not_claimer");
      EXPECT_EQ(verdict(add(anna, 63, completion(), {second, renewal})), "applied");
    }
  }
}

TEST_F(RosterRulesTest, a_completion_that_cites_no_claim_counts_in_strict_meshes_too) {
  use({.strict_tenure = true});
  schedule(10);
  add(anna, 20, claim_by(anna));
  EXPECT_EQ(verdict(add(anna, 30, completion())), "applied");
}

TEST_F(RosterRulesTest, expiry_by_every_enrolled_node_is_a_choice) {
  const SigningKey carl = numbered_key(4);
  for (const ExpireAuthority who : {ExpireAuthority::complete, ExpireAuthority::enrolled}) {
    use({.expire_authority = who});
    TokenSpec spec = spec_for(carl, {grant("Job", "Read", kinds({"other."}))});
    spec.expires_s = 1;
    delegate(carl, user, spec);
    schedule(10);
    add(anna, 20, claim_by(anna, 10));
    const bool enrolled = who == ExpireAuthority::enrolled;
    EXPECT_EQ(verdict(add(carl, 1001, expiry_of(anna))),
              enrolled ? "parked chain_expired" : "parked not_admitted");
    EXPECT_EQ(verdict(add(carl, 1000, expiry_of(anna))),
              enrolled ? "applied" : "parked not_admitted");
    EXPECT_EQ(verdict(add(numbered_key(9), 1000, expiry_of(anna))), "parked no_chain");
  }
}

TEST_F(RosterRulesTest, a_mesh_without_a_coordinator_lets_every_node_derive) {
  use({.enforce_coordinator = false});
  EXPECT_EQ(verdict(add(anna, 10, CreateEntity{})), "applied");
  use({});
  EXPECT_EQ(verdict(add(anna, 10, CreateEntity{})), "void not_coordinator");
}

TEST_F(RosterRulesTest, equal_rules_have_equal_hashes_and_others_do_not) {
  const PublicKey key = user.public_key();
  const RosterRules rules{.inference_kinds = {"b.", "a."}};
  EXPECT_EQ(rules_hash(key, rules, {}), rules_hash(key, {.inference_kinds = {"a.", "b."}}, {}));
  const std::vector<RosterRules> others = {{.inference_kinds = {"a.,b."}},
                                           {.inference_kinds = {"b.", "a."}, .max_lease_ms = 1},
                                           {.expire_authority = ExpireAuthority::enrolled},
                                           {.strict_tenure = true},
                                           {.enforce_coordinator = false},
                                           {}};
  std::set<Digest> hashes{rules_hash(key, rules, {}), rules_hash(anna.public_key(), rules, {}),
                          rules_hash(key, rules, {.warn_ms = 1}),
                          rules_hash(key, rules, {.max_ms = 1})};
  for (const RosterRules& other : others) {
    hashes.insert(rules_hash(key, other, {}));
  }
  EXPECT_EQ(hashes.size(), 10U);
}

TEST_F(RosterRulesTest, merges_of_the_roster_are_those_that_are_applied) {
  EntityId one;
  EntityId two;
  two.bytes[0] = std::byte{2};
  add(anna, 10, MergeEntities{one, {two}, ""});  // anna does not coordinate
  EXPECT_TRUE(roster.entity_redirects().empty());
  add(owner, 20, MergeEntities{one, {two}, ""});
  EXPECT_EQ(roster.entity_redirects(), (EntityRedirects{{two, one}}));
}

}  // namespace
}  // namespace holdfast::mesh::roster_rules_test
