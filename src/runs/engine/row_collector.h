// RowCollector: notices which runs and listings need a stored row (runs/engine/stored_row.h) after
// a commit, and makes it from what is in memory. Others store it, some time later.
//
// A run that has ended gets its row at once. The row of a live run would be out of date after its
// next step, so it is made on request: one row, however often the run has changed since the last
// request. Until then lists read the run itself.
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
  // Whether every change in memory is durable.
  enum class Disk : std::uint8_t { current, behind };

  // A group of so many bytes became durable; its runs are still in memory.
  void note(const LiveState& state, const GroupFacts& facts, std::size_t bytes,
            const Committed& committed);
  // A durable run leaves memory: its row is made now or never.
  void note_evicted(const RunProjection& run, Position position);

  // The rows of all runs that have changed are due.
  void request();
  // Makes the rows that are due. Those of runs that are ahead of the disk stay due.
  void make_due(const LiveState& state, Disk disk);
  [[nodiscard]] bool has_due() const { return !due_.empty(); }
  // Some run has changed since its row was made.
  [[nodiscard]] bool has_changed() const { return !changed_.empty() || !due_.empty(); }
  // What was made. Of two rows of the same run the later one is newer.
  std::vector<NamedCheckpoint> take();

 private:
  using RunIds = std::unordered_set<RunId, RunIdHash>;

  void note_runs(const LiveState& state, const GroupFacts& facts, std::size_t bytes);
  void note_listings(const GroupFacts& facts, std::size_t bytes, const Committed& committed);
  void make_row(const RunProjection& run, Position position);

  // Live runs with an entry in a large batch: every new entry makes their row out of date.
  RunIds large_;
  RunIds changed_;  // of those, since the last request
  RunIds due_;      // requested and not made yet; not in changed_
  std::vector<NamedCheckpoint> rows_;
};

}  // namespace holdfast
