// RunFold: applies accepted facts to a RunProjection. Every change goes through the undo
// log of the projection, if it has one.
#pragma once

#include "runs/run/run_projection.h"

namespace holdfast {

// Distinguishes events that arrive under one idempotency key.
SharedText event_digest(const SharedText& event, const SharedText& correlation,
                        const Payload& payload);

class RunFold {
 public:
  static void apply(RunProjection& run, TimeMs at, const RunFact& fact);
  // As if a mutation had changed nothing.
  static void raise_graph_version(RunProjection& run);
  // Makes the progress from all facts the projection has.
  static void rebuild_progress(RunProjection& run);
  // What is counted about a runnable that was read back.
  static void restore_counts(RunProjection& run, const PlannedRunnable& planned);

 private:
  class Visitor;  // run_fold.cc
};

}  // namespace holdfast
