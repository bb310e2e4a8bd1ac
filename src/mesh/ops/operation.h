// Operation: the signed envelope that every fact of a mesh travels in.
//
// Wire layout (postcard): id 16 bytes; schema_version varint, always 1; timestamp as varints wall,
// logical, node; node_id varint; causal_deps varint count + 16 bytes each; payload varint
// discriminant + body; signature 00, or 01 + varint length + text. Discriminant 63 wraps a payload
// that a peer sanitised: inner discriminant + body, the applied rules, the id of the delegation.
//
// An operation has exactly one encoding: decode_operation refuses every other byte form.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "holdfast/result.h"
#include "mesh/ops/payloads.h"

namespace holdfast::mesh {

inline constexpr std::size_t kMaxCausalDeps = 1024;
inline constexpr std::size_t kMaxKindBytes = 255;

struct SanitiseRule {
  enum class Kind : std::uint8_t {
    strip_geo,
    redact_participants,
    truncate_content,
    strip_custom_metadata,
  };
  Kind kind{};
  std::uint64_t truncate_bytes = 0;  // of truncate_content; 0 for all others
  bool operator==(const SanitiseRule&) const = default;
};

struct SanitisedMark {
  std::vector<SanitiseRule> rules;
  Digest delegation{};
  bool operator==(const SanitisedMark&) const = default;
};

struct Operation {
  OpId id;
  Timestamp timestamp;
  std::vector<OpId> causal_deps;  // in the order the author chose: it is signed
  Payload payload;
  std::optional<SanitisedMark> sanitised;
  std::optional<std::string> signature;

  [[nodiscard]] NodeId author() const { return timestamp.node; }
  bool operator==(const Operation&) const = default;
};

std::vector<std::byte> encode_operation(const Operation& operation);
// The same without the signature: what the author signs.
std::vector<std::byte> signing_bytes(const Operation& operation);
// One operation and nothing after it. invalid_argument, with the byte offset, when the bytes are
// malformed, not canonical, or break a rule that needs no other operation (check_operation).
Result<Operation> decode_operation(std::span<const std::byte> bytes);
// The same for bytes that were decoded before and stored since: their form is not checked again,
// only that they can be read.
Result<Operation> decode_stored_operation(std::span<const std::byte> bytes);
// invalid_argument when the envelope or a field breaks a rule that needs no other operation.
Result<void> check_operation(const Operation& operation);

// A sequence of operations as peers exchange them: varint count + operations. Operations have no
// length of their own, so one that cannot be decoded hides the rest of the sequence.
struct DecodedSequence {
  std::vector<Operation> operations;          // up to the first that cannot be decoded
  std::vector<std::vector<std::byte>> bytes;  // of each
  std::optional<Error> malformed;             // why it ends early
};
std::vector<std::byte> encode_sequence(std::span<const std::vector<std::byte>> operations);
DecodedSequence decode_sequence(std::span<const std::byte> bytes);

// "ClaimWork": the name of the kind with that discriminant.
std::string_view kind_name(std::size_t discriminant);

}  // namespace holdfast::mesh
