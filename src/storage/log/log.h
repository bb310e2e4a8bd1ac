// Log: a totally ordered sequence of batches, appended by compare-and-append and verified on
// every read. It works the same over every Store.
//
// - append is durable when it returns success. conflict means that another writer was first and
//   nothing was written: refresh(), read what was missed, decide again.
// - Fail-stop: after an I/O error in append or update the log answers log_stopped to both, because
//   the outcome of the failed write is open, until recover() has read it back, or the log is
//   opened again.
// - A batch is served only if its body hash and its link in the chain are right; damage is
//   corrupt_log, with the position and a reason, and nothing after it is served as good.
//
// append and recover: one thread at a time. Everything else: any thread at any time.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "holdfast/result.h"
#include "storage/log/store.h"

namespace holdfast {

struct Batch {
  Position position;
  std::string body;
  Digest chain;
};

struct LogHead {
  Position position;
  Digest chain;
};

// What recover() found.
struct LogRecovery {
  enum class Append : std::uint8_t {
    none,    // no append was open
    landed,  // the batch is there, and durable
    lost,    // another batch has its position, or what it was built upon is gone
    sealed,  // its position was trimmed since: sealed history has the answer
  };
  Append append = Append::none;
  LogHead at;  // of the open append: its position, and the chain value it has if it landed
  // Batches that this handle had read but never acknowledged are gone or replaced. State that was
  // folded from them must be rebuilt.
  bool rewound = false;
};

class LogReader;

class Log {
 public:
  static Result<std::unique_ptr<Log>> open(std::unique_ptr<Store> store);

  [[nodiscard]] const Uuid& id() const { return log_id_; }
  [[nodiscard]] std::string name() const { return store_->name(); }
  // As of the last open, refresh or append of this handle.
  [[nodiscard]] LogHead head() const;
  // The current state of the store; moves head() forward. corrupt_log if history went backwards.
  Result<StoreState> refresh();

  // Appends one batch after expected_head. Returns its position.
  Result<LogHead> append(Position expected_head, std::string_view body);

  // Appends the bodies of batches that exist in another log, many per sync. On error any number
  // of the first of them may be there.
  Result<LogHead> append_copies(Position expected_head, std::span<const Batch> batches);

  [[nodiscard]] bool can_recover() const { return store_->can_reconnect(); }
  // After a failure: reconnects and reads back the outcome of the open append; one that is not
  // stored is written again, at the same position. Then the log runs again.
  //   diverged     batches that this handle has acknowledged are not in the store any more
  //   log_stopped  the store cannot reconnect
  //   others       the store is still unavailable; call again later
  Result<LogRecovery> recover();

  // Batches from a position on. not_found when that was trimmed away.
  Result<LogReader> read(Position from);

  // Drops all batches below the position; the newest batch always stays.
  Result<void> trim(Position below);
  // Changes the side store; update.trim.anchor is filled in by the log.
  Result<void> update(SideUpdate update);
  Result<std::optional<std::string>> get(const std::string& key);
  Result<std::vector<std::optional<std::string>>> get(std::span<const std::string> keys);
  Result<std::vector<SidePair>> scan(const SideScan& scan);

  // The stored chain value of one batch; empty when it is not there.
  Result<std::optional<Digest>> chain_at(Position position);

  Result<void> wait_for_change(Position known_head, std::chrono::milliseconds timeout);
  void interrupt_waits() { store_->interrupt_waits(); }
  Result<void> reclaim();
  Result<std::uint64_t> size_bytes();

 private:
  friend class LogReader;
  Log(std::unique_ptr<Store> store, const StoreState& state);

  // An append whose outcome is open.
  struct OpenAppend {
    Position position;
    std::string body;
    Digest body_hash;
    Digest chain;
    Digest previous;  // the chain value of the batch before it
  };

  Result<void> check_running() const;
  // What the store has at a position; empty when it was trimmed or is not there yet.
  Result<std::optional<Digest>> chain_in(const StoreState& state, Position position);
  Result<void> check_acknowledged(const StoreState& state);
  Result<bool> is_rewound(const StoreState& state);
  // The outcome of the open append; empty: its position is free, and nothing else has changed.
  Result<std::optional<LogRecovery::Append>> find_open_append(const StoreState& state);
  void run_again(const StoreState& state, const LogRecovery& found);
  // Remembers the failure if it leaves the outcome open, and returns it.
  Error stopped_by(Error error);

  std::unique_ptr<Store> store_;
  Uuid log_id_;
  mutable std::mutex mutex_;  // guards what follows
  LogHead head_;
  std::optional<std::string> stopped_;
  std::optional<OpenAppend> open_;
  // The newest batch that a durable write of this handle has covered.
  std::optional<LogHead> acknowledged_;
};

// Serves verified batches in order, up to the head that was known when it was made or later.
// After an error it serves nothing more.
class LogReader {
 public:
  // Some batches; empty when the end is reached. Call again to see batches that came later.
  Result<std::vector<Batch>> next(ReadLimit limit = {});
  [[nodiscard]] Position next_position() const { return next_; }

 private:
  friend class Log;
  // What it is when the next batch is not as it should be: damage, or a trim that overtook us.
  Error explain(Error damage);

  LogReader(Log* log, Position next, const Digest& previous)
      : log_(log), next_(next), previous_(previous) {}

  Log* log_;
  Position next_;
  Digest previous_;
  bool failed_ = false;
};

}  // namespace holdfast
