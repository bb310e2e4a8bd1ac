// StoredRun: a run as read from the journal alone: runs that have left memory, and every run as it
// was at an earlier point. Its attempts are found in the batches between its start and its end.
// It uses no state of the loop, so any thread may read it.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "runs/dispatch/dispatch_projection.h"
#include "runs/engine/definitions.h"
#include "runs/view/run_source.h"
#include "runs/view/timeline.h"
#include "storage/journal/journal.h"
#include "storage/journal/journal_history.h"

namespace holdfast {

struct StoredRun {
  std::unique_ptr<RunProjection> run;
  std::map<SharedText, std::unique_ptr<DispatchProjection>> queues;

  // Takes in the next entry about the run: of its thread, or of a queue.
  void take(const EntryView& entry);
  // Good as long as this is.
  [[nodiscard]] RunSource source(Position position, TimeMs now) const;
};

// These look at nothing that came after `last`, and give run_not_found when there was no
// such run by then.

// With everything the queues said about it up to its end.
Result<StoredRun> read_stored_run(Journal& journal, const RunId& id, Position last);
// Runs that are read again while the journal grows.
class StoredRuns {
 public:
  // The journal must outlive this.
  explicit StoredRuns(Journal& journal) : journal_(journal), definitions_(journal) {}

  // As read_stored_run, but of a live run that was read before only what came since then is read.
  // Good until the next call about the same run.
  Result<const StoredRun*> read(const RunId& id, Position last);

 private:
  struct Known {
    StoredRun stored;
    Position last;
  };
  Result<const StoredRun*> read_anew(const RunId& id, Position last);
  Result<void> catch_up(const RunId& id, Known& known, Position last);

  Journal& journal_;
  Definitions definitions_;
  std::map<RunId, Known> known_;
};

// Every entry about the run up to its end, and those of its own thread after that, in the order
// of the log.
using TakeEntry = std::function<void(const EntryView& entry, Position position)>;
// Those of one batch.
Result<void> read_run_entries(const Batch& batch, const RunId& id, const TakeEntry& take);
Result<void> read_run_entries(Journal& journal, const RunId& id, Position last,
                              const TakeEntry& take);

// The definitions that the journal holds.
FindDefinition definitions_of(Journal& journal);

// RunFollower: one run as the journal grows, and the events of it as they come.
class RunFollower {
 public:
  // Everything about the run must have come after `from`. The journal must outlive this.
  RunFollower(Journal& journal, const RunId& run, Position from);

  // Takes in what is there now. True when something of it is about the run.
  Result<bool> catch_up();
  [[nodiscard]] Position position() const { return position_; }
  [[nodiscard]] const RunProjection& run() const { return *stored_.run; }
  [[nodiscard]] RunSource source(TimeMs now) const { return stored_.source(position_, now); }
  [[nodiscard]] std::vector<TimelineBar> bars(TimeMs now) const { return events_.bars(now); }
  std::vector<TimelineEvent> take_events() { return events_.take_events(); }

 private:
  Journal& journal_;
  History history_;
  Position position_;
  StoredRun stored_;
  TimelineBuilder events_;
};

}  // namespace holdfast
