#include "mesh/ops/operation.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "holdfast/assert.h"
#include "mesh/ops/field_codec.h"

namespace holdfast::mesh {

namespace {

constexpr std::uint64_t kSchemaVersion = 1;
constexpr std::uint64_t kSanitisedTag = 63;

void put_mark(PostcardWriter& out, const SanitisedMark& mark) {
  out.varint(mark.rules.size());
  for (const SanitiseRule& rule : mark.rules) {
    out.varint(static_cast<std::uint64_t>(rule.kind));
    if (rule.kind == SanitiseRule::Kind::truncate_content) {
      out.varint(rule.truncate_bytes);
    }
  }
  out.raw(mark.delegation);
}

SanitisedMark get_mark(PostcardReader& in) {
  SanitisedMark mark;
  for (std::size_t left = in.count(); left > 0 && in.ok(); --left) {
    SanitiseRule& rule = mark.rules.emplace_back();
    rule.kind = static_cast<SanitiseRule::Kind>(in.varint(3));
    if (rule.kind == SanitiseRule::Kind::truncate_content) {
      rule.truncate_bytes = in.varint();
    }
  }
  in.raw(mark.delegation);
  return mark;
}

// The envelope up to the signature.
void put_signed_part(PostcardWriter& out, const Operation& operation) {
  FieldEncoder fields(out);
  fields(operation.id, kSchemaVersion, operation.timestamp, operation.author(),
         operation.causal_deps);
  if (operation.sanitised.has_value()) {
    out.varint(kSanitisedTag);
  }
  fields.put(operation.payload);
  if (operation.sanitised.has_value()) {
    put_mark(out, *operation.sanitised);
  }
}

void get_payload(PostcardReader& in, Operation& operation) {
  PostcardReader ahead = in;
  const bool wrapped = ahead.varint() == kSanitisedTag && ahead.ok();
  if (wrapped) {
    in = ahead;
  }
  FieldDecoder(in).get(operation.payload);
  if (wrapped) {
    operation.sanitised = get_mark(in);
  }
}

Operation get_operation(PostcardReader& in) {
  Operation operation;
  std::uint64_t version = 0;
  NodeId author;
  FieldDecoder fields(in);
  fields(operation.id, version, operation.timestamp, author, operation.causal_deps);
  if (version != kSchemaVersion) {
    in.fail("the schema version is not 1");
  }
  if (author != operation.author()) {
    in.fail("the timestamp is of another node than the author");
  }
  get_payload(in, operation);
  fields.get(operation.signature);
  return operation;
}

// Decodes one operation and checks that its bytes are the only ones it can have.
Result<Operation> read_one(PostcardReader& in, std::span<const std::byte> bytes) {
  const std::size_t begin = in.position();
  Operation operation = get_operation(in);
  HOLDFAST_CHECK(in.result());
  const auto encoded = encode_operation(operation);
  const auto wire = bytes.subspan(begin, in.position() - begin);
  if (!std::equal(encoded.begin(), encoded.end(), wire.begin(), wire.end())) {
    return Error(ErrorCode::invalid_argument,
                 fmt::format("malformed operation at byte {}: not in canonical form", begin));
  }
  HOLDFAST_CHECK(check_operation(operation));
  return operation;
}

}  // namespace

std::vector<std::byte> encode_operation(const Operation& operation) {
  PostcardWriter out;
  put_signed_part(out, operation);
  FieldEncoder(out).put(operation.signature);
  return std::move(out).take();
}

std::vector<std::byte> signing_bytes(const Operation& operation) {
  PostcardWriter out;
  put_signed_part(out, operation);
  out.varint(0);
  return std::move(out).take();
}

Result<Operation> decode_operation(std::span<const std::byte> bytes) {
  PostcardReader in(bytes);
  HOLDFAST_TRY(Operation operation, read_one(in, bytes));
  if (in.remaining() > 0) {
    in.fail("bytes after the end of the operation");
    HOLDFAST_CHECK(in.result());
  }
  return operation;
}

Result<Operation> decode_stored_operation(std::span<const std::byte> bytes) {
  PostcardReader in(bytes);
  Operation operation = get_operation(in);
  if (in.ok() && in.remaining() > 0) {
    in.fail("bytes after the end of the operation");
  }
  HOLDFAST_CHECK(in.result());
  return operation;
}

std::vector<std::byte> encode_sequence(std::span<const std::vector<std::byte>> operations) {
  PostcardWriter out;
  out.varint(operations.size());
  for (const auto& operation : operations) {
    out.raw(operation);
  }
  return std::move(out).take();
}

DecodedSequence decode_sequence(std::span<const std::byte> bytes) {
  DecodedSequence sequence;
  PostcardReader in(bytes);
  for (std::size_t left = in.count(); left > 0; --left) {
    const std::size_t begin = in.position();
    auto operation = read_one(in, bytes);
    if (!operation.ok()) {
      sequence.malformed = std::move(operation).error();
      return sequence;
    }
    const auto wire = bytes.subspan(begin, in.position() - begin);
    sequence.operations.push_back(std::move(operation).value());
    sequence.bytes.emplace_back(wire.begin(), wire.end());
  }
  if (in.ok() && in.remaining() > 0) {
    in.fail("bytes after the last operation");
  }
  if (auto result = in.result(); !result.ok()) {
    sequence.malformed = std::move(result).error();
  }
  return sequence;
}

std::string_view kind_name(std::size_t discriminant) {
  static constexpr std::string_view kNames[] = {"IngestEvidence",
                                                "TombstoneEvidence",
                                                "CreateEntity",
                                                "AddEntityAlias",
                                                "MergeEntities",
                                                "SplitEntity",
                                                "CreateClaim",
                                                "UpdateClaimStatus",
                                                "UpdateClaimConfidence",
                                                "SupersedeClaim",
                                                "ScheduleJob",
                                                "ClaimWork",
                                                "CompleteJob",
                                                "YieldWork",
                                                "ExpireWork",
                                                "UserAssert",
                                                "CreateArtifact",
                                                "EvictArtifact",
                                                "DesignateCoordinator",
                                                "DelegateUcan",
                                                "RevokeUcan",
                                                "RouteKind",
                                                "CreateEpisode",
                                                "UpdateEpisode",
                                                "CreateSuggestedAction",
                                                "UpdateActionStatus"};
  static_assert(std::size(kNames) == std::variant_size_v<Payload>);
  HOLDFAST_ASSERT(discriminant < std::size(kNames));
  return kNames[discriminant];
}

}  // namespace holdfast::mesh
