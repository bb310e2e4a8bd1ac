// Replica: what one node knows of a mesh, and the order in which it checks what it receives.
//
//   1. decode; refuse malformed bytes            4. verify the signature
//   2. recognise known bytes                     5. quarantine what is too far in the future
//   3. find the author's key: a node binds its   6. advance hybrid time
//      key by a delegation that it authors and   7. add to the roster, which judges it
//      that is addressed to it
//
// Every operation is in one place: on the log, or aside. Aside are operations of unknown authors,
// quarantined ones, and those that no chain of their author admits; they enter the log when the
// key, the time or the delegation arrives. What is aside is bounded, for each author and in total;
// what had to leave is reported, and its author needs a full fetch.
//
// Guarantees: the roster is a function of the set of operations on the log and aside, without those
// of unknown authors and quarantined ones; forged bytes change neither the roster nor hybrid time,
// and cannot void an honest operation. A token that a quarantined operation carries counts at once.
//
// Copies that a peer sanitised are content only: they have no signature, so no verdict, dependency
// or job rests on them. They are accepted in the reply to a fetch, for a delegation to this node
// with the same rules, and leave when the signed operation arrives.
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "mesh/clock/hybrid_time.h"
#include "mesh/ops/frontier.h"
#include "mesh/roster/aside_pool.h"
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
  SkewLimits skew = {};
  AsideLimits aside = {};    // of authors whose key is bound
  AsideLimits unknown = {};  // of all others: what their operations say of the author is not proven
  std::size_t sanitised_ops = 16 * 1024;
  RosterRules rules = {};
};

// Where an operation is kept.
enum class Place : std::uint8_t { log, aside, unknown, future, sanitised, gone };

// An operation is in another place than before.
struct PlaceChange {
  Digest hash{};
  NodeId author;
  Place place{};
  bool operator==(const PlaceChange&) const = default;
};

// What a node wants to say; id and timestamp follow from its clock and the random bytes.
struct Draft {
  Payload payload;
  std::vector<OpId> causal_deps = {};
  std::array<std::byte, 10> random{};
};

enum class IngestSource : std::uint8_t {
  pushed,   // by a peer
  fetched,  // by this node from a peer
};

class Replica {
 public:
  Replica(const PublicKey& user, NodeId self, const ReplicaLimits& limits = {});

  IntakeResult ingest(std::span<const std::byte> bytes, std::uint64_t wall_now_ms,
                      IngestSource source = IngestSource::pushed);
  // Takes what has waited for this time out of quarantine. Returns how many operations it was.
  std::size_t release(std::uint64_t wall_now_ms);
  // An operation of this node, judged before it exists: one that would have no effect is refused.
  // The artifact of a snapshot gets the id of its operation.
  // conflict: it would be void, with the reason; permission_denied: no chain admits it;
  // unavailable: the clock cannot issue a timestamp now; invalid_argument: it breaks a rule.
  Result<Operation> author(Draft draft, const SigningKey& key, std::uint64_t wall_now_ms);
  // What has moved since the last call, in order.
  std::vector<PlaceChange> take_changes();

  // To load what was stored: keys first, then operations, then settle. Nothing is verified again.
  void restore_key(const PublicKey& key) { keys_.emplace(node_id_of(key), key); }
  // not_found when it needs a key that was not restored.
  Result<void> restore(Operation operation, const Digest& hash, Place place);
  void settle(const Timestamp& persisted, std::uint64_t wall_now_ms);

  [[nodiscard]] const Roster& roster() const { return roster_; }
  [[nodiscard]] Roster& roster() { return roster_; }
  [[nodiscard]] HybridTime& local_time() { return time_; }
  [[nodiscard]] const HybridTime& local_time() const { return time_; }
  // Of all operations in the roster.
  [[nodiscard]] const Frontier& frontier() const { return frontier_; }
  [[nodiscard]] std::optional<PublicKey> key_of(NodeId node) const;
  // The operation, wherever it is kept; null when it is not.
  [[nodiscard]] const Operation* find(const Digest& hash) const;
  [[nodiscard]] const Operation* find_sanitised(const OpId& id) const;
  // The operations about a job that have not reached the roster, with where they wait, by time.
  [[nodiscard]] std::vector<std::pair<const Operation*, Place>> waiting_about(
      const JobId& job) const;
  // Received with a timestamp that is suspiciously far ahead; a warning for the operator.
  [[nodiscard]] std::size_t suspicious() const { return suspicious_; }
  // Authors with a bound key of which operations may have left because there were too many aside:
  // they need a full fetch.
  [[nodiscard]] const std::set<NodeId>& authors_with_losses() const { return losses_; }
  [[nodiscard]] std::uint64_t lost() const { return lost_; }
  [[nodiscard]] std::size_t aside_ops() const { return aside_.size() + unknown_.size(); }

 private:
  IntakeResult admit(Operation operation, const Digest& hash, std::uint64_t wall_now_ms);
  IntakeResult place(VerifiedOperation valid, std::uint64_t wall_now_ms);
  IntakeResult append(VerifiedOperation valid);
  IntakeResult take_sanitised(const Operation& operation, const Digest& hash);
  void drop_sanitised(const OpId& id);
  void hold(AsidePool& pool, const Digest& hash, const Operation& operation, Place place);
  void evict(AsidePool& pool);
  void note(const Digest& hash, NodeId author, Place place) {
    changes_.push_back({hash, author, place});
  }
  void note_logged();
  void readmit(const std::vector<Digest>& hashes, std::uint64_t wall_now_ms);
  void wait_in(AsidePool& pool, const Digest& hash, const Operation& operation, Place place);
  [[nodiscard]] bool may_leave(const Digest& hash) const;
  void forget(const Digest& hash);
  // The key of the author: the one that is bound, or that this delegation to its author binds.
  [[nodiscard]] std::optional<PublicKey> key_for(const VerifiedOperation& candidate) const;

  struct Waiting {
    Operation operation;
    Place place{};
    std::optional<Token> token;  // of a quarantined delegation
    std::uint64_t order = 0;
  };

  NodeId self_;
  ReplicaLimits limits_;
  HybridTime time_;
  Roster roster_;
  Frontier frontier_;
  std::map<NodeId, PublicKey> keys_;
  AsidePool aside_;    // of authors whose key is bound: in the roster, or in quarantine
  AsidePool unknown_;  // of others
  std::map<Digest, Waiting> waiting_;  // those of the pools that are not in the roster
  std::uint64_t next_order_ = 0;
  std::map<OpId, std::pair<Digest, Operation>> sanitised_;
  std::map<Digest, OpId> sanitised_ids_;
  std::vector<Digest> restored_aside_;
  std::vector<PlaceChange> changes_;
  std::set<NodeId> losses_;    // with a bound key only: others could be any number
  bool unknown_lost_ = false;  // so every author that is bound from now on may have losses
  std::uint64_t lost_ = 0;
  std::size_t suspicious_ = 0;
};

}  // namespace holdfast::mesh

namespace holdfast {

template <>
inline constexpr std::string_view kEnumNames<mesh::Place>[] = {"log",    "aside",     "unknown",
                                                               "future", "sanitised", "gone"};

}  // namespace holdfast
