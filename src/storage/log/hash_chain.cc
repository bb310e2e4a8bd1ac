#include "storage/log/hash_chain.h"

#include <array>

#include "base/encoding.h"

namespace holdfast {

Digest genesis_chain(const Uuid& log_id) {
  return sha256({as_bytes("holdfast-log-1"), log_id.bytes});
}

Digest next_chain(const Digest& previous, Position position, const Digest& body_hash) {
  std::array<std::byte, 8> place{};
  for (std::size_t i = 0; i < place.size(); ++i) {
    place[i] = static_cast<std::byte>((position.value >> (8 * (7 - i))) & 0xffU);
  }
  return sha256({as_bytes("holdfast-chain-1"), previous, place, body_hash});
}

}  // namespace holdfast
