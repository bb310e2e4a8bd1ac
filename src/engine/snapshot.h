// The snapshot of a run: everything there is to know about it, for people and programs that look
// at it. A function of what the run thread and the queues say and of the time.
//
// Claims show who holds an attempt and until when, never what proves it. Of the correlations and
// keys of events only digests are shown.
#pragma once

#include <string_view>
#include <vector>

#include "dispatch/projection.h"
#include "workflow/run_projection.h"

namespace holdfast {

struct SnapshotSource {
  const RunProjection* run;
  // The queues that may know attempts of the run.
  std::vector<const DispatchProjection*> queues;
  Position position;  // up to where the log is in it
  TimeMs now;
};

// How far a step is. Views are good as long as the source.
struct StepState {
  SharedText step;
  std::string_view status;  // see StepView in holdfast/run.h
  std::uint32_t attempts = 0;
  Payload result;  // of a completed step
  Payload error;   // of the newest failed attempt
};
// In the order of the definition, then what only the graph of the run has.
std::vector<StepState> step_states(const SnapshotSource& source);

// The run this one is a child of; empty when it is none.
RunId parent_of(const RunProjection& run);

JsonText run_snapshot(const SnapshotSource& source);

}  // namespace holdfast
