// Store: the conditional write a storage engine must offer to carry a log, and nothing more.
// Hashes, the chain and its verification live above it, in log/log.h.
//
// A store holds one log: rows with dense positions start..head, the values (start, anchor) of
// the last trim, and a small key-value side store.
//
// Contract, tested by tests/contract for every engine:
//  1. append(row) writes the row if and only if row.position is the position after the durable
//     head; otherwise it fails with conflict and writes nothing.
//  2. When append or update returns success, the data is on disk and survives any crash. It is
//     there whole or not at all. busy means that certainly nothing was written. Every other
//     error leaves the outcome open: the store must be reconnected, or opened again, and read.
//  3. read returns rows in order as they were written; it checks nothing.
//  4. update applies all its changes in one atomic step, or none.
//  5. Every member may be called by any thread at any time; reads continue during an append.
//     Several stores may be open on the same data, in one process or in many.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "base/uuid.h"
#include "holdfast/result.h"
#include "storage/entry/position.h"

namespace holdfast {

// The version of the stored format; docs/format.md describes it.
inline constexpr std::uint32_t kLogFormat = 1;

struct Row {
  Position position;
  std::string body;
  Digest body_hash;
  Digest chain;
};

struct RowView {
  Position position;
  std::string_view body;
  const Digest& body_hash;
  const Digest& chain;
};

struct StoreState {
  Uuid log_id;
  Position start;     // the oldest batch that is kept; head.next() when there is none
  Digest anchor;      // the chain value of the batch before start
  Position head;      // the newest batch; start - 1 when there is none
  Digest head_chain;  // the chain value that goes with head
};

// The initial state of a new log. Usually start 1 and the anchor of an empty log; a copy of a
// trimmed log starts where the original does.
struct StoreOrigin {
  Uuid log_id;
  Position start;
  Digest anchor;
};

struct ReadLimit {
  std::size_t max_rows = 4096;
  // Stop after the row that reaches this many bytes of body.
  std::size_t max_bytes = 4U << 20U;
};

struct SidePair {
  std::string key;
  std::string value;
};

struct Trim {
  Position expected_start;  // conflict when the store has another start
  Position start;
  Digest anchor;
};

struct SideUpdate {
  std::vector<SidePair> puts;
  std::vector<std::string> deletes;
  std::optional<Trim> trim;
};

struct SideScan {
  enum class Order : std::uint8_t { ascending, descending };
  std::string prefix;
  // Begin here (inclusive, in scan order) instead of at the end of the prefix range.
  std::optional<std::string> from = {};
  Order order = Order::ascending;
  std::size_t max_pairs = 1000;
  // Stop after the pair that reaches this many bytes of values.
  std::size_t max_bytes = 8U << 20U;
};

class Store {
 public:
  virtual ~Store() = default;

  // What is durable now. corrupt_log when the state itself is damaged.
  virtual Result<StoreState> state() = 0;
  virtual Result<void> append(const RowView& row) = 0;
  // Appends rows with consecutive positions, in as few commits as the engine likes. On error
  // any number of the first of them may be there. For copies.
  virtual Result<void> append_many(std::span<const RowView> rows);
  // Rows with position >= from, in order; empty at the end.
  virtual Result<std::vector<Row>> read(Position from, ReadLimit limit) = 0;
  // The stored chain value of one batch; empty when there is no such row.
  virtual Result<std::optional<Digest>> chain_at(Position position) = 0;

  virtual Result<void> update(const SideUpdate& update) = 0;
  // One value (or none) for each key, in the order of the keys.
  virtual Result<std::vector<std::optional<std::string>>> get(
      std::span<const std::string> keys) = 0;
  virtual Result<std::vector<SidePair>> scan(const SideScan& scan) = 0;

  // Returns when the head may have moved past known_head, or after the timeout. A hint: a
  // caller reads state() to know. Costs nothing while nothing happens.
  virtual Result<void> wait_for_change(Position known_head, std::chrono::milliseconds timeout) = 0;
  // From now on wait_for_change returns at once, in calls that already wait too.
  virtual void interrupt_waits() = 0;
  // Whether a failure can be recovered from in place: reconnect() and confirm() work.
  [[nodiscard]] virtual bool can_reconnect() const { return false; }
  // After a failure: makes new connections, so that reads and writes work again. Decides nothing
  // about the outcome of earlier writes. log_stopped when this engine must be opened again.
  virtual Result<void> reconnect();
  // Makes one small write of its own, durable as an append is, and returns the state as of that
  // write: everything in it is durable. A batch that is only visible may still be lost, when the
  // server was killed while it waited for its standby.
  virtual Result<StoreState> confirm() { return state(); }

  // Returns space that trims have freed to the system, if the engine can.
  virtual Result<void> reclaim() = 0;
  virtual Result<std::uint64_t> size_bytes() = 0;
  // "sqlite:a.db": for messages; holds no secret.
  [[nodiscard]] virtual std::string name() const = 0;
};

inline Result<void> Store::append_many(std::span<const RowView> rows) {
  for (const RowView& row : rows) {
    HOLDFAST_CHECK(append(row));
  }
  return {};
}

inline Result<void> Store::reconnect() {
  return Error{ErrorCode::log_stopped, name() + " must be opened again after a failure"};
}

enum class OpenMode : std::uint8_t {
  create,  // open for writing; make it if it does not exist
  write,   // open for writing; not_found if it does not exist
  read,    // nothing is changed; not_found if it does not exist
};

}  // namespace holdfast
