// Authority over operations as delegations and revocations arrive. The numbers at the tests are
// those of docs/mesh-tests.md.
#include "tests/support/mesh_fixture.h"

namespace holdfast::mesh::roster_authority_test {
namespace {

class RosterAuthorityTest : public MeshTest {
 protected:
  SigningKey carl = numbered_key(4);
};

TEST_F(RosterAuthorityTest,
       an_operation_without_a_chain_is_parked_until_its_delegation_arrives) {  // 93, 104
  schedule(10);
  const OpId claim = add(carl, 20, claim_by(carl));
  EXPECT_EQ(verdict(claim), "parked no_chain");
  const VerifiedOperation root = make_delegation(owner, user, spec_for(owner, {grant("Job", "*")}));
  delegate(carl, owner, spec_for(carl, {grant("Job", "Claim")}, {root.token->cid}));
  EXPECT_EQ(verdict(claim), "parked missing_proof");
  add(root);
  EXPECT_EQ(verdict(claim), "applied");
}

TEST_F(RosterAuthorityTest, another_action_is_refused) {  // 94
  delegate(carl, user, spec_for(carl, {grant("Job", "Schedule")}));
  schedule(10);
  EXPECT_EQ(verdict(add(carl, 20, claim_by(carl))), "parked not_admitted");
  EXPECT_EQ(verdict(add(carl, 30, ScheduleJob{job_id(2), "k", {}, {}})), "applied");
}

TEST_F(RosterAuthorityTest, every_job_operation_needs_the_kind) {  // 95
  delegate(carl, user, spec_for(carl, {grant("Job", "*", kinds({"a."}))}));
  const std::string refused = "void caveat_failed(kind_prefix)";
  EXPECT_EQ(verdict(add(carl, 5, ScheduleJob{job_id(2), "b", {}, {}})), refused);
  EXPECT_EQ(verdict(add(carl, 6, ScheduleJob{job_id(3), "a.b", {}, {}})), "applied");
  const OpId early = add(carl, 20, claim_by(carl));
  EXPECT_EQ(verdict(early), "deferred unknown_job");
  schedule(10, "b");
  EXPECT_EQ(verdict(early), refused);
  add(anna, 30, claim_by(anna, 10));
  EXPECT_EQ(verdict(add(carl, 40, completion())), refused);
  EXPECT_EQ(verdict(add(carl, 50, yield_by(carl))), refused);
  EXPECT_EQ(verdict(add(carl, 60, expiry_of(anna))), refused);
  EXPECT_EQ(phase(job), "Claimed");
}

TEST_F(RosterAuthorityTest,
       a_time_range_and_validity_count_at_the_time_of_the_operation) {  // 96, 97
  Caveats caveats;
  caveats.time_range = TimeRange{10'000, 20'000};
  TokenSpec spec = spec_for(carl, {grant("Job", "*", caveats)});
  spec.not_before_s = 5;
  spec.expires_s = 30;
  delegate(carl, user, spec);
  unsigned number = 10;
  const auto at = [&](std::uint64_t wall_ms) {
    return verdict(add(carl, wall_ms, ScheduleJob{job_id(++number), "k", {}, {}}));
  };
  EXPECT_EQ(at(4'999), "parked chain_not_yet");
  EXPECT_EQ(at(9'999), "parked caveat_failed(time_range)");
  EXPECT_EQ(at(10'000), "applied");
  EXPECT_EQ(at(19'999), "applied");
  EXPECT_EQ(at(20'000), "parked caveat_failed(time_range)");
  EXPECT_EQ(at(30'001), "parked chain_expired");
}

TEST_F(RosterAuthorityTest, predicates_are_those_of_the_claim_that_is_changed) {
  Caveats likes;
  likes.predicates = {"likes"};
  delegate(carl, user, spec_for(carl, {grant("Claim", "Write", likes)}));
  add(owner, 5, DesignateCoordinator{carl.node_id()});
  CreateClaim created;
  created.predicate = "knows";
  EXPECT_EQ(verdict(add(carl, 10, created)), "parked caveat_failed(predicates)");
  const OpId update = add(carl, 40, UpdateClaimStatus{{}, ClaimStatus::fact, {}});
  EXPECT_EQ(verdict(update), "deferred missing_dep");
  created.predicate = "likes";
  add(carl, 30, created);
  EXPECT_EQ(verdict(update), "applied");
  created.predicate = "knows";
  add(owner, 20, created);
  EXPECT_EQ(verdict(update), "void caveat_failed(predicates)");
}

TEST_F(RosterAuthorityTest, delegations_that_widen_are_not_admitted) {  // 98, 101, 103
  const Token root = delegate(anna, user, spec_for(anna, {grant("Job", "*", kinds({"a."}))}));
  const auto outcome = [&](const SigningKey& issuer, const TokenSpec& spec) {
    const VerifiedOperation operation = make_delegation(carl, issuer, spec);
    return verdict(add(operation));
  };
  EXPECT_EQ(outcome(anna, spec_for(carl, {grant("Job", "*", kinds({"a.b"}))}, {root.cid})),
            "applied");
  EXPECT_EQ(outcome(anna, spec_for(carl, {grant("Mesh", "Write")}, {root.cid})),
            "parked not_admitted");
  EXPECT_EQ(outcome(anna, spec_for(carl, {grant("Job", "*")}, {root.cid})), "parked not_admitted");
  EXPECT_EQ(outcome(bert, spec_for(carl, {grant("Job", "*", kinds({"a.b"}))}, {root.cid})),
            "parked not_admitted");
  EXPECT_EQ(outcome(anna, spec_for(carl, {grant("Job", "*")}, {blake3("nothing")})),
            "deferred missing_proof");
}

TEST_F(RosterAuthorityTest, a_delegation_to_another_needs_authority_over_registrations) {
  const auto bytes = issue_token(spec_for(carl, {grant("Job", "*")}), user);
  const DelegateUcan carried{blake3(bytes), bytes};
  delegate(numbered_key(6), user, spec_for(numbered_key(6), {grant("Job", "*")}));
  EXPECT_EQ(verdict(add(numbered_key(6), 5, carried)), "parked not_admitted");
  EXPECT_EQ(verdict(add(anna, 6, carried)), "applied");
  EXPECT_EQ(verdict(add(carl, 7, carried)), "applied");  // addressed to its author
}

TEST_F(RosterAuthorityTest,
       revoked_operations_leave_the_roster_and_stay_on_the_log) {  // 36, 110, 111
  const Token token = delegate(carl, user, spec_for(carl, {grant("Job", "*")}));
  const Token child =
      delegate(bert, carl, spec_for(numbered_key(6), {grant("Job", "Claim")}, {token.cid}));
  schedule(10);
  const OpId claim = add(carl, 20, claim_by(carl));
  const OpId waiting = add(anna, 30, claim_by(anna));
  const std::size_t size = roster.size();
  EXPECT_EQ(verdict(add(owner, 900, RevokeUcan{token.cid})), "applied");
  EXPECT_EQ(verdict(claim), "parked chain_revoked");
  EXPECT_EQ(verdict(waiting), "applied");
  EXPECT_EQ(claimer(job), anna.node_id());
  EXPECT_EQ(roster.size(), size + 1);
  EXPECT_EQ(roster.history(job).size(), 3U);
  EXPECT_TRUE(roster.tokens().is_revoked(child.cid));
}

TEST_F(RosterAuthorityTest, a_new_token_restores_what_a_revocation_removed) {  // 112
  TokenSpec spec = spec_for(carl, {grant("Job", "*")});
  const Token token = delegate(carl, user, spec);
  schedule(10);
  const OpId claim = add(carl, 20, claim_by(carl));
  add(owner, 30, RevokeUcan{token.cid});
  EXPECT_EQ(verdict(claim), "parked chain_revoked");
  delegate(carl, user, spec);  // the same token again
  EXPECT_EQ(verdict(claim), "parked chain_revoked");
  spec.nonce = "again";
  delegate(carl, user, spec);
  EXPECT_EQ(verdict(claim), "applied");
}

TEST_F(RosterAuthorityTest, a_revocation_by_an_unrelated_node_has_no_effect) {  // 113
  const Token token = delegate(carl, user, spec_for(carl, {grant("Job", "*")}));
  schedule(10);
  const OpId claim = add(carl, 20, claim_by(carl));
  EXPECT_EQ(verdict(add(anna, 30, RevokeUcan{token.cid})), "parked not_admitted");
  EXPECT_EQ(verdict(add(anna, 31, RevokeUcan{blake3("nothing")})), "deferred missing_proof");
  EXPECT_EQ(verdict(claim), "applied");
  EXPECT_EQ(verdict(add(carl, 40, RevokeUcan{token.cid})), "applied");  // renounces it
  EXPECT_EQ(verdict(claim), "parked chain_revoked");
}

TEST_F(RosterAuthorityTest, owners_that_revoke_each_other_are_both_revoked_in_any_order) {  // 114
  const SigningKey second = numbered_key(8);
  const Token mine = delegate(owner, user, spec_for(owner, {grant("Mesh", "*")}));
  const Token theirs = delegate(second, user, spec_for(second, {grant("Mesh", "*")}));
  const VerifiedOperation one = make(owner, 20, RevokeUcan{theirs.cid});
  const VerifiedOperation other = make(second, 20, RevokeUcan{mine.cid});
  Roster reversed = roster;
  add(one);
  add(other);
  reversed.add(other);
  reversed.add(one);
  for (const Roster* each : {&roster, &reversed}) {
    EXPECT_TRUE(each->tokens().is_revoked(mine.cid));
    EXPECT_TRUE(each->tokens().is_revoked(theirs.cid));
    EXPECT_EQ(*each->verdict(one.hash), applied());
    EXPECT_EQ(*each->verdict(other.hash), applied());
  }
}

TEST_F(RosterAuthorityTest, a_job_completed_by_a_revoked_worker_is_open_again) {  // 115
  const Token token = delegate(carl, user, spec_for(carl, {grant("Job", "*")}));
  schedule(10);
  add(carl, 20, claim_by(carl));
  const OpId done = add(carl, 30, completion());
  EXPECT_EQ(phase(job), "Completed");
  add(owner, 40, RevokeUcan{token.cid});
  EXPECT_EQ(phase(job), "Pending");
  EXPECT_EQ(roster.take_regressed(), (std::vector<JobRegressed>{{job, done}}));
  add(anna, 50, claim_by(anna));
  EXPECT_EQ(verdict(add(anna, 60, completion())), "applied");
}

TEST_F(RosterAuthorityTest, a_retired_device_keeps_its_history) {  // 116
  const Token token = delegate(carl, user, spec_for(carl, {grant("Job", "*")}));
  schedule(10);
  const OpId claim = add(carl, 20, claim_by(carl));
  TokenSpec until = spec_for(carl, {grant("Job", "*")});
  until.expires_s = 1;
  delegate(carl, user, until);
  add(owner, 2'000, RevokeUcan{token.cid});
  EXPECT_EQ(verdict(claim), "applied");
  EXPECT_EQ(verdict(add(carl, 1'001, completion())), "parked chain_expired");
}

TEST_F(RosterAuthorityTest, an_unreadable_token_is_rejected) {  // 109
  const DelegateUcan nonsense{blake3("nonsense"), bytes_of("nonsense")};
  EXPECT_EQ(verdict(add(owner, 5, nonsense)), "rejected malformed");
}

}  // namespace
}  // namespace holdfast::mesh::roster_authority_test
