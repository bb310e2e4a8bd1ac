// LiveState: what the loop knows. A fold of the whole log in commit order that keeps live work
// only: the attempts of every queue, which runs have not ended, and what recovery has to do.
// Projections of runs are a cache, filled from the journal when a run is asked for.
//
// It may run ahead of the disk: changes by emit can be taken back (undo()), changes by fold are
// durable already.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "access/tokens.h"
#include "base/undo.h"
#include "runs/dispatch/dispatch_projection.h"
#include "runs/engine/definitions.h"
#include "runs/run/run_projection.h"
#include "storage/journal/journal.h"

namespace holdfast {

// What other writers, or a crash between their commits, may have left undone.
struct PendingRecovery {
  std::map<SharedText, RunId> unscheduled;        // planned, not in a queue: by runnable key
  std::map<SharedText, SharedText> unapplied;     // completed, not in the run: key to queue
  std::map<SharedText, SharedText> unprogressed;  // failed, the run did not go on: key to queue
  std::map<RunId, ChildRunStarted> children;      // linked, perhaps not started

  [[nodiscard]] bool empty() const {
    return unscheduled.empty() && unapplied.empty() && unprogressed.empty() && children.empty();
  }
};

// What new runs of a workflow follow, and since when.
struct RegisteredWorkflow {
  SharedText fingerprint;
  TimeMs at;

  template <typename Self, typename Visitor>
  static void visit(Self& self, Visitor& v) {
    v.required("fingerprint", self.fingerprint);
    v.required("at", self.at);
  }
};

// Whether a cron trigger starts runs, as somebody has said it last.
struct ScheduleState {
  bool paused = false;
  TimeMs at;
  SharedText actor;

  template <typename Self, typename Visitor>
  static void visit(Self& self, Visitor& v) {
    v.optional("paused", self.paused);
    v.required("at", self.at);
    v.optional("actor", self.actor);
  }
};
// Its name among all triggers of all workflows.
SharedText schedule_name(std::string_view workflow, std::string_view trigger);

// How the runs have ended that did.
struct EndedCounts {
  std::uint64_t completed = 0;
  std::uint64_t failed = 0;
  std::uint64_t cancelled = 0;
  std::uint64_t continued = 0;

  [[nodiscard]] std::uint64_t total() const { return completed + failed + cancelled + continued; }
  std::uint64_t& of(TerminalStatus status);

  template <typename Self, typename Visitor>
  static void visit(Self& self, Visitor& v) {
    v.required("completed", self.completed);
    v.required("failed", self.failed);
    v.required("cancelled", self.cancelled);
    v.required("continued", self.continued);
  }
};

// The state as of a position of the whole log, which it names itself: not a thread of entries.
ThreadId live_checkpoint_name();
inline constexpr std::uint8_t kLiveCheckpointVersion = 4;

// How much memory live work may take, beside about 500 bytes for each run and attempt.
struct MemoryLimits {
  // Of projections of runs that are kept although nothing happens to them, about.
  std::size_t cached_bytes = 64U << 20U;
  // A payload of an attempt that is longer stays in the journal.
  std::size_t payload_bytes = 1024;
};

class LiveState {
 public:
  // The journal and the definitions must outlive this.
  LiveState(Journal& journal, Definitions& definitions, const MemoryLimits& limits);

  UndoLog& undo() { return undo_; }
  // The last batch that was folded in or written.
  [[nodiscard]] Position position() const { return position_; }
  void set_position(Position position) { position_ = position; }

  // Made when it is not there.
  DispatchProjection& queue(const SharedText& name);
  [[nodiscard]] const std::map<SharedText, std::unique_ptr<DispatchProjection>>& queues() const {
    return queues_;
  }
  // The names themselves; all there are when there is none.
  [[nodiscard]] const std::vector<SharedText>& queues_of(
      const std::vector<SharedText>& names) const {
    return names.empty() ? queue_names_ : names;
  }
  // The queue that knows the attempt; nullptr when none does.
  DispatchProjection* queue_of(std::string_view runnable_key);
  [[nodiscard]] bool is_live(const RunId& run) const { return live_.contains(run); }
  [[nodiscard]] std::size_t live_count() const { return live_.size(); }
  [[nodiscard]] std::vector<RunId> live_runs() const { return {live_.begin(), live_.end()}; }
  [[nodiscard]] const EndedCounts& ended_counts() const { return ended_counts_; }
  [[nodiscard]] bool knows_definition(const SharedText& fingerprint) const {
    return definitions_stored_.contains(fingerprint);
  }
  PendingRecovery& pending_recovery() { return pending_recovery_; }
  [[nodiscard]] bool nothing_to_recover() const { return pending_recovery_.empty(); }
  [[nodiscard]] std::size_t attempt_count() const;

  // The run's projection, with its definition if that can be found; run_not_found. The pointer
  // is good until the end of the turn.
  Result<RunProjection*> run(const RunId& id);
  // For an id under which nothing is stored.
  RunProjection& new_run(const RunId& id);
  // A run that run() or new_run() has given out in this turn.
  RunProjection& held(const RunId& id) { return *cache_.find(id)->second.projection; }
  // A run that is in memory as it is on disk; nullptr when it is not there or ahead of the disk.
  [[nodiscard]] const RunProjection* find_durable(const RunId& id) const;
  Result<bool> run_exists(const RunId& id);

