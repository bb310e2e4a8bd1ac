#include "mesh/audit/snapshot.h"

#include <fmt/format.h>

#include <algorithm>

#include "mesh/ops/field_codec.h"

namespace holdfast::mesh {

namespace {

// All known fields in wire order, for both directions.
template <typename Snapshot, typename Fields>
void visit_known(Snapshot& s, Fields&& fields) {
  fields(s.model_id, s.model_version, s.backend, s.evidence, s.claims, s.entities, s.prompt,
         s.output_text, s.output_structured, s.duration_ms, s.prompt_tokens, s.completion_tokens,
         s.latency_ms, s.started_at, s.completed_at);
}

Error invalid(const Operation& operation, std::string_view what) {
  return Error(ErrorCode::invalid_argument,
               fmt::format("snapshot {}: {}", to_text(operation.id), what));
}

Result<void> check_content(const Operation& operation, const CreateArtifact& artifact) {
  HOLDFAST_TRY(const InferenceSnapshot content, decode_snapshot(*artifact.content_inline));
  if (content.model_id != artifact.model_id || content.model_version != artifact.model_version) {
    return invalid(operation, "its content is of another model than the operation");
  }
  const auto& inputs = artifact.inputs_used;
  for (const EvidenceId& evidence : content.evidence) {
    if (std::find(inputs.begin(), inputs.end(), evidence) == inputs.end()) {
      return invalid(operation, "inputs_used lacks evidence of its context");
    }
  }
  if (content.started_at.node != operation.author() ||
      content.completed_at.node != operation.author()) {
    return invalid(operation, "its times are of another node");
  }
  if (content.started_at > content.completed_at || content.completed_at >= operation.timestamp) {
    return invalid(operation, "its times are not in order before the operation");
  }
  return {};
}

}  // namespace

Bytes encode_snapshot(const InferenceSnapshot& snapshot) {
  PostcardWriter out;
  visit_known(snapshot, FieldEncoder(out));
  out.raw(snapshot.extra);
  return std::move(out).take();
}

Result<InferenceSnapshot> decode_snapshot(std::span<const std::byte> content) {
  PostcardReader in(content);
  InferenceSnapshot snapshot;
  visit_known(snapshot, FieldDecoder(in));
  HOLDFAST_CHECK(in.result());
  const auto rest = content.subspan(in.position());
  snapshot.extra.assign(rest.begin(), rest.end());
  return snapshot;
}

bool is_snapshot(const Payload& payload) {
  const auto* artifact = std::get_if<CreateArtifact>(&payload);
  return artifact != nullptr && artifact->artifact_type == kSnapshotType;
}

Result<void> check_snapshot(const Operation& operation) {
  if (!is_snapshot(operation.payload)) {
    return {};
  }
  const auto& artifact = std::get<CreateArtifact>(operation.payload);
  if (!artifact.source_job.has_value()) {
    return invalid(operation, "it names no job");
  }
  if (!artifact.model_id.has_value() || !artifact.model_version.has_value()) {
    return invalid(operation, "it does not name the model and its version");
  }
  return artifact.content_inline.has_value() ? check_content(operation, artifact) : Result<void>();
}

}  // namespace holdfast::mesh
