#include "mesh/roster/artifact_lifecycle.h"

#include <algorithm>

#include "mesh/audit/snapshot.h"

namespace holdfast::mesh {

namespace {

bool is_past(const Operation& creation, const CreateArtifact& artifact, const Timestamp& now) {
  return artifact.ttl_ms.has_value() && now.wall_ms > creation.timestamp.wall_ms &&
         now.wall_ms - creation.timestamp.wall_ms > *artifact.ttl_ms;
}

bool is_tombstoned(const Roster& roster, const EvidenceId& evidence) {
  const auto operations = roster.effective_on({Subject::Type::evidence, evidence.bytes});
  return std::any_of(operations.begin(), operations.end(), [](const Operation* one) {
    return std::holds_alternative<TombstoneEvidence>(one->payload);
  });
}

// By the last status that was set.
bool is_rejected(const Roster& roster, const ClaimId& claim) {
  ClaimStatus status = ClaimStatus::claim;
  for (const Operation* one : roster.effective_on({Subject::Type::claim, claim.bytes})) {
    if (const auto* update = std::get_if<UpdateClaimStatus>(&one->payload)) {
      status = update->new_status;
    }
  }
  return status == ClaimStatus::rejected;
}

std::optional<EvictionCause> cause_for(const Roster& roster, const Operation& creation,
                                       const Timestamp& now) {
  const auto& artifact = std::get<CreateArtifact>(creation.payload);
  if (is_past(creation, artifact, now)) {
    return EvictionCause::ttl_passed;
  }
  if (!is_snapshot(creation.payload) || !artifact.content_inline.has_value()) {
    return std::nullopt;
  }
  const auto content = decode_snapshot(*artifact.content_inline);
  if (!content.ok()) {
    return std::nullopt;
  }
  const auto& evidence = content.value().evidence;
  if (std::any_of(evidence.begin(), evidence.end(),
                  [&](const EvidenceId& id) { return is_tombstoned(roster, id); })) {
    return EvictionCause::evidence_tombstoned;
  }
  const auto& claims = content.value().claims;
  const bool rejected = std::any_of(claims.begin(), claims.end(),
                                    [&](const ClaimId& id) { return is_rejected(roster, id); });
  return rejected ? std::optional(EvictionCause::claim_rejected) : std::nullopt;
}

}  // namespace

std::vector<EvictableArtifact> evictable_artifacts(const Roster& roster, const Timestamp& now) {
  std::vector<EvictableArtifact> found;
  for (const ArtifactId& id : roster.artifacts()) {
    const auto artifact = roster.artifact(id);
    if (artifact.has_value() && !artifact->evicted) {
      if (const auto cause = cause_for(roster, *artifact->creation, now)) {
        found.push_back({id, *cause});
      }
    }
  }
  return found;
}

}  // namespace holdfast::mesh
