// RunGraph: the steps of a run and what joins them, with how far each is. From the definition and
// what happened; without a definition only what happened.
#pragma once

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/json_value.h"
#include "runs/view/run_source.h"

namespace holdfast {

// What a node is: a step of some kind, or a compensation.
HOLDFAST_ENUM(NodeKind, handler, log, wait, pause, approval, await_event, http, exec, child,
              compensation);
constexpr NodeKind node_kind(StepKind kind) { return static_cast<NodeKind>(kind); }
static_assert(std::equal(std::begin(kEnumNames<StepKind>), std::end(kEnumNames<StepKind>),
                         std::begin(kEnumNames<NodeKind>)));

// How far the items of a step are that is carried out for each item of a list.
struct ItemCounts {
  std::uint64_t total = 0;
  std::uint64_t done = 0;    // with a result
  std::uint64_t failed = 0;  // their newest attempt
  std::uint64_t running = 0;
};

// The mutation that added a node or an edge while the run was running.
struct AddedBy {
  std::string mutation_id;
  std::uint64_t version = 0;  // of the graph since then
  std::string step;           // whose result made it; empty: a command did
  std::string actor;          // of the command, or where it came from
};

// A step with all its visits and items; what it shows is the newest visit. Compensations are nodes
// of their own: compensate:charge.
struct GraphNode {
  std::string id;                               // the name of the step
  std::optional<NodeKind> kind = std::nullopt;  // empty: not known
  std::string action;  // the handler; of a child step the workflow; empty: the engine does it
  // waiting, pending (planned, ready), deferred (scheduled for later), running, retrying (a later
  // attempt is due), paused, parked, completed, failed, skipped, withdrawn, abandoned
  std::string status;
  bool current = false;        // the run is at it
  std::uint32_t attempts = 0;  // of items: the most that one needed
  std::uint32_t visits = 0;    // how often it was begun
  std::optional<ItemCounts> items = std::nullopt;
  std::string deadline = {};  // on_time, due_soon, overdue, escalated; empty: none
  std::optional<AddedBy> added_by = std::nullopt;  // empty: the definition has it
  // Only with history:
  Payload input = {};
  Payload output = {};
  Payload error = {};
};

struct GraphEdge {
  // from:on:to, from:on:to:condition:<i> (the i-th of that step and outcome, from 0), or
  // from:dependency:to; complete and fail are targets too
  std::string id;
  std::string from;
  std::string to;
  std::optional<RouteOn> on = std::nullopt;  // of a transition; empty: a dependency
  // selected (it was followed), skipped (another was, or the run ended), pending (not decided
  // yet), blocked (the step it leads from has not begun). A dependency is followed once the step
  // it leads from is done.
  std::string status;
  Payload condition = {};  // as it is recorded; empty: none
  std::optional<RecoveryLabel> recovery = std::nullopt;
  std::optional<AddedBy> added_by = std::nullopt;  // empty: the definition has it
};

struct ChildLink {
  std::string run_id;
  std::string workflow;
  std::string step;
  bool awaited = false;
};

struct RunGraph {
  std::string run_id;
  std::string workflow;
  std::string version;
  std::uint64_t graph_version = 0;  // how often mutations have changed it
  std::string source;               // definition, or facts when the definition is not known
  std::string status;
  bool terminal = false;
  std::vector<std::string> current;  // ids of the nodes the run is at
  std::vector<GraphNode> nodes;
  std::vector<GraphEdge> edges;
  std::vector<ChildLink> children;
  std::string continued_as = {};
};

AddedBy added_by(const DynamicGraphMutated& mutation);
// Of each id, the mutation that added it.
std::map<std::string, AddedBy> additions_of(const RunProjection& run);
RunGraph run_graph(const RunSource& source);
// Of a workflow that nothing has run: all nodes wait.
RunGraph definition_graph(const Definition& definition);

// with_history: input, output and error of each node, without secrets.
JsonText to_json(const RunGraph& graph, bool with_history);
// For other programs to draw.
std::string to_dot(const RunGraph& graph);
std::string to_mermaid(const RunGraph& graph);

}  // namespace holdfast
