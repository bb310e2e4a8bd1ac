// The facts of a run thread that change its step graph. See run_facts.h.
#pragma once

#include "runs/run/run_facts.h"

namespace holdfast {

enum class GraphItem : std::uint8_t { node, edge };
template <>
inline constexpr std::string_view kEnumNames<GraphItem>[] = {"node", "edge"};

// A node has a handler and an input, an edge its two ends.
struct GraphAddition {
  GraphItem kind = GraphItem::node;
  SharedText id;
  SharedText handler;
  Payload input;
  SharedText queue;
  SharedText from;
  SharedText to;

  template <typename Self, typename Visitor>
  static void visit(Self& self, Visitor& v) {
    v.required("kind", self.kind);
    v.required("id", self.id);
    v.optional("handler", self.handler);
    v.optional("input", self.input);
    v.optional("queue", self.queue);
    v.optional("from", self.from);
    v.optional("to", self.to);
  }
  friend bool operator==(const GraphAddition&, const GraphAddition&) = default;
};

struct GraphRemoval {
  GraphItem kind = GraphItem::node;
  SharedText id;

  template <typename Self, typename Visitor>
  static void visit(Self& self, Visitor& v) {
    v.required("kind", self.kind);
    v.required("id", self.id);
  }
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

  template <typename Self, typename Visitor>
  static void visit(Self& self, Visitor& v) {
    v.required("run_id", self.run_id);
    v.required("mutation_id", self.mutation_id);
    v.required("expected_version", self.expected_version);
    v.required("result_version", self.result_version);
    v.required("origin", self.origin);
    v.optional("additions", self.additions);
    v.optional("removals", self.removals);
    v.optional("runnable_intent_fingerprints", self.runnable_intent_fingerprints);
  }
  friend bool operator==(const DynamicGraphMutated&, const DynamicGraphMutated&) = default;
};

}  // namespace holdfast
