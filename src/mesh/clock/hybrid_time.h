// Hybrid logical time: the timestamps of operations, and the rules by which a node issues them.
//
// Guarantees: timestamps are totally ordered by (wall, logical, node); tick returns a timestamp
// larger than every one that was issued or received before, whatever the wall time does.
// Refuses to issue timestamps at the limits of the counters, instead of wrapping around.
#pragma once

#include <compare>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>

namespace holdfast::mesh {

struct NodeId {
  std::uint64_t value = 0;
  friend auto operator<=>(const NodeId&, const NodeId&) = default;
};

// Operation ids hold the wall time in 48 bits, so this is the end of time.
inline constexpr std::uint64_t kMaxWallMs = (1ULL << 48U) - 1;
inline constexpr std::uint32_t kMaxLogical = std::numeric_limits<std::uint32_t>::max();

struct Timestamp {
  std::uint64_t wall_ms = 0;
  std::uint32_t logical = 0;
  NodeId node;
  // The total order of a mesh; the lower node id comes first when the times are equal.
  friend auto operator<=>(const Timestamp&, const Timestamp&) = default;
};

// "1700000000000.2@7": wall, logical, node.
std::string to_text(const Timestamp& at);

// The state of one node's clock. A value: copy it to look ahead.
class HybridTime {
 public:
  explicit HybridTime(NodeId node) : local_{0, 0, node} {}
  // After a restart: the largest of the persisted state, the newest timestamp of any stored
  // operation, and the wall time.
  static HybridTime restore(NodeId node, const Timestamp& persisted, const Timestamp& newest_known,
                            std::uint64_t wall_now_ms);

  // The timestamp of the next operation of this node. Empty, and the state is unchanged, when the
  // logical counter is at its maximum and wall time has not advanced, or at the end of time: the
  // node must not author until wall time passes.
  std::optional<Timestamp> tick(std::uint64_t wall_now_ms);
  // For each remote operation with a valid signature, also when it is refused for other reasons.
  // The next tick exceeds the remote timestamp, or is refused at the end of time.
  void receive(const Timestamp& remote, std::uint64_t wall_now_ms);
  // What tick would return, without issuing it; the local state when tick would refuse. Deadlines
  // are compared with this, never with the raw wall clock.
  [[nodiscard]] Timestamp peek(std::uint64_t wall_now_ms) const;

  // The largest timestamp issued or received; what the caller persists.
  [[nodiscard]] const Timestamp& state() const { return local_; }

 private:
  Timestamp local_;
};

// How far ahead of local wall time a received timestamp may be.
struct SkewLimits {
  std::uint64_t warn_ms = 3'600'000;
  std::uint64_t max_ms = 86'400'000;  // 0: no bound
};

enum class Skew : std::uint8_t { normal, suspicious, quarantine };

// Exactly at a limit is still within it.
Skew judge_skew(const Timestamp& remote, std::uint64_t wall_now_ms, const SkewLimits& limits);

}  // namespace holdfast::mesh
