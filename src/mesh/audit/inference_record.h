// InferenceRecord: what a handler under audit authors for the calls of a model that one job makes:
// a snapshot for each call, links from what it derives, and a completion that lists the snapshots.
//
// It returns payloads; the caller authors them in this order. The artifact id of a snapshot is the
// id of the operation that creates it, which only the author of the operation knows: it is given
// to `created` after the operation is made.
#pragma once

#include <span>
#include <vector>

#include "mesh/audit/snapshot.h"

namespace holdfast::mesh {

class InferenceRecord {
 public:
  explicit InferenceRecord(const JobId& job) : job_(job) {}

  // The snapshot of one call. Content above `max_inline` bytes is left out: the caller keeps it by
  // its hash.
  [[nodiscard]] CreateArtifact call(const InferenceSnapshot& snapshot,
                                    std::size_t max_inline) const;
  // The operation that creates a snapshot exists now.
  void created(const OpId& snapshot) { snapshots_.push_back(snapshot); }

  // With the job and all snapshots so far in its provenance.
  [[nodiscard]] CreateClaim linked(CreateClaim claim) const;
  // The dependencies of an episode, an action or another artifact: all snapshots so far.
  [[nodiscard]] std::vector<OpId> dependencies() const { return snapshots_; }
  // Lists the snapshots before the other artifacts.
  [[nodiscard]] CompleteJob completion(std::vector<ClaimId> claims,
                                       std::span<const ArtifactId> artifacts,
                                       const JobTelemetry& telemetry) const;

 private:
  JobId job_;
  std::vector<OpId> snapshots_;
};

}  // namespace holdfast::mesh
