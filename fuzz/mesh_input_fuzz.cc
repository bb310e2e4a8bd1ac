// Everything that a node of a mesh reads from another: operations, sequences of them, tokens and
// their JSON, frontiers, snapshots. What is accepted has exactly the bytes it was read from; the
// order in which operations arrive does not matter.
#include <algorithm>

#include "base/blake3.h"
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

mesh::SigningKey numbered_key(std::uint64_t number) {
  const std::array<std::byte, 32> seed{static_cast<std::byte>(number)};
  return mesh::SigningKey(std::span<const std::byte, 32>(seed));
}
mesh::SigningKey any_key() { return numbered_key(7); }

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

// Operations of a mesh with three nodes, signed, with everything else as in the input.
std::vector<std::vector<std::byte>> signed_operations(std::span<const std::byte> bytes) {
  std::vector<std::vector<std::byte>> wire;
  for (mesh::Operation& operation : mesh::decode_sequence(bytes).operations) {
    const mesh::SigningKey key = numbered_key(operation.author().value % 3);
    operation.timestamp.node = key.node_id();
    operation.sanitised.reset();
    if (auto* claim = std::get_if<mesh::ClaimWork>(&operation.payload)) {
      claim->claimer = key.node_id();
    } else if (auto* yield = std::get_if<mesh::YieldWork>(&operation.payload)) {
      yield->claimer = key.node_id();
    }
    wire.push_back(mesh::encode_operation(mesh::sign_operation(operation, key)));
  }
  return wire;
}

// The user's node may do everything, the second has a part of it, the third nothing.
mesh::Replica three_nodes() {
  mesh::ReplicaLimits limits;
  limits.skew.max_ms = 0;
  mesh::Replica replica(any_key().public_key(), {1}, limits);
  for (std::uint64_t number = 0; number < 3; ++number) {
    const mesh::SigningKey key = numbered_key(number);
    mesh::TokenSpec spec;
    spec.audience = key.public_key();
    if (number < 2) {
      spec.grants = {{number == 0 ? "*" : "Job", "*", {}}};
    }
    const auto token = mesh::issue_token(spec, any_key());
    mesh::Operation first;
    first.timestamp.node = key.node_id();
    first.id.bytes[0] = static_cast<std::byte>(number);
    first.payload = mesh::DelegateUcan{blake3(std::span<const std::byte>(token)), token};
    replica.ingest(mesh::encode_operation(mesh::sign_operation(first, key)), 0);
  }
  return replica;
}

void check_every_order_agrees(std::span<const std::byte> bytes) {
  const auto wire = signed_operations(bytes);
  mesh::Replica forward = three_nodes();
  mesh::Replica backward = three_nodes();
  for (std::size_t i = 0; i < wire.size(); ++i) {
    forward.ingest(wire[i], 0);
    backward.ingest(wire[wire.size() - 1 - i], 0);
  }
  require(forward.lost() > 0 || backward.lost() > 0 ||
              forward.roster().state_digest() == backward.roster().state_digest(),
          "the order of arrival does not matter");
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
    case 'i':
      check_every_order_agrees(bytes);
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
