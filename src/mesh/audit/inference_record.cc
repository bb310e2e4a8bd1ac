#include "mesh/audit/inference_record.h"

#include <utility>

#include "base/blake3.h"

namespace holdfast::mesh {

CreateArtifact InferenceRecord::call(const InferenceSnapshot& snapshot,
                                     std::size_t max_inline) const {
  CreateArtifact artifact;
  artifact.artifact_type = kSnapshotType;
  artifact.source_job = job_;
  artifact.inputs_used = snapshot.evidence;
  artifact.model_id = snapshot.model_id;
  artifact.model_version = snapshot.model_version;
  Bytes content = encode_snapshot(snapshot);
  artifact.content_hash = blake3(content);
  artifact.size_bytes = content.size();
  if (content.size() <= max_inline) {
    artifact.content_inline = std::move(content);
  }
  return artifact;
}

CreateClaim InferenceRecord::linked(CreateClaim claim) const {
  claim.provenance.jobs.push_back(job_);
  for (const OpId& snapshot : snapshots_) {
    claim.provenance.artifacts.push_back({snapshot.bytes});
  }
  return claim;
}

CompleteJob InferenceRecord::completion(std::vector<ClaimId> claims,
                                        std::span<const ArtifactId> artifacts,
                                        const JobTelemetry& telemetry) const {
  CompleteJob completion{job_, std::move(claims), {}, telemetry};
  for (const OpId& snapshot : snapshots_) {
    completion.output_artifacts.push_back({snapshot.bytes});
  }
  completion.output_artifacts.insert(completion.output_artifacts.end(), artifacts.begin(),
                                     artifacts.end());
  return completion;
}

}  // namespace holdfast::mesh
