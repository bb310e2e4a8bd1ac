// Turn: one pass of the loop, as the commands in it see it. What a command emits is applied to
// the state at once and joins the group that will be written as one batch.
#pragma once

#include <string>
#include <vector>

#include "base/clock.h"
#include "runs/engine/live_state.h"
#include "storage/journal/journal.h"

namespace holdfast {

// An attempt that can be claimed, for code that notifies workers.
struct Wakeup {
  RunId run_id;
  SharedText runnable_key;
  SharedText queue;
  SharedText handler;
  TimeMs visible_at;
};

// What a log step says.
struct LogLine {
  RunId run_id;
  SharedText workflow;
  SharedText step;
  Payload line;  // {"level","message"}
  TimeMs at;
};

// How many facts of a kind that people count are in a group.
struct FactCounts {
  std::uint64_t started = 0;  // runs
  std::uint64_t ended = 0;
  std::uint64_t scheduled = 0;  // attempts
  std::uint64_t claimed = 0;
  std::uint64_t heartbeats = 0;
  std::uint64_t completed = 0;
  std::uint64_t failed = 0;
  std::uint64_t retried = 0;  // of the failed ones
  std::uint64_t circuits_closed = 0;
};

// What is written as one batch.
struct GroupFacts {
  CommitBuffer commit;
  std::vector<RunId> ended;           // runs that leave memory once this is durable
  std::vector<Wakeup> wakeups;        // attempts that are new in this group
  std::vector<LogLine> lines;         // to be logged once this is durable
  std::vector<SharedText> withdrawn;  // attempts whose holders are to stop
  std::vector<RunId> compensating;    // runs whose handlers are to stop and report
  std::vector<RunId> runs;            // that have facts in it, perhaps several times
  // A run that is new, and the part of the commit that lists it under its workflow; the next part
  // lists it in the catalog.
  struct Listed {
    RunIndexed run;
    TimeMs at;
    std::size_t index_part = 0;
  };
  std::vector<Listed> listed;
  FactCounts counts;
};

class Turn {
 public:
  Turn(LiveState& state, Definitions& definitions, TimeMs now, GroupFacts& group)
      : state_(state), definitions_(definitions), now_(now), group_(group) {}

  [[nodiscard]] TimeMs now() const { return now_; }
  LiveState& state() { return state_; }
  Definitions& definitions() { return definitions_; }

  // A fact of a run that state().run or new_run has given out and that has taken it in already.
  Result<void> record(const RunFact& fact);
  // An error when the projection would not take the fact as it is; the command is then refused.
  Result<void> emit(const SharedText& queue, const DispatchFact& fact);
  Result<void> emit_listing(const RunIndexed& indexed, const RunCataloged& cataloged);
  Result<void> emit_definition(const Definition& definition);
  // From now on new runs of the workflow follow this definition.
  Result<void> emit_registration(const Definition& definition, const SharedText& actor = {});
  // Facts that say the same as the state are not written.
  Result<void> emit(const SchedulePaused& fact);
  Result<void> emit(const ScheduleResumed& fact);
  Result<void> emit(const TokenCreated& fact);
  Result<void> emit(const TokenRevoked& fact);

  // The holder of the attempt is notified that it must stop.
  void withdraw_claim(const SharedText& runnable_key) { group_.withdrawn.push_back(runnable_key); }

  // Takes back everything since the mark.
  struct Mark {
    UndoLog::Mark undo;
    CommitBuffer::Mark commit;
    std::size_t ended;
    std::size_t wakeups;
    std::size_t lines;
    std::size_t withdrawn;
    std::size_t compensating;
    std::size_t runs;
    std::size_t listed;
    FactCounts counts;
  };
  [[nodiscard]] Mark mark() const;
  void roll_back_to(const Mark& mark);

 private:
  class NoteRunFact;
  class NoteDispatchFact;

  template <typename Fact>
  Result<void> add(const ThreadId& thread, const Fact& fact);
  void note_wakeup(const SharedText& queue, const SharedText& runnable_key);

  LiveState& state_;
  Definitions& definitions_;
  TimeMs now_;
  GroupFacts& group_;
};

}  // namespace holdfast
