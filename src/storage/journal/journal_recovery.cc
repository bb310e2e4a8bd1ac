// Recovery of a journal in place, after its store has failed: see journal.h.
#include "storage/journal/journal.h"
#include "storage/journal/journal_history.h"
#include "storage/journal/pending_commit.h"

namespace holdfast {

Result<JournalRecovery> Journal::recover() {
  Lock lock = lock_quiet();
  leading_ = true;
  lock.unlock();
  const auto found = log_->recover();
  lock.lock();
  Result<JournalRecovery> ended =
      found.ok() ? end_recovery(found.value()) : Result<JournalRecovery>(found.error());
  leading_ = false;
  overtaken_ = false;  // nothing has a number: a stopped journal takes no commits
  quiet_.notify_all();
  release(lock);
  return ended;
}

Result<bool> Journal::was_sealed(const LogHead& at) {
  History history(*log_, at.position);
  HOLDFAST_TRY(const auto batches, history.next());
  return !batches.empty() && batches.front().position == at.position &&
         batches.front().chain == at.chain;
}

// The store may fail again before the end is reached. Then what was found is kept: the log tells it
// once.
Result<JournalRecovery> Journal::end_recovery(const LogRecovery& newly_found) {
  LogRecovery& found = found_.has_value() ? *found_ : found_.emplace(newly_found);
  found.rewound = found.rewound || newly_found.rewound;
  if (found.append == LogRecovery::Append::sealed) {
    HOLDFAST_TRY(const bool there, was_sealed(found.at));
    found.append = there ? LogRecovery::Append::landed : LogRecovery::Append::lost;
  }
  const bool landed = found.append == LogRecovery::Append::landed && !open_.empty();
  // Somebody may have caught up since, and have folded it as a batch of others.
  if (landed && !found.rewound && directory_.at().next() == found.at.position) {
    add_to_directory(open_, found.at);
  }
  for (const std::deque<Ticket>* tickets : {&open_, &dropped_}) {
    for (const Ticket& ticket : *tickets) {
      for (const PendingCommit::Part& part : ticket->parts) {
        directory_.unstage(part.thread);
      }
    }
  }
  if (found.rewound) {
    HOLDFAST_CHECK(reload());
  }
  JournalRecovery recovery;
  recovery.rewound = found.rewound;
  if (!open_.empty()) {
    recovery.open.emplace(
        landed ? Result<Committed>(open_.front()->committed_at(found.at.position))
               : Error{ErrorCode::conflict, "another batch has the position of the open one"});
  }
  found_.reset();
  open_.clear();
  dropped_.clear();
  stopped_.reset();
  return recovery;
}

}  // namespace holdfast
