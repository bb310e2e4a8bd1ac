// Output of inference and its links. The numbers at the tests are those of docs/mesh-tests.md.
#include "mesh/roster/artifact_lifecycle.h"
#include "mesh/roster/audit_trace.h"
#include "tests/support/mesh_fixture.h"

namespace holdfast::mesh::roster_audit_test {
namespace {

class RosterAuditTest : public MeshTest {
 protected:
  void SetUp() override {
    MeshTest::SetUp();
    schedule(10);
    add(anna, 20, claim_by(anna, 1000));
  }
  CreateArtifact snapshot(unsigned number, const JobId& source) const {
    InferenceSnapshot content;
    content.model_id = "model";
    content.model_version = "1";
    content.prompt = "why?";
    content.evidence = {sample_id<EvidenceId>()};
    content.started_at = {21, 0, anna.node_id()};
    content.completed_at = {22, 0, anna.node_id()};
    CreateArtifact artifact;
    artifact.artifact_id.bytes[0] = static_cast<std::byte>(number);
    artifact.artifact_type = kSnapshotType;
    artifact.source_job = source;
    artifact.inputs_used = content.evidence;
    artifact.model_id = "model";
    artifact.model_version = "1";
    artifact.content_inline = encode_snapshot(content);
    artifact.content_hash = blake3(*artifact.content_inline);
    artifact.size_bytes = artifact.content_inline->size();
    return artifact;
  }
  CreateClaim claim(std::vector<ArtifactId> links) const {
    CreateClaim output;
    output.provenance.jobs = {job};
    output.provenance.artifacts = std::move(links);
    return output;
  }
};

TEST_F(RosterAuditTest, output_of_inference_without_a_link_is_refused) {  // 141
  const OpId before = add(anna, 25, claim({}));
  add(anna, 30, snapshot(1, job));
  EXPECT_EQ(verdict(before), "applied");  // there was no call yet
  EXPECT_EQ(verdict(add(anna, 40, claim({}))), "void audit_link_missing");
  EXPECT_EQ(verdict(add(anna, 41, claim({snapshot(1, job).artifact_id}))), "applied");
}

TEST_F(RosterAuditTest, an_unknown_link_waits_for_its_snapshot) {  // 142
  add(anna, 30, snapshot(1, job));
  const OpId output = add(anna, 50, claim({snapshot(2, job).artifact_id}));
  EXPECT_EQ(verdict(output), "deferred missing_dep");
  add(anna, 45, snapshot(2, job));
  EXPECT_EQ(verdict(output), "applied");
}

TEST_F(RosterAuditTest, a_link_to_something_else_is_invalid) {  // 141
  add(anna, 30, snapshot(1, job));
  add(anna, 31, snapshot(2, job_id(7)));
  CreateArtifact note;
  note.artifact_id.bytes[0] = std::byte{3};
  note.artifact_type = "note";
  add(anna, 32, note);
  const auto links_to = [&](std::uint64_t wall_ms, std::vector<ArtifactId> links) {
    return verdict(add(anna, wall_ms, claim(std::move(links))));
  };
  EXPECT_EQ(links_to(40, {snapshot(2, job).artifact_id}), "void audit_link_invalid");
  EXPECT_EQ(links_to(41, {note.artifact_id}), "void audit_link_invalid");
  EXPECT_EQ(links_to(42, {note.artifact_id, snapshot(1, job).artifact_id}), "applied");
}

TEST_F(RosterAuditTest, episodes_and_actions_link_by_their_dependencies) {  // 141
  delegate(anna, user, spec_for(anna, {grant("Episode", "Write"), grant("Action", "Write")}));
  const OpId claimed = roster.history(job)[1].id;
  const OpId call = add(anna, 30, snapshot(1, job));
  EXPECT_EQ(verdict(add(anna, 40, CreateEpisode{}, {claimed})), "void audit_link_missing");
  EXPECT_EQ(verdict(add(anna, 41, CreateEpisode{}, {claimed, call})), "applied");
  EXPECT_EQ(verdict(add(anna, 42, CreateEpisode{})), "applied");  // names no job
  CreateSuggestedAction action;
  action.derivation_job = job;
  EXPECT_EQ(verdict(add(anna, 43, action)), "void audit_link_missing");
  EXPECT_EQ(verdict(add(anna, 44, action, {call})), "applied");
}

TEST_F(RosterAuditTest, without_audit_no_link_is_needed) {  // 144
  const SigningKey carl = numbered_key(4);
  const Token root = delegate(owner, user, spec_for(owner, {grant("*", "*")}));
  const JobId other = job_id(5);
  delegate(carl, owner, spec_for(carl, {grant("Job", "*"), grant("Claim", "Write")}, {root.cid}));
  add(owner, 11, ScheduleJob{other, "k", {}, {}});
  add(carl, 20, ClaimWork{other, carl.node_id(), 1000});
  add(anna, 30, snapshot(1, other));
  CreateClaim output;
  output.provenance.jobs = {other};
  const OpId unlinked = add(carl, 40, output);
  EXPECT_EQ(verdict(unlinked), "applied");
  Caveats audited;
  audited.audit_inference = true;
  delegate(carl, owner, spec_for(carl, {grant("Claim", "Write", audited)}, {root.cid}));
  EXPECT_EQ(verdict(unlinked), "void audit_link_missing");
}

TEST_F(RosterAuditTest, kinds_of_inference_need_a_link_without_any_snapshot) {
  Roster strict(user.public_key(), {.inference_kinds = {"k"}});
  const auto bytes = issue_token(spec_for(owner, {grant("*", "*")}), user);
  strict.add(make(owner, 1, DelegateUcan{blake3(bytes), bytes}));
  const VerifiedOperation output = make(owner, 30, claim({}));
  strict.add(output);
  EXPECT_EQ(*strict.verdict(output.hash), applied());  // the job is not known
  strict.add(make(owner, 10, ScheduleJob{job, "kind", {}, {}}));
  EXPECT_EQ(*strict.verdict(output.hash), voided(Reason::audit_link_missing));
}

TEST_F(RosterAuditTest, a_snapshot_that_breaks_its_rules_is_rejected) {  // 140
  CreateArtifact broken = snapshot(1, job);
  broken.inputs_used.clear();
  EXPECT_EQ(verdict(add(anna, 30, broken)), "rejected malformed");
}

TEST_F(RosterAuditTest, a_trace_leads_to_the_call_its_context_and_its_node) {  // 147
  const OpId call = add(anna, 30, snapshot(1, job));
  const OpId output = add(anna, 40, claim({snapshot(1, job).artifact_id}));
  const auto calls = trace_output(roster, output);
  ASSERT_EQ(calls.size(), 1U);
  EXPECT_EQ(calls[0].snapshot, call);
  EXPECT_EQ(calls[0].job, job);
  EXPECT_EQ(calls[0].claimer, anna.node_id());
  ASSERT_TRUE(calls[0].content.has_value());
  EXPECT_EQ(calls[0].content->prompt, "why?");
  EXPECT_EQ(calls[0].content->evidence, std::vector{sample_id<EvidenceId>()});
  EXPECT_TRUE(trace_output(roster, call).empty());
}

TEST_F(RosterAuditTest, eviction_keeps_the_operation_and_the_trace_reports_it) {  // 146
  const OpId call = add(anna, 30, snapshot(1, job));
  const OpId output = add(anna, 40, claim({snapshot(1, job).artifact_id}));
  add(anna, 50, EvictArtifact{snapshot(1, job).artifact_id});
  EXPECT_EQ(verdict(call), "applied");
  EXPECT_EQ(verdict(output), "applied");
  const auto calls = trace_output(roster, output);
  ASSERT_EQ(calls.size(), 1U);
  EXPECT_TRUE(calls[0].evicted);
  EXPECT_FALSE(calls[0].content.has_value());
}

TEST_F(RosterAuditTest, an_artifact_may_go_after_its_time) {
  CreateArtifact note = snapshot(1, job);
  note.artifact_type = "note";
  note.ttl_ms = 5;
  add(anna, 30, note);
  EXPECT_TRUE(evictable_artifacts(roster, {35, 9, {}}).empty());
  EXPECT_EQ(evictable_artifacts(roster, {36, 0, {}}),
            (std::vector<EvictableArtifact>{{note.artifact_id, EvictionCause::ttl_passed}}));
  add(anna, 40, EvictArtifact{note.artifact_id});
  EXPECT_TRUE(evictable_artifacts(roster, {36, 0, {}}).empty());
  EXPECT_EQ(roster.artifacts(), std::vector{note.artifact_id});
}

TEST_F(RosterAuditTest, a_snapshot_may_go_when_its_context_is_gone) {
  const CreateArtifact call = snapshot(1, job);
  add(anna, 30, call);
  EXPECT_TRUE(evictable_artifacts(roster, {100, 0, {}}).empty());
  add(owner, 50, TombstoneEvidence{sample_id<EvidenceId>(), "Privacy"});
  EXPECT_EQ(
      evictable_artifacts(roster, {100, 0, {}}),
      (std::vector<EvictableArtifact>{{call.artifact_id, EvictionCause::evidence_tombstoned}}));
}

TEST_F(RosterAuditTest, a_snapshot_may_go_while_a_claim_of_its_context_is_rejected) {
  InferenceSnapshot content;
  content.model_id = "model";
  content.model_version = "1";
  content.claims = {sample_id<ClaimId>()};
  content.started_at = {21, 0, anna.node_id()};
  content.completed_at = {22, 0, anna.node_id()};
  CreateArtifact call = snapshot(1, job);
  call.content_inline = encode_snapshot(content);
  call.content_hash = blake3(*call.content_inline);
  call.size_bytes = call.content_inline->size();
  add(anna, 30, call);
  add(owner, 50, UpdateClaimStatus{sample_id<ClaimId>(), ClaimStatus::rejected, {}});
  EXPECT_EQ(evictable_artifacts(roster, {100, 0, {}}),
            (std::vector<EvictableArtifact>{{call.artifact_id, EvictionCause::claim_rejected}}));
  add(owner, 60, UpdateClaimStatus{sample_id<ClaimId>(), ClaimStatus::fact, {}});
  EXPECT_TRUE(evictable_artifacts(roster, {100, 0, {}}).empty());
}

}  // namespace
}  // namespace holdfast::mesh::roster_audit_test
