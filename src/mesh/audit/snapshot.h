// InferenceSnapshot: the record of one call of a model, the content of an artifact of type
// "likewise.inference.snapshot".
//
// Content (postcard): model_id, model_version, backend; the ids of evidence, claims and entities in
// the context; prompt; output (text, structured bytes?); telemetry (duration_ms, prompt_tokens,
// completion_tokens, [(name, ms)]); started_at, completed_at. Bytes after that are kept.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "holdfast/result.h"
#include "mesh/ops/operation.h"

namespace holdfast::mesh {

inline constexpr std::string_view kSnapshotType = "likewise.inference.snapshot";

struct InferenceSnapshot {
  std::string model_id;
  std::string model_version;
  std::string backend;
  std::vector<EvidenceId> evidence;
  std::vector<ClaimId> claims;
  std::vector<EntityId> entities;
  std::string prompt;
  std::string output_text;
  std::optional<Bytes> output_structured;
  std::uint64_t duration_ms = 0;
  std::uint64_t prompt_tokens = 0;
  std::uint64_t completion_tokens = 0;
  std::vector<std::pair<std::string, std::uint64_t>> latency_ms;
  Timestamp started_at;
  Timestamp completed_at;
  Bytes extra;  // what follows the known fields
  bool operator==(const InferenceSnapshot&) const = default;
};

Bytes encode_snapshot(const InferenceSnapshot& snapshot);
// invalid_argument, with the byte offset, when the known fields cannot be read.
Result<InferenceSnapshot> decode_snapshot(std::span<const std::byte> content);

bool is_snapshot(const Payload& payload);
// For an operation that creates a snapshot: it names the job and the model; inline content is of
// the same model, lists no evidence that inputs_used lacks, and has times of the author before the
// operation, in order. Others pass.
Result<void> check_snapshot(const Operation& operation);

}  // namespace holdfast::mesh
