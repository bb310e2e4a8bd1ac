// Replica: what one node knows of a mesh, and the order in which it checks what it receives.
//
//   1. decode; refuse malformed bytes            4. verify the signature
//   2. recognise known bytes                     5. quarantine what is too far in the future
//   3. find the author's key: a node binds its   6. advance hybrid time
//      key by a delegation that it authors and   7. add to the roster, which judges it
//      that is addressed to it
//
// Guarantees: the roster is a function of the set of received operations; forged bytes change
// neither the roster nor hybrid time, and cannot void an honest operation. Operations of unknown
// authors and quarantined ones are kept aside in bounded pools, and enter when the key or the time
// arrives; a token that a quarantined operation carries counts at once. Unsigned operations are
// refused, also sanitised ones: nothing sends them yet.
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "mesh/clock/hybrid_time.h"
#include "mesh/ops/frontier.h"
#include "mesh/roster/roster.h"

namespace holdfast::mesh {

enum class Intake : std::uint8_t {
  appended,     // on the log, whatever its verdict there
  duplicated,   // known before, also if it was parked or quarantined
  parked,       // kept aside until a key or a delegation arrives
  quarantined,  // kept aside until time arrives
  rejected,     // never tried again
};

struct IntakeResult {
  Intake intake{};
  Reason reason = Reason::none;
  bool operator==(const IntakeResult&) const = default;
};

struct ReplicaLimits {
  SkewLimits skew;
  std::size_t max_aside_ops = 1024;  // of each pool; the oldest leave first
  std::size_t max_aside_bytes = 8ULL << 20U;
};

class Replica {
 public:
  Replica(const PublicKey& user, NodeId self, ReplicaLimits limits = {})
      : limits_(limits), time_(self), roster_(user) {}

  IntakeResult ingest(std::span<const std::byte> bytes, std::uint64_t wall_now_ms);
  // Takes what has waited for this time out of quarantine. Returns how many operations it was.
  std::size_t release(std::uint64_t wall_now_ms);

  [[nodiscard]] const Roster& roster() const { return roster_; }
  [[nodiscard]] HybridTime& local_time() { return time_; }
  // Of all operations in the roster.
  [[nodiscard]] const Frontier& frontier() const { return frontier_; }
  [[nodiscard]] std::optional<PublicKey> key_of(NodeId node) const;
  // Received with a timestamp that is suspiciously far ahead; a warning for the operator.
  [[nodiscard]] std::size_t suspicious() const { return suspicious_; }
  // Operations that left a pool because it was full: their authors need a full fetch.
  [[nodiscard]] const std::set<NodeId>& authors_with_losses() const { return losses_; }

 private:
  // Operations aside, oldest first.
  struct Aside {
    std::deque<std::pair<Digest, Operation>> operations;
    std::set<Digest> hashes;
    std::size_t bytes = 0;
  };

  void put_aside(Aside& pool, const Digest& hash, const Operation& operation);
  std::vector<std::pair<Digest, Operation>> take_all(Aside& pool);
  IntakeResult admit(const Operation& operation, const Digest& hash, std::uint64_t wall_now_ms);
  IntakeResult place(const Operation& operation, const PublicKey& key, const Digest& hash,
                     std::uint64_t wall_now_ms);
  IntakeResult append(const VerifiedOperation& operation);
  void retry_unknown(std::uint64_t wall_now_ms);
  // The key that a delegation to its own author would bind, or empty.
  static std::optional<PublicKey> key_in(const Operation& operation);

  ReplicaLimits limits_;
  HybridTime time_;
  Roster roster_;
  Frontier frontier_;
  std::map<NodeId, PublicKey> keys_;
  Aside unknown_;
  Aside future_;
  std::set<NodeId> losses_;
  std::size_t suspicious_ = 0;
};

}  // namespace holdfast::mesh
