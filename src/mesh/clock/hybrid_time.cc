#include "mesh/clock/hybrid_time.h"

#include <algorithm>

#include "holdfast/assert.h"

namespace holdfast::mesh {

std::string to_text(const Timestamp& at) {
  return std::to_string(at.wall_ms) + "." + std::to_string(at.logical) + "@" +
         std::to_string(at.node.value);
}

HybridTime HybridTime::restore(NodeId node, const Timestamp& persisted,
                               const Timestamp& newest_known, std::uint64_t wall_now_ms) {
  HybridTime restored(node);
  const Timestamp wall{std::min(wall_now_ms, kMaxWallMs), 0, node};
  const Timestamp& newest = std::max({persisted, newest_known, wall});
  restored.local_.wall_ms = newest.wall_ms;
  restored.local_.logical = newest.logical;
  return restored;
}

std::optional<Timestamp> HybridTime::tick(std::uint64_t wall_now_ms) {
  if (wall_now_ms > kMaxWallMs) {
    return std::nullopt;
  }
  const Timestamp before = local_;
  if (wall_now_ms > local_.wall_ms) {
    local_.wall_ms = wall_now_ms;
    local_.logical = 0;
  } else if (local_.logical == kMaxLogical) {
    return std::nullopt;
  } else {
    ++local_.logical;
  }
  HOLDFAST_ASSERT(before < local_);
  return local_;
}

void HybridTime::receive(const Timestamp& remote, std::uint64_t wall_now_ms) {
  HOLDFAST_ASSERT(remote.wall_ms <= kMaxWallMs);
  const std::uint64_t wall =
      std::max({local_.wall_ms, remote.wall_ms, std::min(wall_now_ms, kMaxWallMs)});
  std::optional<std::uint32_t> counter;  // of the newest of those at this wall time
  if (wall == local_.wall_ms) {
    counter = local_.logical;
  }
  if (wall == remote.wall_ms) {
    counter = std::max(counter.value_or(0), remote.logical);
  }
  const Timestamp before = local_;
  local_.wall_ms = wall;
  if (!counter.has_value()) {
    local_.logical = 0;
  } else if (*counter < kMaxLogical) {
    local_.logical = *counter + 1;
  } else if (wall < kMaxWallMs) {
    local_.wall_ms = wall + 1;
    local_.logical = 0;
  } else {
    local_.logical = kMaxLogical;  // the end of time: tick refuses from now on
  }
  HOLDFAST_ASSERT(before <= local_);
}

Timestamp HybridTime::peek(std::uint64_t wall_now_ms) const {
  HybridTime ahead = *this;
  return ahead.tick(wall_now_ms).value_or(local_);
}

Skew judge_skew(const Timestamp& remote, std::uint64_t wall_now_ms, const SkewLimits& limits) {
  if (remote.wall_ms <= wall_now_ms) {
    return Skew::normal;
  }
  const std::uint64_t ahead_ms = remote.wall_ms - wall_now_ms;
  if (limits.max_ms > 0 && ahead_ms > limits.max_ms) {
    return Skew::quarantine;
  }
  return ahead_ms > limits.warn_ms ? Skew::suspicious : Skew::normal;
}

}  // namespace holdfast::mesh
