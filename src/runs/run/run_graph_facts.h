// The facts of a run thread that change its step graph. See run_facts.h.
#pragma once

#include "runs/run/run_facts.h"

namespace holdfast {

HOLDFAST_ENUM(GraphItem, node, edge);

// A node has a handler and an input, an edge its two ends.
struct GraphAddition {
  GraphItem kind = GraphItem::node;
  SharedText id;
  SharedText handler;
  Payload input;
  SharedText queue;
  SharedText from;
  SharedText to;

  HOLDFAST_FIELDS(required(kind), required(id), optional(handler), optional(input), optional(queue),
                  optional(from), optional(to));
  friend bool operator==(const GraphAddition&, const GraphAddition&) = default;
};

struct GraphRemoval {
  GraphItem kind = GraphItem::node;
  SharedText id;

  HOLDFAST_FIELDS(required(kind), required(id));
  friend bool operator==(const GraphRemoval&, const GraphRemoval&) = default;
};

struct DynamicGraphMutated {
  static constexpr std::string_view kKind = "dynamic_graph_mutated";
  RunId run_id;
  SharedText mutation_id;
  std::uint64_t expected_version = 0;
  std::uint64_t result_version = 0;
  Origin origin;
  std::vector<GraphAddition> additions;
  std::vector<GraphRemoval> removals;
  std::map<std::string, SharedText> runnable_intent_fingerprints;  // by node

  HOLDFAST_FIELDS(required(run_id), required(mutation_id), required(expected_version),
                  required(result_version), required(origin), optional(additions),
                  optional(removals), optional(runnable_intent_fingerprints));
  friend bool operator==(const DynamicGraphMutated&, const DynamicGraphMutated&) = default;
};

}  // namespace holdfast
