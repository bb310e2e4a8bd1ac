// Ed25519 keys of nodes and users, and the names that derive from them.
//
// A node id certifies itself: it is the first 8 bytes (little-endian) of the BLAKE3 of the public
// key, so a node id cannot be bound to a second key. A DID names a key:
// "did:key:z" + base58btc(ed 01 key).
//
// Accepted keys are canonical points that are not of small order: with such a key one signature
// would be valid for every message. Accepted signatures have S < L. Every node must use the same
// rule, or verdicts differ.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "holdfast/result.h"
#include "mesh/clock/hybrid_time.h"

namespace holdfast::mesh {

struct PublicKey {
  std::array<std::byte, 32> bytes{};
  friend auto operator<=>(const PublicKey&, const PublicKey&) = default;
};
using SignatureBytes = std::array<std::byte, 64>;

// False for keys that no node and no user may have.
bool is_acceptable(const PublicKey& key);

NodeId node_id_of(const PublicKey& key);
// "node-7", the name of a node in signatures and tokens.
std::string node_name(NodeId node);

std::string to_did(const PublicKey& key);
// Empty when the text is not the DID of an acceptable Ed25519 key, in its only spelling.
std::optional<PublicKey> parse_did(std::string_view did);

// A key pair made from a 32-byte seed, which the caller draws and keeps secret.
class SigningKey {
 public:
  explicit SigningKey(std::span<const std::byte, 32> seed);

  [[nodiscard]] const PublicKey& public_key() const { return public_; }
  [[nodiscard]] NodeId node_id() const { return node_id_of(public_); }
  [[nodiscard]] SignatureBytes sign(std::span<const std::byte> message) const;

 private:
  PublicKey public_;
  std::array<std::byte, 64> secret_;
};

bool verify(const PublicKey& key, std::span<const std::byte> message,
            const SignatureBytes& signature);

}  // namespace holdfast::mesh
