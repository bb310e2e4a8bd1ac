// RunSource: one run as it is at one moment, with everything a view of it needs.
#pragma once

#include <functional>
#include <vector>

#include "runs/dispatch/dispatch_projection.h"
#include "runs/run/run_projection.h"

namespace holdfast {

struct RunSource {
  const RunProjection* run = nullptr;
  // The queues that may know attempts of the run.
  std::vector<const DispatchProjection*> queues = {};
  Position position = {};  // up to where the log is in it
  TimeMs now = {};
  // Reads what a queue keeps only by name: payloads too large for memory. Not set: there are none.
  std::function<void(const SharedText& queue, Outcome& outcome)> read_outcome = nullptr;
};

// The run this one is a child of; empty when it is none.
RunId parent_of(const RunProjection& run);

}  // namespace holdfast
