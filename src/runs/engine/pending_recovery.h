// PendingRecovery: work that other writers, or a crash between their commits, left undone. The
// engine completes it (engine_recover.cc) before it hands out attempts.
#pragma once

#include <map>
#include <string_view>

#include "base/undo.h"
#include "runs/run/run_facts.h"

namespace holdfast {

struct PendingRecovery {
  std::map<SharedText, RunId> unscheduled;        // planned, in no queue: by runnable key
  std::map<SharedText, SharedText> unapplied;     // completed, not applied to the run: key to queue
  std::map<SharedText, SharedText> unprogressed;  // failed, the run did not react: key to queue
  std::map<RunId, ChildRunStarted> children;      // linked, perhaps not started

  [[nodiscard]] bool empty() const {
    return unscheduled.empty() && unapplied.empty() && unprogressed.empty() && children.empty();
  }

  // The run has taken in how the attempt ended.
  void settle(UndoLog& undo, const SharedText& runnable_key);
  // The run expects nothing of the attempt any more.
  void withdraw(UndoLog& undo, const SharedText& runnable_key);
  // The run has planned the attempt that follows a failed one.
  void retry(UndoLog& undo, const RunId& run, const Runnable& planned);
  // Nothing of the run has to be scheduled any more.
  void end_run(UndoLog& undo, const RunId& run);
};

}  // namespace holdfast
