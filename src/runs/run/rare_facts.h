// The facts of a run thread that most runs never have: event waits, changes of the graph,
// continuation, migration, search attributes, archiving. See workflow/facts.h.
#pragma once

#include "runs/run/run_event_facts.h"
#include "runs/run/run_facts.h"

namespace holdfast {

struct DynamicWorkRecorded {
  static constexpr std::string_view kKind = "dynamic_work_recorded";
  RunId run_id;
  SharedText dynamic_key;
  Origin origin;
  std::vector<Payload> nodes;
  std::vector<Payload> edges;
  Payload metadata;
  SharedText reason;
  SharedText status;
  std::optional<TimeMs> recorded_at;
  Payload trace;

  template <typename Self, typename Visitor>
  static void visit(Self& self, Visitor& v) {
    v.required("run_id", self.run_id);
    v.required("dynamic_key", self.dynamic_key);
    v.required("origin", self.origin);
    v.required("nodes", self.nodes);
    v.optional("edges", self.edges);
    v.optional("metadata", self.metadata);
    v.optional("reason", self.reason);
    v.optional("status", self.status);
    v.optional("recorded_at", self.recorded_at);
    v.optional("trace", self.trace);
  }
  friend bool operator==(const DynamicWorkRecorded&, const DynamicWorkRecorded&) = default;
};

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

struct RunContinuationRequested {
  static constexpr std::string_view kKind = "run_continuation_requested";
  RunId run_id;
  RunId successor_run_id;
  SharedText continuation_key;
  SharedText workflow;
  SharedText trigger;
  Payload input;
  SharedText definition;
  SharedText definition_fingerprint;
  SharedText definition_version;

  template <typename Self, typename Visitor>
  static void visit(Self& self, Visitor& v) {
    v.required("run_id", self.run_id);
    v.required("successor_run_id", self.successor_run_id);
    v.required("continuation_key", self.continuation_key);
    v.required("workflow", self.workflow);
    v.required("trigger", self.trigger);
    v.required("input", self.input);
    v.required("definition", self.definition);
    v.required("definition_fingerprint", self.definition_fingerprint);
    v.optional("definition_version", self.definition_version);
  }
  friend bool operator==(const RunContinuationRequested&,
                         const RunContinuationRequested&) = default;
};

struct RunContinuedFrom {
  static constexpr std::string_view kKind = "run_continued_from";
  RunId run_id;
  RunId predecessor_run_id;
  SharedText continuation_key;

  template <typename Self, typename Visitor>
  static void visit(Self& self, Visitor& v) {
    v.required("run_id", self.run_id);
    v.required("predecessor_run_id", self.predecessor_run_id);
    v.required("continuation_key", self.continuation_key);
  }
  friend bool operator==(const RunContinuedFrom&, const RunContinuedFrom&) = default;
};

struct SearchAttributesUpdated {
  static constexpr std::string_view kKind = "search_attributes_updated";
  RunId run_id;
  Payload changes;
  SharedText fingerprint;
  SharedText idempotency_key;

  template <typename Self, typename Visitor>
  static void visit(Self& self, Visitor& v) {
    v.required("run_id", self.run_id);
    v.required("changes", self.changes);
    v.required("fingerprint", self.fingerprint);
    v.required("idempotency_key", self.idempotency_key);
  }
  friend bool operator==(const SearchAttributesUpdated&, const SearchAttributesUpdated&) = default;
};

struct RunDefinitionMigrated {
  static constexpr std::string_view kKind = "run_definition_migrated";
  RunId run_id;
  SharedText migration_key;
  SharedText source_version;
  SharedText source_fingerprint;
  SharedText target_version;
  SharedText target_fingerprint;
  Payload context;
  Payload manual_state;
  SharedText source_manual_step;
  SharedText target_manual_step;

  template <typename Self, typename Visitor>
  static void visit(Self& self, Visitor& v) {
    v.required("run_id", self.run_id);
    v.required("migration_key", self.migration_key);
    v.required("source_version", self.source_version);
    v.required("source_fingerprint", self.source_fingerprint);
    v.required("target_version", self.target_version);
    v.required("target_fingerprint", self.target_fingerprint);
    v.required("context", self.context);
    v.required("manual_state", self.manual_state);
    v.optional("source_manual_step", self.source_manual_step);
    v.optional("target_manual_step", self.target_manual_step);
  }
  friend bool operator==(const RunDefinitionMigrated&, const RunDefinitionMigrated&) = default;
};

// The run does not want these any more: what nobody has claimed is not claimed, and what is
// reported does not count.
struct RunnablesWithdrawn {
  static constexpr std::string_view kKind = "runnables_withdrawn";
  RunId run_id;
  std::vector<SharedText> runnable_keys;
  SharedText reason;

  template <typename Self, typename Visitor>
  static void visit(Self& self, Visitor& v) {
    v.required("run_id", self.run_id);
    v.required("runnable_keys", self.runnable_keys);
    v.optional("reason", self.reason);
  }
  friend bool operator==(const RunnablesWithdrawn&, const RunnablesWithdrawn&) = default;
};

// The run goes back: what is done and can be compensated is compensated, newest first. Then the
// run ends as `outcome` says.
struct CompensationStarted {
  static constexpr std::string_view kKind = "compensation_started";
  RunId run_id;
  TerminalStatus outcome = TerminalStatus::failed;
  Payload error;

  template <typename Self, typename Visitor>
  static void visit(Self& self, Visitor& v) {
    v.required("run_id", self.run_id);
    v.required("outcome", self.outcome);
    v.optional("error", self.error);
  }
  friend bool operator==(const CompensationStarted&, const CompensationStarted&) = default;
};

// A replay from the middle: what it takes over from the run it repeats.
struct StepsAdopted {
  static constexpr std::string_view kKind = "steps_adopted";
  RunId run_id;
  RunId source_run_id;
  SharedText from_step;
  SharedText path;               // the step that began the path from_step is on; empty: from_step
  std::vector<SharedText> done;  // steps that count as done
  Payload context;               // what they gave

  template <typename Self, typename Visitor>
  static void visit(Self& self, Visitor& v) {
    v.required("run_id", self.run_id);
    v.required("source_run_id", self.source_run_id);
    v.required("from_step", self.from_step);
    v.optional("path", self.path);
    v.optional("done", self.done);
    v.required("context", self.context);
  }
  friend bool operator==(const StepsAdopted&, const StepsAdopted&) = default;
};

struct RunArchived {
  static constexpr std::string_view kKind = "run_archived";
  RunId run_id;
  SharedText reason;

  template <typename Self, typename Visitor>
  static void visit(Self& self, Visitor& v) {
    v.required("run_id", self.run_id);
    v.required("reason", self.reason);
  }
  friend bool operator==(const RunArchived&, const RunArchived&) = default;
};

struct RunUnarchived {
  static constexpr std::string_view kKind = "run_unarchived";
  RunId run_id;

  template <typename Self, typename Visitor>
  static void visit(Self& self, Visitor& v) {
    v.required("run_id", self.run_id);
  }
  friend bool operator==(const RunUnarchived&, const RunUnarchived&) = default;
};

}  // namespace holdfast
