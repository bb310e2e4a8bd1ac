// The facts of a run thread that change its step graph. See run_facts.h.
#pragma once

#include "runs/facts/graph_change.h"
#include "runs/run/run_facts.h"

namespace holdfast {

// Who changed a graph: a step of the run, or the caller of a command.
struct GraphOrigin {
  SharedText runnable_key;  // of a step, with the next two
  SharedText step;
  std::uint32_t attempt = 0;
  SharedText source;  // of a command
  SharedText actor;

  [[nodiscard]] bool is_step() const { return !runnable_key.empty(); }

  HOLDFAST_FIELDS(optional(runnable_key), optional(step), optional(attempt), optional(source),
                  optional(actor));
  friend bool operator==(const GraphOrigin&, const GraphOrigin&) = default;
};

struct DynamicGraphMutated {
  static constexpr std::string_view kKind = "dynamic_graph_mutated";
  RunId run_id;
  SharedText mutation_id;
  std::uint64_t expected_version = 0;
  std::uint64_t result_version = 0;
  GraphOrigin origin;
  std::vector<GraphAddition> additions;
  std::vector<GraphRemoval> removals;
  std::map<std::string, SharedText> runnable_intent_fingerprints;  // by node

  HOLDFAST_FIELDS(required(run_id), required(mutation_id), required(expected_version),
                  required(result_version), required(origin), optional(additions),
                  optional(removals), optional(runnable_intent_fingerprints));
  friend bool operator==(const DynamicGraphMutated&, const DynamicGraphMutated&) = default;
};

}  // namespace holdfast
