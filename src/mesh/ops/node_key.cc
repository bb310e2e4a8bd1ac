#include "mesh/ops/node_key.h"

#include <sodium.h>

#include <algorithm>

#include "base/blake3.h"
#include "base/encoding.h"
#include "holdfast/assert.h"

namespace holdfast::mesh {

namespace {

const unsigned char* chars(const std::byte* bytes) {
  return reinterpret_cast<const unsigned char*>(bytes);
}
unsigned char* chars(std::byte* bytes) { return reinterpret_cast<unsigned char*>(bytes); }

// The y coordinates of the points of small order, and two more encodings of the same (p and p+1).
constexpr std::string_view kSmallOrder[] = {
    "0000000000000000000000000000000000000000000000000000000000000000",
    "0100000000000000000000000000000000000000000000000000000000000000",
    "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
    "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
    "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
};

// y < p = 2^255 - 19, of an encoding without its sign bit.
bool is_canonical(const std::array<std::byte, 32>& y) {
  const bool all_ones = y[31] == std::byte{0x7F} &&
                        std::all_of(y.begin() + 1, y.begin() + 31,
                                    [](std::byte byte) { return byte == std::byte{0xFF}; });
  return !all_ones || std::to_integer<unsigned>(y[0]) < 0xED;
}

constexpr std::string_view kBase58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
constexpr std::string_view kDidStart = "did:key:z";
constexpr std::size_t kDidBytes = 34;  // ed 01 and the key

std::string to_base58(std::span<const std::byte> bytes) {
  std::string digits;  // least significant first
  for (const std::byte byte : bytes) {
    unsigned carry = std::to_integer<unsigned>(byte);
    for (char& digit : digits) {
      carry += static_cast<unsigned>(digit) * 256;
      digit = static_cast<char>(carry % 58);
      carry /= 58;
    }
    for (; carry > 0; carry /= 58) {
      digits.push_back(static_cast<char>(carry % 58));
    }
  }
  std::string text;
  for (auto digit = digits.rbegin(); digit != digits.rend(); ++digit) {
    text.push_back(kBase58[static_cast<std::size_t>(*digit)]);
  }
  return text;
}

// The kDidBytes bytes of the number, or empty when it has another size.
std::optional<std::array<std::byte, kDidBytes>> from_base58(std::string_view text) {
  std::array<std::byte, kDidBytes> bytes{};
  for (const char character : text) {
    const std::size_t digit = kBase58.find(character);
    if (digit == std::string_view::npos) {
      return std::nullopt;
    }
    auto carry = static_cast<unsigned>(digit);
    for (auto byte = bytes.rbegin(); byte != bytes.rend(); ++byte) {
      carry += std::to_integer<unsigned>(*byte) * 58;
      *byte = static_cast<std::byte>(carry);
      carry >>= 8U;
    }
    if (carry > 0) {
      return std::nullopt;
    }
  }
  return bytes;
}

}  // namespace

bool is_acceptable(const PublicKey& key) {
  auto y = key.bytes;
  y[31] &= std::byte{0x7F};
  const std::string hex = to_hex(std::span<const std::byte>(y));
  return is_canonical(y) &&
         std::find(std::begin(kSmallOrder), std::end(kSmallOrder), hex) == std::end(kSmallOrder);
}

NodeId node_id_of(const PublicKey& key) {
  const Digest digest = blake3(std::span<const std::byte>(key.bytes));
  NodeId node;
  for (std::size_t i = 0; i < 8; ++i) {
    node.value |= std::to_integer<std::uint64_t>(digest[i]) << (8 * i);
  }
  return node;
}

std::string node_name(NodeId node) { return "node-" + std::to_string(node.value); }

std::string to_did(const PublicKey& key) {
  std::array<std::byte, kDidBytes> bytes{std::byte{0xED}, std::byte{0x01}};
  std::copy(key.bytes.begin(), key.bytes.end(), bytes.begin() + 2);
  return std::string(kDidStart) + to_base58(bytes);
}

std::optional<PublicKey> parse_did(std::string_view did) {
  constexpr std::size_t kLongestDid = 64;
  if (!did.starts_with(kDidStart) || did.size() > kLongestDid) {
    return std::nullopt;
  }
  const auto bytes = from_base58(did.substr(kDidStart.size()));
  if (!bytes.has_value() || (*bytes)[0] != std::byte{0xED} || (*bytes)[1] != std::byte{0x01}) {
    return std::nullopt;
  }
  PublicKey key;
  std::copy(bytes->begin() + 2, bytes->end(), key.bytes.begin());
  if (!is_acceptable(key) || to_did(key) != did) {
    return std::nullopt;
  }
  return key;
}

SigningKey::SigningKey(std::span<const std::byte, 32> seed) {
  const int made = crypto_sign_ed25519_seed_keypair(chars(public_.bytes.data()),
                                                    chars(secret_.data()), chars(seed.data()));
  HOLDFAST_ASSERT(made == 0);
}

SignatureBytes SigningKey::sign(std::span<const std::byte> message) const {
  SignatureBytes signature;
  const int made =
      crypto_sign_ed25519_detached(chars(signature.data()), nullptr, chars(message.data()),
                                   message.size(), chars(secret_.data()));
  HOLDFAST_ASSERT(made == 0);
  return signature;
}

bool verify(const PublicKey& key, std::span<const std::byte> message,
            const SignatureBytes& signature) {
  return is_acceptable(key) &&
         crypto_sign_ed25519_verify_detached(chars(signature.data()), chars(message.data()),
                                             message.size(), chars(key.bytes.data())) == 0;
}

}  // namespace holdfast::mesh
