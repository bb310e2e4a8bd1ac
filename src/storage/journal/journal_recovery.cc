// Recovery of a journal in place, after its store has failed: see journal.h.
#include "storage/journal/journal.h"
#include "storage/journal/journal_history.h"

namespace holdfast {

Result<JournalRecovery> Journal::recover() {
  const std::scoped_lock writing(write_mutex_);
  HOLDFAST_TRY(const LogRecovery found, log_->recover());
  const std::scoped_lock lock(mutex_);
  return end_recovery(found);
}

Result<bool> Journal::was_sealed(const LogHead& at) {
  History history(*log_, at.position);
  HOLDFAST_TRY(const auto batches, history.next());
  return !batches.empty() && batches.front().position == at.position &&
         batches.front().chain == at.chain;
}

// The store may fail again before the end is reached. The finding is then kept, because the log
// reports it once.
Result<JournalRecovery> Journal::end_recovery(const LogRecovery& newly_found) {
  LogRecovery& found = found_.has_value() ? *found_ : found_.emplace(newly_found);
  found.rewound = found.rewound || newly_found.rewound;
  if (found.append == LogRecovery::Append::sealed) {
    HOLDFAST_TRY(const bool stored, was_sealed(found.at));
    found.append = stored ? LogRecovery::Append::landed : LogRecovery::Append::lost;
  }
  const bool landed = found.append == LogRecovery::Append::landed && open_.has_value();
  if (found.rewound) {
    HOLDFAST_CHECK(reload());
  } else if (landed) {
    HOLDFAST_CHECK(add_to_directory(*open_, found.at));
  }
  JournalRecovery recovery;
  recovery.rewound = found.rewound;
  if (open_.has_value()) {
    recovery.open.emplace(
        landed ? Result<Committed>(committed_at(found.at.position, *open_))
               : Error{ErrorCode::conflict, "another batch has the position of the open one"});
  }
  found_.reset();
  open_.reset();
  stopped_.reset();
  return recovery;
}

}  // namespace holdfast
