// RowCollector: notices which runs and listings need a stored row (runs/engine/stored_row.h) after
// a commit, and makes it from what is in memory. Others store it, some time later.
#pragma once

#include <cstddef>
#include <unordered_set>
#include <vector>

#include "runs/engine/turn.h"
#include "storage/journal/journal.h"

namespace holdfast {

// Reading an entry reads its whole batch. When that has no more bytes for each run in it, lists
// can afford to read it.
inline constexpr std::size_t kLargeRunBytes = 16U << 10U;

class RowCollector {
 public:
  // A group of so many bytes became durable; its runs are still in memory.
  void note(const LiveState& state, const GroupFacts& facts, std::size_t bytes,
            const Committed& committed);
  // Of two for the same run the later one is newer.
  std::vector<NamedCheckpoint> take();

 private:
  void note_runs(const LiveState& state, const GroupFacts& facts, std::size_t bytes,
                 Position position);
  void note_listings(const GroupFacts& facts, std::size_t bytes, const Committed& committed);

  // Live runs with something in a large batch: every new entry makes their row out of date.
  std::unordered_set<RunId, RunIdHash> large_;
  std::vector<NamedCheckpoint> rows_;
};

}  // namespace holdfast
