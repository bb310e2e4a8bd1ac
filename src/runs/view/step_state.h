// StepState: how far each step of a run is.
#pragma once

#include <vector>

#include "runs/view/view_attempts.h"

namespace holdfast {

// See StepView in holdfast/run.h.
HOLDFAST_ENUM(StepStatus, waiting, planned, ready, scheduled, running, paused, parked, completed,
              failed, skipped, withdrawn, abandoned);

// Views are good as long as the source.
struct StepState {
  SharedText step = {};
  StepStatus status = StepStatus::waiting;
  std::uint32_t attempts = 0;
  Payload result = {};  // of a completed step
  Payload error = {};   // of the newest failed attempt
};

// In the order of the definition, then what only the graph of the run has.
std::vector<StepState> step_states(const RunSource& source);
std::vector<StepState> step_states(const RunSource& source,
                                   const std::vector<KnownAttempt>& attempts);

// The step whose failure ended the run, if the error names it.
std::string failed_step(const RunProjection& run);
// The status of a step that was never planned.
StepStatus status_of_unplanned(const RunProjection& run);

}  // namespace holdfast
