// From an output back to its cause: the snapshots that a claim, an episode or a suggested action
// links to, what the model saw, and the job and the node that made the call.
#pragma once

#include <optional>
#include <vector>

#include "mesh/audit/snapshot.h"
#include "mesh/roster/roster.h"

namespace holdfast::mesh {

struct TracedCall {
  OpId snapshot;  // the operation that recorded the call
  JobId job;
  std::optional<NodeId> claimer;  // the last node that claimed the job, if it is claimed or done
  bool evicted = false;           // the content is gone for good
  std::optional<InferenceSnapshot> content;  // absent when it is evicted or not inline
};

// In the order of the links. Empty when the operation is unknown, has no effect, or has no links.
std::vector<TracedCall> trace_output(const Roster& roster, const OpId& output);

}  // namespace holdfast::mesh
