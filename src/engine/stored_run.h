// StoredRun: a run as the journal alone tells it, for runs that have left memory. Its attempts
// are found in the batches between its start and its end. Touches nothing of the loop, so any
// thread may do it.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "dispatch/projection.h"
#include "journal/journal.h"
#include "workflow/run_projection.h"

namespace holdfast {

struct StoredRun {
  std::unique_ptr<RunProjection> run;
  std::map<SharedText, std::unique_ptr<DispatchProjection>> queues;
  Position position;  // of its newest entry
};

// The run thread only, with its definition if that is known: queues stay empty. run_not_found.
Result<StoredRun> read_run_thread(Journal& journal, const RunId& id);
// With everything the queues said about it up to its end.
Result<StoredRun> read_stored_run(Journal& journal, const RunId& id);

}  // namespace holdfast
