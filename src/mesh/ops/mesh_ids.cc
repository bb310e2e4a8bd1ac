#include "mesh/ops/mesh_ids.h"

#include <algorithm>

#include "holdfast/assert.h"
#include "mesh/clock/hybrid_time.h"

namespace holdfast::mesh {

OpId make_op_id(std::uint64_t wall_ms, std::span<const std::byte, 10> random_bytes) {
  HOLDFAST_ASSERT(wall_ms <= kMaxWallMs);
  OpId id;
  for (std::size_t i = 0; i < 6; ++i) {
    id.bytes[i] = static_cast<std::byte>(wall_ms >> (40 - 8 * i));
  }
  std::copy(random_bytes.begin(), random_bytes.end(), id.bytes.begin() + 6);
  return id;
}

}  // namespace holdfast::mesh
