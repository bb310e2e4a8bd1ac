// RunSource: one run as it is at one moment, with everything a view of it needs.
#pragma once

#include <functional>
#include <vector>

#include "runs/dispatch/dispatch_projection.h"
#include "runs/run/run_projection.h"

namespace holdfast {

// The open circuit breaker that an attempt waits for.
struct OpenCircuit {
  Circuit circuit;
  std::optional<TimeMs> until = std::nullopt;  // empty: the probe is due, and none is on its way
  RunId probe_run = {};                        // while an attempt of it probes
};
std::optional<OpenCircuit> open_circuit_of(const DispatchProjection& queue, const Attempt& attempt,
                                           TimeMs now);

struct RunSource {
  const RunProjection* run = nullptr;
  // The queues that may know attempts of the run.
  std::vector<const DispatchProjection*> queues = {};
  Position position = {};  // up to where the log is in it
  TimeMs now = {};
  // Reads what a queue keeps only by name: payloads too large for memory. Not set: there are none.
  std::function<void(const SharedText& queue, Outcome& outcome)> read_outcome = nullptr;
  // Set when the queues have only what is about the run, and therefore no circuit breakers.
  std::function<std::optional<OpenCircuit>(const SharedText& queue, const Attempt& attempt)>
      find_circuit = nullptr;
};

// The run this one is a child of; empty when it is none.
RunId parent_of(const RunProjection& run);

}  // namespace holdfast
