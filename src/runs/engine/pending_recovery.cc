#include "runs/engine/pending_recovery.h"

namespace holdfast {

namespace {

template <typename Map>
void erase_with_prefix(UndoLog& undo, Map& pending, std::string_view prefix) {
  for (auto entry = pending.lower_bound(SharedText(prefix));
       entry != pending.end() && entry->first.view().starts_with(prefix);) {
    const SharedText key = entry->first;
    ++entry;
    erase(&undo, pending, key);
  }
}

}  // namespace

void PendingRecovery::settle(UndoLog& undo, const SharedText& runnable_key) {
  erase(&undo, unapplied, runnable_key);
  erase(&undo, unprogressed, runnable_key);
}

void PendingRecovery::withdraw(UndoLog& undo, const SharedText& runnable_key) {
  erase(&undo, unscheduled, runnable_key);
  settle(undo, runnable_key);
}

void PendingRecovery::retry(UndoLog& undo, const RunId& run, const Runnable& planned) {
  if (planned.attempt_number < 2 || unprogressed.empty()) {
    return;
  }
  // Also if the failed attempt had been deferred: <key>:deferred, <key>:deferred:2, ...
  const SharedText failed = runnable_key(run, planned.step.view(), planned.attempt_number - 1);
  erase(&undo, unprogressed, failed);
  erase_with_prefix(undo, unprogressed, failed.str() + ":");
}

void PendingRecovery::end_run(UndoLog& undo, const RunId& run) {
  if (!unscheduled.empty()) {
    erase_with_prefix(undo, unscheduled, to_string(run) + ":");
  }
}

}  // namespace holdfast
