// The 26 kinds of operation, one struct each, fields in wire order. What a field means to the
// roster is written at the rule that uses it; kinds that no rule reads are stored and served.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "mesh/clock/hybrid_time.h"
#include "mesh/ops/mesh_ids.h"

namespace holdfast::mesh {

using Bytes = std::vector<std::byte>;
using Confidence = std::vector<std::pair<std::string, float>>;

enum class EntityType : std::uint8_t {
  person,
  place,
  organization,
  device,
  account,
  document,
  concept_,
  commitment,
  event,
};
enum class ClaimType : std::uint8_t {
  attribute,
  relationship,
  membership,
  temporal,
  spatial,
  behavioral,
  derived,
};
enum class ClaimStatus : std::uint8_t { hint, claim, fact, disputed, rejected, superseded, stale };
enum class AssertionType : std::uint8_t { confirm, reject, edit, pin, hide, lane_rule };
enum class EpisodeStatus : std::uint8_t { active, stale, archived };
enum class ActionStatus : std::uint8_t {
  proposed,
  approved,
  executing,
  completed,
  rejected,
  dismissed,
  failed,
  expired,
};

struct Geo {
  double latitude = 0;
  double longitude = 0;
  bool operator==(const Geo&) const = default;
};
struct EvidenceMetadata {
  std::optional<std::uint64_t> at_ms;
  std::optional<Geo> geo;
  std::vector<std::string> participants;
  std::map<std::string, std::string> custom;
  bool operator==(const EvidenceMetadata&) const = default;
};

struct IngestEvidence {
  EvidenceId evidence_id;
  Digest content_hash{};
  std::string source_type;
  std::string source_anchor;
  std::optional<EvidenceMetadata> metadata;
  bool operator==(const IngestEvidence&) const = default;
};
struct TombstoneEvidence {
  EvidenceId evidence_id;
  std::string reason;
  bool operator==(const TombstoneEvidence&) const = default;
};
struct CreateEntity {
  EntityId entity_id;
  EntityType entity_type{};
  std::string initial_label;
  std::vector<ClaimId> source_claims;
  bool operator==(const CreateEntity&) const = default;
};
struct AddEntityAlias {
  EntityId entity_id;
  std::string alias;
  bool operator==(const AddEntityAlias&) const = default;
};
struct MergeEntities {
  EntityId survivor;
  std::vector<EntityId> consumed;
  std::string rationale;
  bool operator==(const MergeEntities&) const = default;
};
struct SplitEntity {
  EntityId original;
  std::vector<EntityId> new_entities;
  std::string rationale;
  bool operator==(const SplitEntity&) const = default;
};

struct WallTime {
  std::uint64_t ms = 0;
  bool operator==(const WallTime&) const = default;
};
struct JsonBytes {
  Bytes bytes;
  bool operator==(const JsonBytes&) const = default;
};
using ClaimObject = std::variant<EntityId, std::string, double, bool, WallTime, JsonBytes>;
struct Provenance {
  std::vector<EvidenceId> evidence;
  std::vector<ClaimId> claims;
  std::vector<JobId> jobs;
  std::vector<ArtifactId> artifacts;
  bool operator==(const Provenance&) const = default;
};
struct CreateClaim {
  ClaimId claim_id;
  ClaimType claim_type{};
  EntityId subject;
  std::string predicate;
  ClaimObject object;
  ClaimStatus initial_status{};
  Confidence confidence;
  Provenance provenance;
  bool operator==(const CreateClaim&) const = default;
};
struct UpdateClaimStatus {
  ClaimId claim_id;
  ClaimStatus new_status{};
  std::optional<std::string> rationale;
  bool operator==(const UpdateClaimStatus&) const = default;
};
struct UpdateClaimConfidence {
  ClaimId claim_id;
  Confidence new_confidence;
  bool operator==(const UpdateClaimConfidence&) const = default;
};
struct SupersedeClaim {
  ClaimId old_claim;
  ClaimId new_claim;
  std::string rationale;
  bool operator==(const SupersedeClaim&) const = default;
};

struct ScheduleJob {
  JobId job_id;
  std::string kind;
  Bytes payload;
  Bytes policy_envelope;
  bool operator==(const ScheduleJob&) const = default;
};
struct ClaimWork {
  JobId job_id;
  NodeId claimer;
  std::uint64_t lease_duration_ms = 0;
  bool operator==(const ClaimWork&) const = default;
};
struct JobTelemetry {
  std::uint64_t duration_ms = 0;
  std::uint64_t prompt_tokens = 0;
  std::uint64_t completion_tokens = 0;
  std::uint64_t model_latency_ms = 0;
  bool operator==(const JobTelemetry&) const = default;
};
struct CompleteJob {
  JobId job_id;
  std::vector<ClaimId> output_claims;
  std::vector<ArtifactId> output_artifacts;
  JobTelemetry telemetry;
  bool operator==(const CompleteJob&) const = default;
};
struct YieldWork {
  JobId job_id;
  NodeId claimer;
  std::string reason;
  bool operator==(const YieldWork&) const = default;
};
struct ExpireWork {
  JobId job_id;
  NodeId expired_claimer;
  std::string reason;
  bool operator==(const ExpireWork&) const = default;
};

struct Lane {
  std::string name;
  bool operator==(const Lane&) const = default;
};
using AssertionTarget = std::variant<ClaimId, EntityId, Lane>;
struct UserAssert {
  AssertionType assertion_type{};
  AssertionTarget target;
  std::optional<std::string> semantic_lane;
  bool operator==(const UserAssert&) const = default;
};
struct CreateArtifact {
  ArtifactId artifact_id;
  std::string artifact_type;
  std::optional<JobId> source_job;
  std::vector<EvidenceId> inputs_used;
  Digest content_hash{};
  std::optional<Bytes> content_inline;
  std::optional<std::string> model_id;
  std::optional<std::string> model_version;
  std::uint64_t size_bytes = 0;
  std::optional<std::uint64_t> ttl_ms;
  bool operator==(const CreateArtifact&) const = default;
};
struct EvictArtifact {
  ArtifactId artifact_id;
  bool operator==(const EvictArtifact&) const = default;
};

struct DesignateCoordinator {
  NodeId coordinator;
  bool operator==(const DesignateCoordinator&) const = default;
};
struct DelegateUcan {
  Digest ucan_cid{};
  Bytes ucan_bytes;
  bool operator==(const DelegateUcan&) const = default;
};
struct RevokeUcan {
  Digest ucan_cid{};
  bool operator==(const RevokeUcan&) const = default;
};
struct RouteKind {
  std::string kind;
  std::optional<NodeId> route;
  bool operator==(const RouteKind&) const = default;
};

struct CreateEpisode {
  EpisodeId episode_id;
  std::string title;
  std::optional<std::string> summary;
  std::uint64_t temporal_start_ms = 0;
  std::optional<std::uint64_t> temporal_end_ms;
  std::vector<EvidenceId> evidence_ids;
  std::vector<ClaimId> claim_ids;
  std::vector<EntityId> entity_ids;
  float confidence = 0;
  bool operator==(const CreateEpisode&) const = default;
};
struct UpdateEpisode {
  EpisodeId episode_id;
  std::optional<std::string> title;
  std::optional<std::string> summary;
  std::optional<float> confidence;
  std::optional<EpisodeStatus> status;
  std::vector<ClaimId> claim_ids_add;
  std::vector<EvidenceId> evidence_ids_add;
  bool operator==(const UpdateEpisode&) const = default;
};
struct CreateSuggestedAction {
  ActionId action_id;
  std::string title;
  std::string description;
  std::string action_type;
  std::optional<EpisodeId> source_episode;
  std::vector<ClaimId> supporting_claims;
  std::vector<EvidenceId> supporting_evidence;
  std::optional<JobId> derivation_job;
  float confidence = 0;
  bool operator==(const CreateSuggestedAction&) const = default;
};
struct UpdateActionStatus {
  ActionId action_id;
  ActionStatus new_status{};
  std::optional<std::string> execution_result;
  bool operator==(const UpdateActionStatus&) const = default;
};

// The index of an alternative is its discriminant on the wire.
using Payload =
    std::variant<IngestEvidence, TombstoneEvidence, CreateEntity, AddEntityAlias, MergeEntities,
                 SplitEntity, CreateClaim, UpdateClaimStatus, UpdateClaimConfidence, SupersedeClaim,
                 ScheduleJob, ClaimWork, CompleteJob, YieldWork, ExpireWork, UserAssert,
                 CreateArtifact, EvictArtifact, DesignateCoordinator, DelegateUcan, RevokeUcan,
                 RouteKind, CreateEpisode, UpdateEpisode, CreateSuggestedAction,
                 UpdateActionStatus>;

}  // namespace holdfast::mesh
