// Why a job is not running on a node: one test for each kind of reason.
#include "mesh/roster/explain_job.h"

#include "tests/support/mesh_fixture.h"

namespace holdfast::mesh::explain_job_test {
namespace {

using Texts = std::vector<std::string>;

class ExplainJob : public MeshTest {
 protected:
  void SetUp() override {
    give(owner, enrolled(owner, {grant("*", "*")}));
    give(anna, enrolled(anna, {grant("Job", "*")}));
    give(bert, enrolled(bert, {grant("Job", "*")}));
  }
  // The self-addressed delegation of a node; its token is the user's.
  VerifiedOperation enrolled(const SigningKey& node, std::vector<Grant> grants) {
    return make_delegation(node, user, spec_for(node, std::move(grants)));
  }
  IntakeResult give(const SigningKey& signer, const VerifiedOperation& operation,
                    std::uint64_t wall_now_ms = 50) {
    return replica.ingest(encode_operation(sign_operation(operation.operation, signer)),
                          wall_now_ms);
  }
  OpId say(const SigningKey& author, std::uint64_t wall_ms, Payload payload, Deps deps = {}) {
    const VerifiedOperation operation = make(author, wall_ms, std::move(payload), std::move(deps));
    give(author, operation);
    return operation.operation.id;
  }
  OpId schedule_job(std::uint64_t wall_ms, Deps deps = {}) {
    return say(owner, wall_ms, ScheduleJob{job, "k", {}, {}}, std::move(deps));
  }
  Texts why_not(const SigningKey& node, std::uint64_t wall_ms = 50) const {
    Texts texts;
    for (const Obstacle& one :
         explain_claim(replica, job, node.public_key(), {wall_ms, 0, node.node_id()})) {
      texts.push_back(one.text);
    }
    return texts;
  }
  // The obstacle that a node has which holds only this token, in the place of anna.
  std::string why_with(const TokenSpec& spec, const SigningKey& issuer, std::uint64_t wall_ms) {
    give(clara, make_delegation(clara, issuer, spec));
    const Texts texts = why_not(clara, wall_ms);
    EXPECT_EQ(texts.size(), 1U);
    const std::string start = "no token of the node admits (Job, Claim) for kind \"k\": ";
    EXPECT_TRUE(texts.front().starts_with(start)) << texts.front();
    return texts.front().substr(start.size());
  }

