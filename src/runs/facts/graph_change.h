// GraphChange: nodes and edges that a step or a caller adds to the graph of a run, or removes from
// it. The same types are the operations of a request, of the result of a step, and of the fact.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/fields.h"
#include "base/shared_text.h"
#include "runs/language/definition/retry_policy.h"

namespace holdfast {

HOLDFAST_ENUM(GraphItem, node, edge);

// A node is a step: it has a handler and an input. An edge has its two ends.
struct GraphAddition {
  GraphItem kind = GraphItem::node;
  SharedText id;
  SharedText handler;
  Payload input;
  SharedText queue;
  SharedText from;
  SharedText to;
  std::optional<RetryPolicy> retry = std::nullopt;  // of a node; empty: one attempt

  HOLDFAST_FIELDS(required(kind), required(id), optional(handler), optional(input), optional(queue),
                  optional(from), optional(to), optional(retry));
  friend bool operator==(const GraphAddition&, const GraphAddition&) = default;
};

struct GraphRemoval {
  GraphItem kind = GraphItem::node;
  SharedText id;

  HOLDFAST_FIELDS(required(kind), required(id));
  friend bool operator==(const GraphRemoval&, const GraphRemoval&) = default;
};

struct GraphChange {
  SharedText mutation_id;  // of the result of a step, empty: one per visit and item
  std::optional<std::uint64_t> expected_version;  // empty: the version that the graph has
  std::vector<GraphAddition> additions;
  std::vector<GraphRemoval> removals;

  HOLDFAST_FIELDS(optional(mutation_id), optional(expected_version), optional(additions),
                  optional(removals));
  friend bool operator==(const GraphChange&, const GraphChange&) = default;
};

}  // namespace holdfast
