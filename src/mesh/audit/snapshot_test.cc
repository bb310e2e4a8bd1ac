// Snapshots of inference. The numbers at the tests are those of docs/mesh-tests.md.
#include "mesh/audit/snapshot.h"

#include <gtest/gtest.h>

#include "tests/support/mesh_samples.h"

namespace holdfast::mesh::snapshot_test {
namespace {

InferenceSnapshot sample() {
  InferenceSnapshot snapshot;
  snapshot.model_id = "m";
  snapshot.model_version = "2";
  snapshot.backend = "cpu";
  snapshot.evidence = {sample_id<EvidenceId>()};
  snapshot.claims = {sample_id<ClaimId>()};
  snapshot.entities = {sample_id<EntityId>()};
  snapshot.prompt = "p";
  snapshot.output_text = "o";
  snapshot.output_structured = bytes_of("{}");
  snapshot.duration_ms = 300;
  snapshot.prompt_tokens = 1;
  snapshot.completion_tokens = 2;
  snapshot.latency_ms = {{"first", 5}};
  snapshot.started_at = {1699999999000, 0, {7}};
  snapshot.completed_at = {1699999999500, 1, {7}};
  return snapshot;
}

Operation creating(const InferenceSnapshot& snapshot) {
  CreateArtifact artifact;
  artifact.artifact_type = kSnapshotType;
  artifact.source_job = sample_id<JobId>();
  artifact.inputs_used = {sample_id<EvidenceId>()};
  artifact.model_id = snapshot.model_id;
  artifact.model_version = snapshot.model_version;
  artifact.content_inline = encode_snapshot(snapshot);
  artifact.content_hash = blake3(*artifact.content_inline);
  artifact.size_bytes = artifact.content_inline->size();
  return sample_operation(artifact);
}

CreateArtifact& artifact_of(Operation& operation) {
  return std::get<CreateArtifact>(operation.payload);
}

TEST(Snapshot, has_its_fields_in_order_and_keeps_what_follows) {  // 139
  const InferenceSnapshot snapshot = sample();
  const std::string id = "018bcfe56800aaaaaaaaaaaaaaaaaaaa";
  EXPECT_EQ(hex_of(encode_snapshot(snapshot)),
            "016d0132036370750"
            "1" +
                id + "01" + id + "01" + id +
                "0170016f01027b7dac0201020105666972737405"
                "98c895ffbc310007"
                "8ccc95ffbc310107");
  Bytes longer = encode_snapshot(snapshot);
  longer.push_back(std::byte{0xFF});
  longer.push_back(std::byte{0x00});
  const auto decoded = decode_snapshot(longer);
  ASSERT_TRUE(decoded.ok()) << decoded.error().text();
  EXPECT_EQ(decoded.value().extra.size(), 2U);
  EXPECT_EQ(encode_snapshot(decoded.value()), longer);
  for (std::size_t size = 0; size + 2 < longer.size(); ++size) {
    EXPECT_FALSE(decode_snapshot(std::span(longer).first(size)).ok()) << size;
  }
}

TEST(Snapshot, an_operation_names_the_job_and_the_model) {  // 140
  const Operation good = creating(sample());
  EXPECT_TRUE(check_snapshot(good).ok());
  Operation bad = good;
  artifact_of(bad).source_job.reset();
  EXPECT_FALSE(check_snapshot(bad).ok());
  artifact_of(bad).artifact_type = "note";
  EXPECT_TRUE(check_snapshot(bad).ok());
  bad = good;
  artifact_of(bad).model_id.reset();
  EXPECT_FALSE(check_snapshot(bad).ok());
  bad = good;
  artifact_of(bad).model_version.reset();
  EXPECT_FALSE(check_snapshot(bad).ok());
  bad = good;
  artifact_of(bad).model_version = "3";
  EXPECT_FALSE(check_snapshot(bad).ok());
  bad = good;
  artifact_of(bad).inputs_used.clear();
  EXPECT_FALSE(check_snapshot(bad).ok());
  artifact_of(bad).content_inline.reset();  // kept elsewhere
  EXPECT_TRUE(check_snapshot(bad).ok());
}

TEST(Snapshot, its_times_are_of_the_author_and_before_the_operation) {  // 140
  InferenceSnapshot snapshot = sample();
  snapshot.completed_at = snapshot.started_at;
  EXPECT_TRUE(check_snapshot(creating(snapshot)).ok());
  snapshot.completed_at.wall_ms -= 1;
  EXPECT_FALSE(check_snapshot(creating(snapshot)).ok());
  snapshot = sample();
  snapshot.completed_at = {1700000000000, 0, {7}};
  EXPECT_FALSE(check_snapshot(creating(snapshot)).ok());
  snapshot = sample();
  snapshot.started_at.node = {8};
  EXPECT_FALSE(check_snapshot(creating(snapshot)).ok());
  snapshot = sample();
  snapshot.completed_at.node = {8};
  EXPECT_FALSE(check_snapshot(creating(snapshot)).ok());
}

}  // namespace
}  // namespace holdfast::mesh::snapshot_test
