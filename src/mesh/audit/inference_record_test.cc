// The record of a job's calls of a model. The numbers at the tests are those of docs/mesh-tests.md.
#include "mesh/audit/inference_record.h"

#include <gtest/gtest.h>

#include "tests/support/mesh_samples.h"

namespace holdfast::mesh::inference_record_test {
namespace {

InferenceSnapshot snapshot_of(std::string prompt) {
  InferenceSnapshot snapshot;
  snapshot.model_id = "m";
  snapshot.model_version = "2";
  snapshot.prompt = std::move(prompt);
  snapshot.evidence = {sample_id<EvidenceId>()};
  snapshot.started_at = {1699999999000, 0, {7}};
  snapshot.completed_at = {1699999999500, 0, {7}};
  return snapshot;
}

TEST(InferenceRecord, every_call_has_a_snapshot_of_its_own_that_satisfies_the_rules) {  // 138
  const InferenceRecord record(sample_id<JobId>());
  const CreateArtifact first = record.call(snapshot_of("one"), 1000);
  const CreateArtifact second = record.call(snapshot_of("two"), 1000);
  EXPECT_NE(first.content_hash, second.content_hash);
  for (const CreateArtifact& artifact : {first, second}) {
    const Operation operation = sample_operation(artifact);
    EXPECT_TRUE(is_snapshot(operation.payload));
    EXPECT_TRUE(check_operation(operation).ok());
    EXPECT_TRUE(check_snapshot(operation).ok());
    EXPECT_EQ(artifact.source_job, sample_id<JobId>());
  }
}

TEST(InferenceRecord, large_content_is_left_out_and_named_by_its_hash) {
  const InferenceRecord record(sample_id<JobId>());
  const CreateArtifact artifact = record.call(snapshot_of(std::string(2000, 'x')), 1000);
  EXPECT_EQ(artifact.content_inline, std::nullopt);
  EXPECT_GT(artifact.size_bytes, 2000U);
  EXPECT_TRUE(check_snapshot(sample_operation(artifact)).ok());
}

TEST(InferenceRecord, output_links_to_the_snapshots_and_the_completion_lists_them) {  // 145
  InferenceRecord record(sample_id<JobId>());
  const auto snapshot = sample_id<OpId>("018bcfe56800bbbbbbbbbbbbbbbbbbbb");
  record.created(snapshot);
  const CreateClaim claim = record.linked({});
  EXPECT_EQ(claim.provenance.jobs, std::vector{sample_id<JobId>()});
  EXPECT_EQ(claim.provenance.artifacts, std::vector{ArtifactId{snapshot.bytes}});
  EXPECT_EQ(record.dependencies(), std::vector{snapshot});
  const auto note = sample_id<ArtifactId>();
  const CompleteJob completion = record.completion({}, std::span(&note, 1), {});
  EXPECT_EQ(completion.output_artifacts, (std::vector{ArtifactId{snapshot.bytes}, note}));
}

}  // namespace
}  // namespace holdfast::mesh::inference_record_test