  SigningKey clara = numbered_key(9);
  const std::string anna_name = node_name(numbered_key(2).node_id());
  const std::string bert_name = node_name(numbered_key(3).node_id());
  const std::string owner_name = node_name(numbered_key(1).node_id());
  Replica replica{user_key().public_key(), numbered_key(50).node_id()};
};

TEST_F(ExplainJob, nothing_stands_in_the_way_of_a_pending_job) {
  schedule_job(10);
  EXPECT_EQ(why_not(anna), Texts{});
}

TEST_F(ExplainJob, the_schedule_is_not_known) {
  EXPECT_EQ(why_not(anna), Texts{"no ScheduleJob for this job is known"});
}

TEST_F(ExplainJob, the_schedule_waits_for_operations_and_each_is_named_down_to_the_missing_one) {
  const VerifiedOperation root = make(owner, 5, ScheduleJob{job_id(2), "k", {}, {}});
  const OpId middle = say(owner, 6, ScheduleJob{job_id(3), "k", {}, {}}, {root.operation.id});
  schedule_job(10, {middle});
  EXPECT_EQ(why_not(anna),
            Texts{"its ScheduleJob by " + owner_name + " is deferred dep_void: operation " +
                  to_text(middle) + " is deferred missing_dep; operation " +
                  to_text(root.operation.id) + " is not known"});
  give(owner, root);
  EXPECT_EQ(why_not(anna), Texts{});
}

TEST_F(ExplainJob, the_schedule_waits_for_an_operation_that_had_no_effect) {
  const OpId cause = say(bert, 5, CompleteJob{job_id(2), {}, {}, {}});
  say(owner, 1, ScheduleJob{job_id(2), "k", {}, {}});
  schedule_job(10, {cause});
  EXPECT_EQ(why_not(anna),
            Texts{"its ScheduleJob by " + owner_name + " is deferred dep_void: operation " +
                  to_text(cause) + " is void not_claimed"});
}

TEST_F(ExplainJob, the_author_of_the_schedule_may_not_schedule) {
  give(clara, enrolled(clara, {grant("Job", "Claim")}));
  say(clara, 10, ScheduleJob{job, "k", {}, {}});
  EXPECT_EQ(why_not(anna),
            Texts{"its ScheduleJob by " + node_name(clara.node_id()) + " is parked not_admitted"});
}

TEST_F(ExplainJob, the_schedule_has_a_twin) {
  const VerifiedOperation one = make(owner, 10, ScheduleJob{job, "k", {}, {}});
  give(owner, one);
  give(owner, make(owner, 10, ScheduleJob{job_id(2), "k", {}, {}}));
  EXPECT_EQ(why_not(anna),
            Texts{"its ScheduleJob by " + owner_name + " is void integrity_duplicate_hlc"});
}

TEST_F(ExplainJob, the_key_of_the_author_of_the_schedule_is_not_bound) {
  say(clara, 10, ScheduleJob{job, "k", {}, {}});
  EXPECT_EQ(why_not(anna),
            Texts{"its ScheduleJob by " + node_name(clara.node_id()) +
                  " waits aside: no delegation by that node itself is known, so its key is not "
                  "bound"});
}

TEST_F(ExplainJob, the_schedule_is_in_quarantine) {
  schedule_job(90'000'000);
  EXPECT_EQ(why_not(anna), Texts{"its ScheduleJob by " + owner_name +
                                 " waits in quarantine: its time, 90000000 ms, is too far ahead"});
}

TEST_F(ExplainJob, another_node_holds_the_job_until_its_lease_ends_and_is_expired) {
  schedule_job(10);
  say(bert, 30, claim_by(bert, 100));
  EXPECT_EQ(why_not(anna, 130), Texts{bert_name + " holds it until 130 ms"});
  EXPECT_EQ(
      why_not(anna, 131),
      Texts{bert_name + " holds it; its lease ended at 130 ms, and an ExpireWork releases it"});
  say(anna, 131, expiry_of(bert));
  EXPECT_EQ(why_not(anna, 132), Texts{});
}

TEST_F(ExplainJob, the_job_is_completed) {
  schedule_job(10);
  say(bert, 30, claim_by(bert, 100));
  say(bert, 40, completion());
  EXPECT_EQ(why_not(anna), Texts{"it is completed by " + bert_name});
}

TEST_F(ExplainJob, the_kind_is_routed_to_another_node) {
  schedule_job(10);
  say(owner, 20, RouteKind{"k", bert.node_id()});
  EXPECT_EQ(why_not(anna), Texts{"kind \"k\" is routed to " + bert_name});
  EXPECT_EQ(why_not(bert), Texts{});
  EXPECT_EQ(why_not(anna, 20), Texts{});  // the route is in force after that time
}

TEST_F(ExplainJob, the_last_claim_of_the_node_had_no_effect) {
  schedule_job(10);
  say(owner, 20, RouteKind{"k", bert.node_id()});
  say(anna, 30, claim_by(anna, 100));
  say(owner, 40, RouteKind{"k", std::nullopt});
  EXPECT_EQ(why_not(anna), Texts{"its ClaimWork by " + anna_name + " is void routed_elsewhere"});
  const VerifiedOperation missing = make(anna, 41, yield_by(anna));
  say(anna, 42, claim_by(anna, 100), {missing.operation.id});
  EXPECT_EQ(why_not(anna),
            Texts{"its ClaimWork by " + anna_name + " is deferred missing_dep: operation " +
                  to_text(missing.operation.id) + " is not known"});
  say(anna, 43, claim_by(anna, 100));
  say(anna, 44, yield_by(anna));
  EXPECT_EQ(why_not(anna), Texts{});
}

TEST_F(ExplainJob, the_claim_of_the_node_is_in_quarantine) {
  schedule_job(10);
  say(anna, 90'000'000, claim_by(anna, 100));
  EXPECT_EQ(why_not(anna), Texts{"its ClaimWork by " + anna_name +
                                 " waits in quarantine: its time, 90000000 ms, is too far ahead"});
  EXPECT_EQ(why_not(bert), Texts{});
}

TEST_F(ExplainJob, the_key_of_the_node_is_not_bound) {
  schedule_job(10);
  give(owner, make_delegation(owner, user, spec_for(clara, {grant("Job", "*")})));
  EXPECT_EQ(why_not(clara),
            Texts{"no delegation by the node itself is known, so its key is not bound"});
}

TEST_F(ExplainJob, the_node_has_no_token) {
  schedule_job(10);
  EXPECT_EQ(why_not(clara),
            (Texts{"no delegation by the node itself is known, so its key is not bound",
                   "no token of the node admits (Job, Claim) for kind \"k\": no_chain"}));
}

TEST_F(ExplainJob, the_token_of_the_node_grants_something_else) {
  schedule_job(10);
  const TokenSpec spec = spec_for(clara, {grant("Job", "Read")});
  EXPECT_EQ(why_with(spec, user, 50), "not_admitted; token " + to_hex(make_token(user, spec).cid));
}

TEST_F(ExplainJob, a_caveat_of_the_token_does_not_admit_the_kind) {
  schedule_job(10);
  const TokenSpec spec = spec_for(clara, {grant("Job", "*", kinds({"other."}))});
  EXPECT_EQ(why_with(spec, user, 50),
            "caveat_failed(kind_prefix); token " + to_hex(make_token(user, spec).cid));
}

TEST_F(ExplainJob, the_token_has_not_begun_or_has_ended) {
  schedule_job(10);
  TokenSpec spec = spec_for(clara, {grant("Job", "*")});
  spec.not_before_s = 2;
  spec.expires_s = 4;
  const std::string token = "; token " + to_hex(make_token(user, spec).cid);
  EXPECT_EQ(why_with(spec, user, 1'999), "chain_not_yet" + token + " begins at 2 s");
  EXPECT_EQ(why_not(clara, 2'000), Texts{});
  EXPECT_EQ(why_with(spec, user, 4'001), "chain_expired" + token + " ended at 4 s");
}

TEST_F(ExplainJob, a_proof_of_the_token_is_not_known) {
  schedule_job(10);
  const SigningKey middle = numbered_key(10);
  const Token root = make_token(user, spec_for(owner, {grant("Job", "*")}));
  const TokenSpec passed = spec_for(middle, {grant("Job", "*")}, {root.cid});
  const Token parent = make_token(owner, passed);
  const TokenSpec spec = spec_for(clara, {grant("Job", "*")}, {parent.cid});
  const std::string token = "; token " + to_hex(make_token(middle, spec).cid);
  EXPECT_EQ(why_with(spec, middle, 50), "missing_proof" + token + " needs token " +
                                            to_hex(parent.cid) + ", which is not known");
  give(owner, make_delegation(owner, owner, passed));
  EXPECT_EQ(why_with(spec, middle, 50),
            "missing_proof" + token + " needs token " + to_hex(root.cid) + ", which is not known");
  give(owner, make_delegation(owner, user, spec_for(owner, {grant("Job", "*")})));
  EXPECT_EQ(why_not(clara), Texts{});
}

TEST_F(ExplainJob, a_token_of_the_chain_is_revoked) {
  schedule_job(10);
  const Token root = make_token(user, spec_for(bert, {grant("Job", "*")}));
  const TokenSpec spec = spec_for(clara, {grant("Job", "*")}, {root.cid});
  give(clara, make_delegation(clara, bert, spec));
  EXPECT_EQ(why_not(clara), Texts{});
  say(owner, 20, RevokeUcan{root.cid});
  EXPECT_EQ(why_not(clara).front(),
            "no token of the node admits (Job, Claim) for kind \"k\": chain_revoked; token " +
                to_hex(make_token(bert, spec).cid) + " ends with token " + to_hex(root.cid) +
                ", which is revoked");
}

}  // namespace
}  // namespace holdfast::mesh::explain_job_test
