#include "mesh/roster/op_record.h"

#include <utility>

#include "base/blake3.h"
#include "holdfast/assert.h"

namespace holdfast::mesh {

VerifiedOperation verified(Operation operation, const PublicKey& author) {
  HOLDFAST_ASSERT(node_id_of(author) == operation.author());
  const Digest hash = blake3(encode_operation(operation));
  VerifiedOperation result = with_token(std::move(operation), hash);
  result.author = author;
  return result;
}

VerifiedOperation with_token(Operation operation, const Digest& hash) {
  VerifiedOperation result{std::move(operation), {}, hash, std::nullopt};
  if (const auto* delegation = std::get_if<DelegateUcan>(&result.operation.payload)) {
    if (auto token = parse_token(delegation->ucan_bytes); token.ok()) {
      result.token = std::move(token).value();
    }
  }
  return result;
}

std::optional<Subject> subject_of(const Payload& payload) {
  using Type = Subject::Type;
  return std::visit(
      []<typename T>(const T& p) -> std::optional<Subject> {
        if constexpr (requires { p.job_id; }) {
          return Subject{Type::job, p.job_id.bytes};
        } else if constexpr (requires { p.artifact_id; }) {
          return Subject{Type::artifact, p.artifact_id.bytes};
        } else if constexpr (requires { p.claim_id; }) {
          return Subject{Type::claim, p.claim_id.bytes};
        } else if constexpr (requires { p.old_claim; }) {
          return Subject{Type::claim, p.old_claim.bytes};
        } else if constexpr (requires { p.evidence_id; }) {
          return Subject{Type::evidence, p.evidence_id.bytes};
        } else {
          return std::nullopt;
        }
      },
      payload);
}

std::optional<JobId> job_of(const Payload& payload) {
  const auto subject = subject_of(payload);
  if (!subject.has_value() || subject->type != Subject::Type::job) {
    return std::nullopt;
  }
  return JobId{subject->id};
}

bool is_output(const Payload& payload) {
  return std::holds_alternative<CreateClaim>(payload) ||
         std::holds_alternative<CreateEpisode>(payload) ||
         std::holds_alternative<CreateSuggestedAction>(payload);
}

bool is_derivation(const Payload& payload) {
  return std::holds_alternative<CreateEntity>(payload) ||
         std::holds_alternative<AddEntityAlias>(payload) ||
         std::holds_alternative<MergeEntities>(payload) ||
         std::holds_alternative<SplitEntity>(payload) ||
         std::holds_alternative<CreateClaim>(payload) ||
         std::holds_alternative<UpdateClaimStatus>(payload) ||
         std::holds_alternative<UpdateClaimConfidence>(payload) ||
         std::holds_alternative<SupersedeClaim>(payload);
}

}  // namespace holdfast::mesh
