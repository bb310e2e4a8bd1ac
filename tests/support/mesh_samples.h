// Keys, ids and one operation of each kind, with the values of the golden vectors.
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "base/blake3.h"
#include "base/encoding.h"
#include "mesh/ops/operation.h"
#include "mesh/ops/signature.h"

namespace holdfast::mesh {

inline std::vector<std::byte> bytes_of(std::string_view text) {
  const auto bytes = as_bytes(text);
  return {bytes.begin(), bytes.end()};
}

inline std::vector<std::byte> unhex(std::string_view hex) { return from_hex(hex).value(); }

inline std::string hex_of(std::span<const std::byte> bytes) { return to_hex(bytes); }

template <typename T>
T sample_id(std::string_view hex = "018bcfe56800aaaaaaaaaaaaaaaaaaaa") {
  T id;
  const auto bytes = unhex(hex);
  std::copy(bytes.begin(), bytes.end(), id.bytes.begin());
  return id;
}

// The key of the first test of RFC 8032.
inline SigningKey rfc_key() {
  const auto seed = unhex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60");
  return SigningKey(std::span<const std::byte, 32>(seed));
}

// A key of its own for each number.
inline SigningKey numbered_key(unsigned number) {
  std::array<std::byte, 32> seed{};
  seed[0] = static_cast<std::byte>(number);
  seed[1] = static_cast<std::byte>(number >> 8U);
  seed[31] = std::byte{0x42};
  return SigningKey(std::span<const std::byte, 32>(seed));
}

inline Operation sample_operation(Payload payload) {
  Operation operation;
  operation.id = sample_id<OpId>("018bcfe5680000010203040506070809");
  operation.timestamp = {1700000000000, 0, {7}};
  operation.payload = std::move(payload);
  return operation;
}

// One payload of each kind, in the order of the discriminants.
inline std::vector<Payload> sample_payloads() {
  const std::string text = "é1";
  const Digest hash = blake3("abc");
  const Bytes hi = bytes_of("hi");
  const Confidence confidence = {{text, 0.5F}, {text, 0.5F}};
  const auto two = []<typename T>(T id) { return std::vector<T>{id, id}; };
  const auto evidence = sample_id<EvidenceId>();
  const auto entity = sample_id<EntityId>();
  const auto claim = sample_id<ClaimId>();
  const auto job = sample_id<JobId>();
  const auto artifact = sample_id<ArtifactId>();
  const auto episode = sample_id<EpisodeId>();
  const auto action = sample_id<ActionId>();
  return {
      IngestEvidence{evidence, hash, text, text,
                     EvidenceMetadata{300, Geo{-1.5, -1.5}, {text, text}, {{"a", "1"}, {"b", ""}}}},
      TombstoneEvidence{evidence, text},
      CreateEntity{entity, EntityType::event, text, two(claim)},
      AddEntityAlias{entity, text},
      MergeEntities{entity, two(entity), text},
      SplitEntity{entity, two(entity), text},
      CreateClaim{claim, ClaimType::derived, entity, text, text, ClaimStatus::stale, confidence,
                  Provenance{two(evidence), two(claim), two(job), two(artifact)}},
      UpdateClaimStatus{claim, ClaimStatus::stale, text},
      UpdateClaimConfidence{claim, confidence},
      SupersedeClaim{claim, claim, text},
      ScheduleJob{job, "k", hi, hi},
      ClaimWork{job, {7}, 60000},
      CompleteJob{job, two(claim), two(artifact), {300, 300, 300, 300}},
      YieldWork{job, {7}, text},
      ExpireWork{job, {300}, text},
      UserAssert{AssertionType::lane_rule, entity, text},
      CreateArtifact{artifact, text, job, two(evidence), blake3("hi"), hi, text, text, 2, 300},
      EvictArtifact{artifact},
      DesignateCoordinator{{300}},
      DelegateUcan{blake3("hi"), hi},
      RevokeUcan{hash},
      RouteKind{text, NodeId{300}},
      CreateEpisode{episode, text, text, 300, 300, two(evidence), two(claim), two(entity), 0.5F},
      UpdateEpisode{episode, text, text, 0.5F, EpisodeStatus::archived, two(claim), two(evidence)},
      CreateSuggestedAction{action, text, text, text, episode, two(claim), two(evidence), job,
                            0.5F},
      UpdateActionStatus{action, ActionStatus::expired, text},
  };
}

}  // namespace holdfast::mesh