  // Facts this process is about to write. The run's projection is in memory and has taken in its
  // fact already.
  void note(TimeMs at, const RunFact& fact);
  void evolve(const SharedText& name, TimeMs at, const DispatchFact& fact);
  void note_definition(const SharedText& fingerprint);
  // The definition that new runs of a workflow follow, as the journal says it; empty: none.
  [[nodiscard]] SharedText current_workflow(const SharedText& workflow) const;
  [[nodiscard]] const std::map<SharedText, RegisteredWorkflow>& current_workflows() const {
    return workflows_;
  }
  void set_current_workflow(const SharedText& workflow, const RegisteredWorkflow& registered);
  // Another number whenever the answers may be others.
  [[nodiscard]] std::uint64_t workflow_changes() const { return workflow_changes_; }
  [[nodiscard]] const std::map<SharedText, ScheduleState>& schedules() const { return schedules_; }
  void set_schedule(const SharedText& name, const ScheduleState& schedule);
  Tokens& tokens() { return tokens_; }
  // Steps that may wait for somebody, and since when. Whoever wants to know looks at the run.
  [[nodiscard]] const std::map<std::pair<RunId, SharedText>, TimeMs>& manual_waits() const {
    return manual_waits_;
  }
  // Drops everything about a run whose end is durable; trim() drops what is not durable yet.
  void forget(const RunId& run);

  // Begins with the newest checkpoint, if there is a good one. An error is one of the store.
  Result<void> restore();
  // Folds what came after position(), up to a position the journal knows. Returns the number of
  // entries.
  Result<std::size_t> read_up_to(Position last);
  // Batches that are durable. Damage is an error, broken rules are anomalies.
  // Returns the number of entries.
  Result<std::size_t> fold(const Batch& batch);
  // For those who look at the past: runs are loaded as they were at this position.
  void read_as_of(Position last) { horizon_ = last; }
  // Lets projections go that nothing happens to, and large payloads that are durable. Not while a
  // turn holds pointers to them.
  void trim();
  // The payloads of an outcome that are too large for memory.
  Result<void> read_outcome(const SharedText& queue, Outcome& outcome);

  // Everything but the cache as bytes; only when nothing can be undone.
  [[nodiscard]] std::string encode();
  // Takes the bytes if they are whole and belong to the journal as it is now; else begins with
  // nothing. An error is one of the store.
  Result<void> decode(std::string_view bytes);

 private:
  struct Cached {
    std::unique_ptr<RunProjection> projection;
    UndoLog::Mark touched = 0;  // it must stay until nothing before this can be undone
    std::size_t weight = 0;     // about how many bytes it takes
    bool used = false;          // since it was last looked at for eviction
  };

  // Payloads of attempts that leave memory once the fact that holds them is durable.
  struct LargePayload {
    enum class Part : std::uint8_t { input, outcome };
    SharedText queue;
    SharedText runnable_key;
    Part part = Part::input;
    Revision seq;
    UndoLog::Mark mark = 0;  // durable when nothing before it can be undone
  };
  void trim_cache();
  void drop_durable_payloads();
  void note_large(const SharedText& queue, Revision seq, const DispatchFact& fact);

  Result<std::unique_ptr<RunProjection>> load(const RunId& id);
  Result<void> attach_definition(RunProjection& projection);
  RunProjection& keep(const RunId& id, std::unique_ptr<RunProjection> projection);
  // Where an entry stands in the log.
  struct EntryLocation {
    Position position;
    std::uint32_t index = 0;
  };
  void weigh(Cached& cached);
  void uncache(const RunId& id);
  Result<void> fold_entry(const EntryView& entry, const EntryLocation& location);
  void fold_workflow_entry(const EntryView& entry);
  Result<void> fold_run_entry(const RunId& run, const EntryView& entry,
                              const EntryLocation& location);
  Result<void> fold_dispatch_entry(const SharedText& name, const EntryView& entry,
                                   const EntryLocation& location);
  Result<bool> had_ended(const RunId& run, const EntryLocation& location);
  enum class Origin : std::uint8_t { own, stored };
  void observe(TimeMs at, const RunFact& fact, Origin origin);
  void observe(const SharedText& queue, const DispatchFact& fact);
  void withdraw(TimeMs at, const RunId& run, const SharedText& key);
  // Those whose key begins so.
  template <typename Map>
  void erase_with_prefix(Map& pending, std::string_view prefix);
  void start(const RunId& run);
  void end(const RunId& run);

  Journal* journal_;
  Definitions* known_;
  MemoryLimits limits_;
  UndoLog undo_;
  Position position_;
  std::map<SharedText, std::unique_ptr<DispatchProjection>> queues_;
  std::vector<SharedText> queue_names_;  // as they came
  std::unordered_set<RunId, RunIdHash> live_;
  EndedCounts ended_counts_;
  std::optional<Position> horizon_;
  std::unordered_map<RunId, Cached, RunIdHash> cache_;
  std::deque<RunId> cache_order_;
  std::size_t cached_weight_ = 0;
  std::deque<LargePayload> large_;
  std::set<SharedText> definitions_stored_;
  std::map<SharedText, RegisteredWorkflow> workflows_;
  std::map<SharedText, ScheduleState> schedules_;
  std::uint64_t workflow_changes_ = 0;
  Tokens tokens_;
  std::map<std::pair<RunId, SharedText>, TimeMs> manual_waits_;
  PendingRecovery pending_recovery_;
  std::unordered_set<RunId, RunIdHash> ended_;  // in the batch that is being folded
};

}  // namespace holdfast
