// LiveState: what the loop knows. A fold of the whole log in commit order that keeps live work
// only. Its parts: the runs that have not ended, the queues, what recovery has to complete, and the
// registry of definitions, schedules and tokens.
//
// It may run ahead of the disk: facts that this process is about to write can be undone (undo());
// facts that are folded are durable.
#pragma once

#include <string>
#include <unordered_set>

#include "base/undo.h"
#include "runs/engine/live_queues.h"
#include "runs/engine/live_runs.h"
#include "runs/engine/pending_recovery.h"
#include "runs/engine/registry.h"
#include "storage/journal/journal.h"

namespace holdfast {

// The name of the checkpoint. It holds the state as of a position of the whole log, which it names
// itself; it is not a thread of entries.
ThreadId live_checkpoint_name();
inline constexpr std::uint8_t kLiveCheckpointVersion = 5;

// How much memory live work may take, beside about 500 bytes for each run and attempt.
struct MemoryLimits {
  // Roughly, of projections of runs that are kept although nothing happens to them.
  std::size_t cached_bytes = 64U << 20U;
  // A payload of an attempt that is longer stays in the journal.
  std::size_t payload_bytes = 1024;
};

class LiveState {
 public:
  // The journal and the definitions must outlive this.
  LiveState(Journal& journal, Definitions& definitions, const MemoryLimits& limits);

  UndoLog& undo() { return undo_; }
  LiveRuns& runs() { return runs_; }
  [[nodiscard]] const LiveRuns& runs() const { return runs_; }
  LiveQueues& queues() { return queues_; }
  [[nodiscard]] const LiveQueues& queues() const { return queues_; }
  PendingRecovery& pending_recovery() { return pending_recovery_; }
  Registry& registry() { return registry_; }
  [[nodiscard]] const Registry& registry() const { return registry_; }

  // The last batch that was folded in or written.
  [[nodiscard]] Position position() const { return position_; }
  // This process wrote the batch that follows position().
  void set_position(Position position);

  // A fact that this process is about to write, of a run that runs() has returned in this turn and
  // whose projection has taken it in.
  void note(TimeMs at, const RunFact& fact);
  // Drops everything about a run whose end is durable; trim() drops what is not durable yet.
  void forget(const RunId& run);
  // Evicts runs that nothing happens to, and large payloads that are durable. Not while a turn
  // holds pointers to them.
  void trim(const LiveRuns::Evicted& evicted = nullptr);

  // Begins with the newest checkpoint, if there is a usable one. Errors are those of the store.
  Result<void> restore();
  // Folds what follows position(), up to a position that the journal knows. Returns the number of
  // entries.
  Result<std::size_t> read_up_to(Position last);
  // Folds a durable batch. Damage is an error; broken rules are anomalies. Returns the number of
  // entries.
  Result<std::size_t> fold(const Batch& batch);

  // Everything but the cache, as bytes; only while nothing can be undone.
  [[nodiscard]] std::string encode();
  // Takes the bytes if they are intact and belong to the journal as it is now; otherwise the state
  // stays empty. Errors are those of the store.
  Result<void> decode(std::string_view bytes);

 private:
  enum class Origin : std::uint8_t { own, stored };
  class TakeRunFact;
  class TakeDispatchFact;
  // Where an entry is in the log.
  struct EntryLocation {
    Position position;
    std::uint32_t index = 0;
  };

  void observe(TimeMs at, const RunFact& fact, Origin origin);
  void end_run(TimeMs at, const RunTerminal& fact);
  Result<void> fold_entry(const EntryView& entry, const EntryLocation& location);
  Result<void> fold_run_entry(const RunId& run, const EntryView& entry,
                              const EntryLocation& location);
  Result<void> fold_dispatch_entry(const SharedText& name, const EntryView& entry,
                                   const EntryLocation& location);
  Result<bool> had_ended(const RunId& run, const EntryLocation& location);

  Journal& journal_;
  UndoLog undo_;
  Position position_;
  LiveRuns runs_;
  LiveQueues queues_;
  PendingRecovery pending_recovery_;
  Registry registry_;
  std::unordered_set<RunId, RunIdHash> ended_;  // in the batch that is being folded
};

}  // namespace holdfast
