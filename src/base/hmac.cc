#include "base/hmac.h"

#include <algorithm>
#include <array>
#include <vector>

namespace holdfast {

namespace {

constexpr std::size_t kBlockBytes = 64;
using Block = std::array<std::byte, kBlockBytes>;

Block padded(std::span<const std::byte> key, std::byte pad) {
  Block block{};
  std::ranges::copy(key, block.begin());
  for (std::byte& byte : block) {
    byte ^= pad;
  }
  return block;
}

}  // namespace

Digest hmac_sha256(std::span<const std::byte> key,
                   std::initializer_list<std::span<const std::byte>> parts) {
  Digest short_key{};
  if (key.size() > kBlockBytes) {
    short_key = sha256({key});
    key = short_key;
  }
  const Block inner = padded(key, std::byte{0x36});
  const Block outer = padded(key, std::byte{0x5c});
  std::vector<std::byte> text(inner.begin(), inner.end());
  for (const auto& part : parts) {
    text.insert(text.end(), part.begin(), part.end());
  }
  const Digest hashed = sha256({text});
  return sha256({outer, hashed});
}

}  // namespace holdfast
