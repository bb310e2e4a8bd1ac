// LiveRuns: the runs that have not ended, how the others ended, and the projections of runs. The
// projections are a cache, filled from the journal when a run is needed.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/undo.h"
#include "runs/engine/definitions.h"
#include "runs/run/run_projection.h"
#include "storage/journal/journal.h"

namespace holdfast {

// How many runs have ended, by how they ended.
struct EndedCounts {
  std::uint64_t completed = 0;
  std::uint64_t failed = 0;
  std::uint64_t cancelled = 0;
  std::uint64_t continued = 0;

  [[nodiscard]] std::uint64_t total() const { return completed + failed + cancelled + continued; }
  std::uint64_t& of(TerminalStatus status);

  HOLDFAST_FIELDS(required(completed), required(failed), required(cancelled), required(continued));
};

class LiveRuns {
 public:
  // Steps that wait for an operator, and since when.
  using ManualWaits = std::map<std::pair<RunId, SharedText>, TimeMs>;

  // Dead letters, by queue, oldest first: steps that are parked, and attempts that failed their
  // run.
  struct LetterPlace {
    SharedText queue;
    TimeMs at;
    RunId run;
    SharedText step;

    friend bool operator<(const LetterPlace& left, const LetterPlace& right) {
      return std::tie(left.queue, left.at, left.run, left.step) <
             std::tie(right.queue, right.at, right.run, right.step);
    }
  };
  struct Letter {
    SharedText runnable_key;  // the attempt that failed
    bool exhausted = false;   // its run has ended; otherwise its step is parked
  };
  using Letters = std::map<LetterPlace, Letter>;
  using LettersByStep = std::map<std::pair<RunId, SharedText>, LetterPlace>;

  // The cache keeps about cached_bytes of projections that nothing happens to. The journal, the
  // definitions and the log must outlive this.
  LiveRuns(Journal& journal, Definitions& definitions, UndoLog& undo, std::size_t cached_bytes)
      : journal_(journal), definitions_(definitions), undo_(undo), cached_bytes_(cached_bytes) {}
  LiveRuns(const LiveRuns&) = delete;
  LiveRuns& operator=(const LiveRuns&) = delete;

  [[nodiscard]] bool is_live(const RunId& run) const { return live_.contains(run); }
  [[nodiscard]] std::size_t count() const { return live_.size(); }
  [[nodiscard]] std::vector<RunId> ids() const { return {live_.begin(), live_.end()}; }
  [[nodiscard]] const EndedCounts& ended_counts() const { return ended_counts_; }
  // May name steps that wait no longer: the run itself is authoritative.
  [[nodiscard]] const ManualWaits& manual_waits() const { return manual_waits_; }
  // Likewise.
  [[nodiscard]] const Letters& dead_letters() const { return letters_; }
  [[nodiscard]] const LettersByStep& dead_letters_by_step() const { return letters_by_step_; }
  [[nodiscard]] std::uint64_t parked_count() const { return letters_.size() - exhausted_count_; }
  [[nodiscard]] std::uint64_t exhausted_count() const { return exhausted_count_; }

  // The run's projection, with its definition if that can be found; run_not_found. The pointer is
  // valid until the end of the turn.
  Result<RunProjection*> get(const RunId& id);
  // For an id under which nothing is stored.
  RunProjection& create(const RunId& id);
  // A run that get() or create() has returned in this turn.
  RunProjection& held(const RunId& id);
  // A run that is in memory, perhaps ahead of the disk; nullptr if it is not.
  [[nodiscard]] const RunProjection* find(const RunId& id) const;
  // A run that is in memory as it is on disk; nullptr if it is not in memory or ahead of the disk.
  [[nodiscard]] const RunProjection* find_durable(const RunId& id) const;
  Result<bool> exists(const RunId& id);
  // Loads runs as they were at this position.
  void read_as_of(Position last) { as_of_ = last; }
  // Evicts projections that nothing happens to, each of which is durable and passed to `evicted`
  // before. Not while a turn holds pointers to them.
  using Evicted = std::function<void(const RunProjection&)>;
  void trim(const Evicted& evicted = nullptr);

  // The projection of a held run has taken in a fact of this process.
  void touch(const RunId& id);
  // The next entry of the run's thread, which is durable.
  void fold(const RunId& id, const EntryView& entry);
  void start(const RunId& run);
  // exhausted: the attempt that failed it, which becomes a dead letter.
  void end(const RunId& run, TerminalStatus status, TimeMs at,
           const std::optional<ExhaustedAttempt>& exhausted);
  void open_manual_wait(const RunId& run, const SharedText& step, TimeMs at);
  void close_manual_wait(const RunId& run, const SharedText& step);
  // Drops everything about a run whose end is durable; trim() drops what is not durable yet.
  void forget(const RunId& run);

  // From a checkpoint.
  void restore(const std::vector<RunId>& live, const EndedCounts& ended, ManualWaits manual_waits);
  void add_letter(const LetterPlace& place, const Letter& letter);
  void remove_letter(const RunId& run, const SharedText& step);
  // The one of a run that has ended, if it is that attempt.
  void remove_exhausted(const RunId& run, const SharedText& runnable_key);

 private:
  struct Cached {
    std::unique_ptr<RunProjection> projection;
    UndoLog::Mark touched = 0;  // stays until nothing before this mark can be undone
    std::size_t weight = 0;     // roughly its size in bytes
    bool used = false;          // since it was last considered for eviction
  };

  Result<std::unique_ptr<RunProjection>> load(const RunId& id);
  Result<void> attach_definition(RunProjection& projection);
  RunProjection& keep(const RunId& id, std::unique_ptr<RunProjection> projection);
  void weigh(Cached& cached);
  void uncache(const RunId& id);

  Journal& journal_;
  Definitions& definitions_;
  UndoLog& undo_;
  std::size_t cached_bytes_;
  std::unordered_set<RunId, RunIdHash> live_;
  EndedCounts ended_counts_;
  ManualWaits manual_waits_;
  Letters letters_;
  LettersByStep letters_by_step_;
  std::uint64_t exhausted_count_ = 0;
  std::optional<Position> as_of_;
  std::unordered_map<RunId, Cached, RunIdHash> cache_;
  std::deque<RunId> cache_order_;
  std::size_t cached_weight_ = 0;
};

}  // namespace holdfast
