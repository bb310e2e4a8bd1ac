// Log: a totally ordered sequence of batches, appended by compare-and-append and verified on
// every read. It works the same over every Store.
//
// - append is durable when it returns success. conflict means that another writer was first and
//   nothing was written: refresh(), read what was missed, decide again.
// - Fail-stop: after an I/O error in append or update the log answers log_stopped to both until
//   it is opened again and read, because the outcome of the failed write is open.
// - A batch is served only if its body hash and its link in the chain are right; damage is
//   corrupt_log, with the position and a reason, and nothing after it is served as good.
//
// append: one thread at a time. Everything else: any thread at any time.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "log/store.h"

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

class LogReader;

class Log {
 public:
  static Result<std::unique_ptr<Log>> open(std::unique_ptr<Store> store);

  [[nodiscard]] const Uuid& id() const { return log_id_; }
  [[nodiscard]] std::string name() const { return store_->name(); }
  // As of the last open, refresh or append of this handle.
  [[nodiscard]] LogHead head() const;
  // What the store holds now; moves head() forward. corrupt_log if history went backwards.
  Result<StoreState> refresh();

  // Appends one batch after expected_head. Returns its position.
  Result<LogHead> append(Position expected_head, std::string_view body);

  // Appends the bodies of batches that exist in another log, many per sync. On error any number
  // of the first of them may be there.
  Result<LogHead> append_copies(Position expected_head, std::span<const Batch> batches);

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

  Result<void> check_running() const;
  // Remembers the failure if it leaves the outcome open, and hands it on.
  Error stopped_by(Error error);

  std::unique_ptr<Store> store_;
  Uuid log_id_;
  mutable std::mutex mutex_;  // guards what follows
  LogHead head_;
  std::optional<std::string> stopped_;
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
