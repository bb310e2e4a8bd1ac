// StepGraph: the steps of a workflow by their locations, and what leads from one to the other.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "runs/language/definition/definition.h"
#include "runs/language/definition/faults.h"

namespace holdfast {

// A transition whose ends exist.
struct Route {
  std::size_t location = 0;  // in WorkflowSpec::transitions
  StepIndex from = 0;
  StepOutcome on = StepOutcome::ok;
  Target to;
};

struct StepGraph {
  std::unordered_map<std::string_view, StepIndex> by_name;
  std::vector<std::vector<StepIndex>> after;  // each step once, in the order they are written
  std::vector<std::vector<StepIndex>> dependents;
  std::vector<Route> routes;
  std::vector<std::optional<Target>> on_timeout;
  std::optional<StepIndex> entry;
  std::vector<bool> is_target;  // of a transition or a timeout
  bool has_after = false;
  bool has_routes = false;  // that lead anywhere but to the end
  bool complete = true;     // every name that is used could be found

  [[nodiscard]] std::size_t size() const { return after.size(); }
  [[nodiscard]] bool begins_path(StepIndex step) const { return !is_target[step] || entry == step; }
};

// Names that lead nowhere are faults. The spec must outlive the graph.
StepGraph resolve_graph(const SpecLocation& whole, const WorkflowSpec& spec);
// The rules about how steps may be joined.
void check_graph(const SpecLocation& whole, const WorkflowSpec& spec, const StepGraph& graph);

// Where faults of a step or a transition stand.
SpecLocation step_location(const SpecLocation& whole, const WorkflowSpec& spec, StepIndex step);
SpecLocation transition_location(const SpecLocation& whole, const WorkflowSpec& spec,
                                 std::size_t transition);

}  // namespace holdfast
