// The fields of every payload in wire order, once, for encoder and decoder: visit_fields(p, f)
// calls f with all fields of p. P is a struct of payloads.h, const or not.
#pragma once

#include "mesh/ops/payloads.h"

namespace holdfast::mesh {

#define HOLDFAST_MESH_FIELDS(Type, ...)          \
  template <typename F>                          \
  void visit_fields(Type& p, F&& fields) {       \
    fields(__VA_ARGS__);                         \
  }                                              \
  template <typename F>                          \
  void visit_fields(const Type& p, F&& fields) { \
    fields(__VA_ARGS__);                         \
  }

HOLDFAST_MESH_FIELDS(Geo, p.latitude, p.longitude)
HOLDFAST_MESH_FIELDS(EvidenceMetadata, p.at_ms, p.geo, p.participants, p.custom)
HOLDFAST_MESH_FIELDS(IngestEvidence, p.evidence_id, p.content_hash, p.source_type, p.source_anchor,
                     p.metadata)
HOLDFAST_MESH_FIELDS(TombstoneEvidence, p.evidence_id, p.reason)
HOLDFAST_MESH_FIELDS(CreateEntity, p.entity_id, p.entity_type, p.initial_label, p.source_claims)
HOLDFAST_MESH_FIELDS(AddEntityAlias, p.entity_id, p.alias)
HOLDFAST_MESH_FIELDS(MergeEntities, p.survivor, p.consumed, p.rationale)
HOLDFAST_MESH_FIELDS(SplitEntity, p.original, p.new_entities, p.rationale)
HOLDFAST_MESH_FIELDS(WallTime, p.ms)
HOLDFAST_MESH_FIELDS(JsonBytes, p.bytes)
HOLDFAST_MESH_FIELDS(Provenance, p.evidence, p.claims, p.jobs, p.artifacts)
HOLDFAST_MESH_FIELDS(CreateClaim, p.claim_id, p.claim_type, p.subject, p.predicate, p.object,
                     p.initial_status, p.confidence, p.provenance)
HOLDFAST_MESH_FIELDS(UpdateClaimStatus, p.claim_id, p.new_status, p.rationale)
HOLDFAST_MESH_FIELDS(UpdateClaimConfidence, p.claim_id, p.new_confidence)
HOLDFAST_MESH_FIELDS(SupersedeClaim, p.old_claim, p.new_claim, p.rationale)
HOLDFAST_MESH_FIELDS(ScheduleJob, p.job_id, p.kind, p.payload, p.policy_envelope)
HOLDFAST_MESH_FIELDS(ClaimWork, p.job_id, p.claimer, p.lease_duration_ms)
HOLDFAST_MESH_FIELDS(JobTelemetry, p.duration_ms, p.prompt_tokens, p.completion_tokens,
                     p.model_latency_ms)
HOLDFAST_MESH_FIELDS(CompleteJob, p.job_id, p.output_claims, p.output_artifacts, p.telemetry)
HOLDFAST_MESH_FIELDS(YieldWork, p.job_id, p.claimer, p.reason)
HOLDFAST_MESH_FIELDS(ExpireWork, p.job_id, p.expired_claimer, p.reason)
HOLDFAST_MESH_FIELDS(Lane, p.name)
HOLDFAST_MESH_FIELDS(UserAssert, p.assertion_type, p.target, p.semantic_lane)
HOLDFAST_MESH_FIELDS(CreateArtifact, p.artifact_id, p.artifact_type, p.source_job, p.inputs_used,
                     p.content_hash, p.content_inline, p.model_id, p.model_version, p.size_bytes,
                     p.ttl_ms)
HOLDFAST_MESH_FIELDS(EvictArtifact, p.artifact_id)
HOLDFAST_MESH_FIELDS(DesignateCoordinator, p.coordinator)
HOLDFAST_MESH_FIELDS(DelegateUcan, p.ucan_cid, p.ucan_bytes)
HOLDFAST_MESH_FIELDS(RevokeUcan, p.ucan_cid)
HOLDFAST_MESH_FIELDS(RouteKind, p.kind, p.route)
HOLDFAST_MESH_FIELDS(CreateEpisode, p.episode_id, p.title, p.summary, p.temporal_start_ms,
                     p.temporal_end_ms, p.evidence_ids, p.claim_ids, p.entity_ids, p.confidence)
HOLDFAST_MESH_FIELDS(UpdateEpisode, p.episode_id, p.title, p.summary, p.confidence, p.status,
                     p.claim_ids_add, p.evidence_ids_add)
HOLDFAST_MESH_FIELDS(CreateSuggestedAction, p.action_id, p.title, p.description, p.action_type,
                     p.source_episode, p.supporting_claims, p.supporting_evidence, p.derivation_job,
                     p.confidence)
HOLDFAST_MESH_FIELDS(UpdateActionStatus, p.action_id, p.new_status, p.execution_result)
HOLDFAST_MESH_FIELDS(Timestamp, p.wall_ms, p.logical, p.node)

#undef HOLDFAST_MESH_FIELDS

}  // namespace holdfast::mesh
