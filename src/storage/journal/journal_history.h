// History: every batch of a log in commit order, sealed or not, each verified against the chain.
// Sealed batches are rebuilt from their segments, byte for byte.
#pragma once

#include <optional>
#include <vector>

#include "holdfast/result.h"
#include "storage/journal/journal_segment.h"
#include "storage/log/log.h"

namespace holdfast {

class History {
 public:
  // The log must outlive the history.
  explicit History(Log& log, Position from = Position{1}) : log_(&log), next_(from) {}

  // The next batches; empty at the end. Call again to see later batches. Damage is corrupt_log,
  // corrupt_segment or invalid_journal_entry; nothing is returned after it.
  Result<std::vector<Batch>> next();
  [[nodiscard]] Position next_position() const { return next_; }

 private:
  Result<std::vector<Batch>> next_unsealed();
  Result<std::vector<Batch>> next_sealed();

  Log* log_;
  Position next_;
  std::optional<LogReader> tail_;
};

// The record of the seal that covers a position. corrupt_segment when there is none.
Result<SealRecord> find_seal(Log& log, Position position);
// All entries of a seal, in undefined order.
Result<std::vector<Entry>> load_seal(Log& log, const SealRecord& record);

}  // namespace holdfast
