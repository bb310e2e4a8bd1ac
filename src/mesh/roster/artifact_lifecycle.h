// Which artifacts may be evicted: their time has passed, or what a snapshot was made from is gone.
//
// May, not must: a node keeps its own snapshots as long as something links to them. An eviction is
// an operation; it keeps the artifact's operation and drops its content for ever.
#pragma once

#include <vector>

#include "mesh/roster/roster.h"

namespace holdfast::mesh {

enum class EvictionCause : std::uint8_t { ttl_passed, evidence_tombstoned, claim_rejected };

struct EvictableArtifact {
  ArtifactId artifact;
  EvictionCause cause{};
  bool operator==(const EvictableArtifact&) const = default;
};

// By id. A time to live counts from the timestamp of the creation and has passed when `now` is
// larger. The context of a snapshot is known while its content is in the operation.
std::vector<EvictableArtifact> evictable_artifacts(const Roster& roster, const Timestamp& now);

}  // namespace holdfast::mesh
