// Everything that a node of a mesh reads from another: operations, sequences of them, tokens and
// their JSON, frontiers, snapshots. What is accepted has exactly the bytes it was read from.
#include <algorithm>

#include "base/encoding.h"
#include "fuzz/target.h"
#include "mesh/audit/snapshot.h"
#include "mesh/capabilities/token_json.h"
#include "mesh/ops/frontier.h"
#include "mesh/ops/signature.h"
#include "mesh/roster/replica.h"

namespace holdfast::fuzz::mesh_input_fuzz {
namespace {

bool same_bytes(std::span<const std::byte> left, std::span<const std::byte> right) {
  return std::equal(left.begin(), left.end(), right.begin(), right.end());
}

mesh::SigningKey any_key() {
  constexpr std::array<std::byte, 32> kSeed{std::byte{7}};
  return mesh::SigningKey(std::span<const std::byte, 32>(kSeed));
}

void check_operation_bytes(std::span<const std::byte> bytes) {
  const auto operation = mesh::decode_operation(bytes);
  if (operation.ok()) {
    require(same_bytes(mesh::encode_operation(operation.value()), bytes),
            "an operation is encoded as it was read");
    require(mesh::check_operation(operation.value()).ok(), "a decoded operation is valid");
    require(!mesh::verify_operation(operation.value(), any_key().public_key()),
            "no input has a valid signature");
  }
}

void check_sequence(std::span<const std::byte> bytes) {
  const auto sequence = mesh::decode_sequence(bytes);
  require(sequence.operations.size() == sequence.bytes.size(), "each operation has its bytes");
  if (!sequence.malformed.has_value()) {
    require(same_bytes(mesh::encode_sequence(sequence.bytes), bytes),
            "a sequence is encoded as it was read");
  }
}

// The JSON of a token, issued again, grants the same.
void check_token_json(std::string_view text) {
  const auto token = mesh::token_from_json(text);
  if (!token.ok()) {
    return;
  }
  mesh::TokenSpec spec;
  spec.audience = token.value().audience;
  spec.not_before_s = token.value().not_before_s;
  spec.expires_s = token.value().expires_s;
  spec.proofs = token.value().proofs;
  const auto again = mesh::parse_token(mesh::issue_token(spec, any_key()));
  require(again.ok() && again.value().audience == spec.audience &&
              again.value().expires_s == spec.expires_s && again.value().proofs == spec.proofs,
          "what was read can be issued");
}

// Unsigned or badly signed bytes never reach the roster.
void check_ingest(std::span<const std::byte> bytes) {
  mesh::Replica replica(any_key().public_key(), {1});
  const auto before = replica.local_time().state();
  replica.ingest(bytes, 1'000'000);
  require(replica.roster().size() == 0 && replica.local_time().state() == before,
          "bytes without a valid signature change nothing");
}

void check(std::string_view input) {
  const char choice = fuzz::take_choice(input);
  const auto bytes = as_bytes(input);
  switch (choice) {
    case 'o':
      check_operation_bytes(bytes);
      check_ingest(bytes);
      return;
    case 's':
      check_sequence(bytes);
      return;
    case 't':
      require(!mesh::parse_token(bytes).ok() || input.find('.') != std::string_view::npos,
              "a token has segments");
      return;
    case 'j':
      check_token_json(input);
      return;
    case 'f':
      if (const auto frontier = mesh::decode_frontier(bytes); frontier.ok()) {
        require(same_bytes(mesh::encode_frontier(frontier.value()), bytes),
                "a frontier is encoded as it was read");
      }
      return;
    case 'n':
      if (const auto snapshot = mesh::decode_snapshot(bytes); snapshot.ok()) {
        require(same_bytes(mesh::encode_snapshot(snapshot.value()), bytes),
                "a snapshot is encoded as it was read");
      }
      return;
    default:
      return;
  }
}

}  // namespace

HOLDFAST_FUZZ_TARGET(mesh_input, check)

}  // namespace holdfast::fuzz::mesh_input_fuzz
