#include "runs/view/run_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>

#include "runs/facts/activation.h"
#include "runs/facts/execution_opts.h"
#include "runs/language/data/path.h"
#include "runs/run/error_origin.h"
#include "runs/run/redact.h"
#include "runs/view/deadline.h"
#include "runs/view/step_state.h"
#include "runs/view/view_words.h"

namespace holdfast {

namespace {

constexpr std::string_view kTransition = "transition";
constexpr std::string_view kDependency = "dependency";

std::string action_of(const Step& step) {
  return step.kind == StepKind::child ? step.spec.child->workflow.str() : step.handler.str();
}

GraphNode node_of(const Step& step) {
  GraphNode node;
  node.id = step.name.str();
  node.kind = node_kind(step.kind);
  node.action = action_of(step);
  node.status = "waiting";
  return node;
}

GraphEdge edge_of(std::string_view from, std::optional<RouteOn> on, std::string_view to) {
  GraphEdge edge;
  edge.id = fmt::format("{}:{}:{}", from, on.has_value() ? to_text(*on) : kDependency, to);
  edge.from = from;
  edge.to = to;
  edge.on = on;
  edge.status = "blocked";
  return edge;
}

GraphEdge dependency_of(std::string_view from, std::string_view to) {
  return edge_of(from, std::nullopt, to);
}

void add_transitions(std::vector<GraphEdge>& edges, const Step& step, RouteOn on,
                     const std::vector<Transition>& transitions) {
  for (std::size_t i = 0; i < transitions.size(); ++i) {
    const Transition& transition = transitions[i];
    GraphEdge& edge = edges.emplace_back(edge_of(step.name.view(), on, transition.to_name.view()));
    if (!transition.when_json.empty()) {
      edge.id += fmt::format(":condition:{}", i);
      edge.condition = transition.when_json;
    }
    if (transition.recovery != RecoveryLabel::none) {
      edge.recovery = transition.recovery;
    }
  }
}

// Step by step: what leads to it, then what leads on. All are blocked.
std::vector<GraphEdge> edges_of(const Definition& definition) {
  std::vector<GraphEdge> edges;
  for (const Step& step : definition.steps()) {
    for (const StepIndex before : step.after) {
      edges.push_back(dependency_of(definition.steps()[before].name.view(), step.name.view()));
    }
    add_transitions(edges, step, RouteOn::ok, step.on_ok);
    add_transitions(edges, step, RouteOn::error, step.on_error);
    if (step.on_timeout.has_value()) {
      edges.push_back(
          edge_of(step.name.view(), RouteOn::timeout, step.spec.await_event->on_timeout.view()));
    }
  }
  return edges;
}

NodeKind node_kind(BoundaryKind kind) {
  switch (kind) {
    case BoundaryKind::pause:
      return NodeKind::pause;
    case BoundaryKind::approval:
      return NodeKind::approval;
    case BoundaryKind::parked:
      return NodeKind::handler;
    case BoundaryKind::event_wait:
      break;
  }
  return NodeKind::await_event;
}

// The node a runnable belongs to.
std::string node_name(std::string_view activation) {
  const Activation parts = parse_activation(activation);
  return parts.compensation ? fmt::format("{}{}", kCompensatePrefix, parts.step)
                            : std::string(parts.step);
}

bool is_put_off(const PlannedRunnable& planned) {
  return execution_opts(planned.execution_opts).defer.has_value();
}

// The error that took an error route; empty when the result says nothing of one.
Payload routed_error(const PlannedRunnable& planned) {
  const auto error =
      planned.result.is_object() ? ObjectView(planned.result.view()).member("error") : std::nullopt;
  return error.has_value() ? Payload::trusted(*error) : Payload();
}

// What nodes and edges are made from.
class GraphMaker {
 public:
  explicit GraphMaker(const RunSource& source)
      : source_(source),
        run_(*source.run),
        definition_(source.run->definition().get()),
        over_(run_.is_terminal() || run_.is_compensating()),
        states_(step_states(source)) {
    for (const StepState& state : states_) {
      by_activation_.emplace(state.step.view(), &state);
      by_node_[node_name(state.step.view())].push_back(&state);
    }
  }

  RunGraph make() && {
    RunGraph graph;
    graph.run_id = to_string(run_.run_id());
    if (run_.started().has_value()) {
      graph.workflow = run_.started()->workflow.str();
    }
    graph.version = run_.pinned_definition().version.str();
    graph.graph_version = run_.graph().version;
    added_ = additions_of(run_);
    graph.source = definition_ == nullptr ? "facts" : "definition";
    graph.status = to_text(run_.status());
    graph.terminal = run_.is_terminal();
    if (run_.continuation().has_value()) {
      graph.continued_as = to_string(run_.continuation()->successor_run_id);
    }
    for (const auto& [id, child] : run_.children()) {
      graph.children.push_back(
          {to_string(id), child.child_workflow.str(), child.origin.step.str(), child.awaited});
    }
    add_nodes(graph);
    for (const GraphNode& node : graph.nodes) {
      if (node.current) {
        graph.current.push_back(node.id);
      }
    }
    add_edges(graph);
    return graph;
  }

 private:
  void add_nodes(RunGraph& graph) {
    std::set<std::string> known;
    if (definition_ != nullptr) {
      for (const Step& step : definition_->steps()) {
        known.insert(step.name.str());
        graph.nodes.push_back(in_run(node_of(step)));
      }
    }
    for (const auto& [id, added] : run_.graph().active) {
      if (added.kind == GraphItem::node && known.insert(id).second) {
        GraphNode node;
        node.id = id;
        node.kind = NodeKind::handler;
        node.action = added.handler.str();
        node.added_by = added_by_of(id);
        graph.nodes.push_back(in_run(std::move(node)));
      }
    }
    for (const StepState& state : states_) {
      std::string name = node_name(state.step.view());
      if (known.insert(name).second) {
        graph.nodes.push_back(in_run(node_of_facts(name, *run_.latest(state.step.view()))));
      }
    }
  }

  [[nodiscard]] std::optional<AddedBy> added_by_of(const std::string& id) const {
    const auto found = added_.find(id);
    return found == added_.end() ? std::nullopt : std::optional(found->second);
  }

  // What the plan of a step that no definition names says of it.
  GraphNode node_of_facts(const std::string& name, const PlannedRunnable& planned) const {
    GraphNode node;
    node.id = name;
    node.kind = is_compensation(name) ? NodeKind::compensation : kind_of_facts(planned.plan);
    if (node.kind == NodeKind::child) {
      for (const auto& [id, child] : run_.children()) {
        node.action = child.origin.runnable_key == planned.plan.runnable_key
                          ? child.child_workflow.str()
                          : node.action;
      }
    } else if (!planned.plan.is_internal() && planned.plan.handler.view() != kTimerHandler) {
      node.action = planned.plan.handler.empty() ? name : planned.plan.handler.str();
    }
    return node;
  }

  std::optional<NodeKind> kind_of_facts(const Runnable& plan) const {
    const std::string_view handler = plan.handler.view();
    if (handler == kHttpHandler) {
      return NodeKind::http;
    }
    if (handler == kExecHandler) {
      return NodeKind::exec;
    }
    if (handler == kTimerHandler) {
      return NodeKind::wait;
    }
    if (!plan.is_internal()) {
      return NodeKind::handler;
    }
    if (run_.waits().contains(plan.runnable_key.str())) {
      return NodeKind::await_event;
    }
    if (const auto boundary = run_.boundaries().find(plan.step);
        boundary != run_.boundaries().end()) {
      return node_kind(boundary->second.kind);
    }
    const auto started = [&](const auto& child) {
      return child.second.origin.runnable_key == plan.runnable_key;
    };
    return std::any_of(run_.children().begin(), run_.children().end(), started)
               ? std::optional(NodeKind::child)
               : std::nullopt;
  }

  [[nodiscard]] const StepState* find(std::string_view activation) const {
    const auto found = by_activation_.find(activation);
    return found == by_activation_.end() ? nullptr : found->second;
  }

  // The newest visit of a step; of compensations the newest of all.
  [[nodiscard]] const PlannedRunnable* newest(const std::string& node) const {
    if (!is_compensation(node)) {
      const std::uint32_t visits = run_.visits(node);
      return run_.latest(visit_name(node, std::max(visits, 1U)).view());
    }
    const PlannedRunnable* newest = nullptr;
    for (const StepState* state : by_node_.find(node)->second) {
      const PlannedRunnable* latest = run_.latest(state->step.view());
      newest = newest == nullptr || latest->order > newest->order ? latest : newest;
    }
    return newest;
  }

  GraphNode in_run(GraphNode node) const {
    const auto activations = by_node_.find(node.id);
    const PlannedRunnable* planned = activations == by_node_.end() ? nullptr : newest(node.id);
    if (planned == nullptr) {
      node.status =
          to_text(is_adopted(node.id) ? StepStatus::completed : status_of_unplanned(run_));
      return node;
    }
    const StepState& state = *find(planned->plan.step.view());
    node.visits = is_compensation(node.id) ? static_cast<std::uint32_t>(activations->second.size())
                                           : run_.visits(node.id);
    node.status = status_of(state, *planned);
    node.attempts = state.attempts;
    if (node.kind == NodeKind::child) {
      node.attempts = std::max(node.attempts, planned->plan.attempt_number);
    }
    node.input = planned->plan.input;
    node.output = state.result;
    node.error = state.error.empty() && state.status == StepStatus::failed ? routed_error(*planned)
                                                                           : state.error;
    if (const auto deadline = deadline_of(planned->plan)) {
      const TimeMs open_at = run_.is_terminal() ? run_.terminal_at() : source_.now;
      node.deadline = to_text(deadline->status(planned->applied ? planned->applied_at : open_at));
    }
    if (const EachProgress* each = run_.each(planned->plan.step.view())) {
      count_items(node, planned->plan.step.view(), *each);
    }
    node.current =
        !run_.is_terminal() && std::any_of(activations->second.begin(), activations->second.end(),
                                           [&](const StepState* one) {
                                             return one->status == StepStatus::parked ||
                                                    !run_.latest(one->step.view())->applied;
                                           });
    return node;
  }

  std::string_view status_of(const StepState& state, const PlannedRunnable& planned) const {
    const bool failed_before = !state.error.empty();
    if (state.status == StepStatus::planned) {
      return "pending";
    }
    if (state.status == StepStatus::ready) {
      return failed_before ? "retrying" : "pending";
    }
    if (state.status == StepStatus::scheduled) {
      return failed_before ? "retrying" : "deferred";
    }
    // What the engine is to begin later no queue knows.
    if (state.status == StepStatus::running && planned.plan.is_internal() &&
        planned.plan.visible_at > source_.now) {
      return planned.plan.attempt_number > 1 ? "retrying" : "deferred";
    }
    // The failure that makes the run compensate.
    const auto& compensation = run_.compensation();
    const bool is_cause =
        failed_before && compensation.has_value() && compensation->error == state.error;
    return to_text(state.status == StepStatus::withdrawn && is_cause ? StepStatus::failed
                                                                     : state.status);
  }

  void count_items(GraphNode& node, std::string_view visit, const EachProgress& each) const {
    ItemCounts counts;
    counts.total = each.items.size();
    for (std::uint64_t item = 0; item < each.next; ++item) {
      const StepState* state = find(item_name(visit, item).view());
      if (state == nullptr) {
        continue;
      }
      counts.done += state->status == StepStatus::completed ? 1U : 0U;
      counts.failed += state->status == StepStatus::failed ? 1U : 0U;
      counts.running += state->status == StepStatus::running ? 1U : 0U;
      node.attempts = std::max(node.attempts, state->attempts);
    }
    node.items = counts;
    // The error of an item ends the run in the name of the whole.
    if (run_.status() == RunStatus::failed && node.status == "abandoned" && counts.failed > 0 &&
        error_origin(run_.terminal()->error).of_item) {
      node.status = "failed";
      node.error = run_.terminal()->error;
    }
  }

  [[nodiscard]] bool is_adopted(std::string_view step) const {
    const auto& adopted = run_.adopted_steps();
    return adopted.has_value() && std::find(adopted->done.begin(), adopted->done.end(),
                                            SharedText(step)) != adopted->done.end();
  }

  void add_edges(RunGraph& graph) const {
    if (definition_ != nullptr) {
      graph.edges = edges_of(*definition_);
    }
    std::set<std::string> selected = taken(graph.edges);
    for (const auto& [id, added] : run_.graph().active) {
      if (added.kind == GraphItem::edge) {
        graph.edges.push_back(dependency_of(added.from.view(), added.to.view()));
        graph.edges.back().added_by = added_by_of(id);
      }
    }
    for (GraphEdge& edge : graph.edges) {
      edge.status = !edge.on.has_value()         ? dependency_status(edge)
                    : selected.contains(edge.id) ? "selected"
                                                 : transition_status(edge);
    }
    for (const GraphNode& node : graph.nodes) {
      if (is_compensation(node.id)) {
        GraphEdge& edge =
            graph.edges.emplace_back(dependency_of(parse_activation(node.id).step, node.id));
        edge.recovery = RecoveryLabel::compensation;
        edge.status = "selected";
      }
    }
  }

  // The ids of the transitions that some visit took. Without a definition they become the edges.
  std::set<std::string> taken(std::vector<GraphEdge>& edges) const {
    std::set<std::string> ids;
    for (const PlannedRunnable* planned : run_.runnables()) {
      const std::string_view name = planned->plan.step.view();
      const TransitionTaken transition = transition_of(planned->transition);
      if (transition.to.empty() || is_item(name) || is_compensation(name)) {
        continue;
      }
      const std::string from(parse_activation(name).step);
      const auto known = std::find_if(edges.begin(), edges.end(), [&](const GraphEdge& edge) {
        return edge.from == from && edge.on == transition.on && edge.to == transition.to.view() &&
               edge.condition == transition.when;
      });
      if (known != edges.end()) {
        ids.insert(known->id);
      } else if (definition_ == nullptr && leads_somewhere(transition)) {
        GraphEdge& edge = edges.emplace_back(edge_of(from, transition.on, transition.to.view()));
        edge.condition = transition.when;
        edge.id += edge.condition.empty() ? "" : fmt::format(":condition:{}", edges.size() - 1);
        edge.recovery = transition.recovery;
        ids.insert(edge.id);
      }
    }
    return ids;
  }
  // The target of a failure that starts the compensation is "compensation", which is not a step.
  [[nodiscard]] bool leads_somewhere(const TransitionTaken& transition) const {
    const std::string_view to = transition.to.view();
    return to == kCompleteStep || to == kFailStep || run_.latest(to) != nullptr;
  }

  [[nodiscard]] std::string_view transition_status(const GraphEdge& edge) const {
    const PlannedRunnable* from = run_.visits(edge.from) == 0 ? nullptr : newest(edge.from);
    if (over_ || is_adopted(edge.from) ||
        (from != nullptr && from->applied && !is_put_off(*from) && !from->is_undecided())) {
      return "skipped";
    }
    return from == nullptr ? "blocked" : "pending";
  }

  [[nodiscard]] std::string_view dependency_status(const GraphEdge& edge) const {
    const bool begun = run_.visits(edge.from) > 0;
    if (run_.visits(edge.to) > 0 || (is_done(edge.from) && !over_)) {
      return "selected";
    }
    if (over_) {
      return "skipped";
    }
    return begun ? "pending" : "blocked";
  }
  [[nodiscard]] bool is_done(const std::string& step) const {
    if (const auto index = definition_ == nullptr ? std::nullopt : definition_->find(step);
        index.has_value() && definition_->steps()[*index].begins_path) {
      return run_.progress().done[*index];
    }
    const PlannedRunnable* latest = run_.latest(step);
    return latest != nullptr && latest->applied && !is_put_off(*latest);
  }

  const RunSource& source_;
  const RunProjection& run_;
  const Definition* definition_;
  bool over_;  // no transition is followed any more
  std::vector<StepState> states_;
  std::map<std::string_view, const StepState*> by_activation_;
  std::map<std::string, std::vector<const StepState*>, std::less<>> by_node_;
  std::map<std::string, AddedBy> added_;
};

template <typename E>
void word_member(JsonWriter& json, std::string_view name, const std::optional<E>& word) {
  if (word.has_value()) {
    json.member(name, to_text(*word));
  }
}

void redacted_member(JsonWriter& json, std::string_view name, const Payload& payload) {
  if (!payload.empty()) {
    json.member(name, JsonText::trusted(std::string(redact(payload).view())));
  }
}

void write(JsonWriter& json, const std::optional<AddedBy>& added_by) {
  if (added_by.has_value()) {
    json.object("added_by", [&] {
      json.member("mutation_id", added_by->mutation_id).member("version", added_by->version);
      json.optional("step", added_by->step).optional("actor", added_by->actor);
    });
  }
}

void write(JsonWriter& json, const GraphNode& node, bool with_history) {
  json.member("id", node.id);
  word_member(json, "kind", node.kind);
  json.optional("action", handler_text(node.action));
  json.member("status", node.status).member("current", node.current);
  json.member("attempts", node.attempts).member("visits", node.visits);
  if (node.items.has_value()) {
    json.object("items", [&] {
      json.member("total", node.items->total).member("done", node.items->done);
      json.member("failed", node.items->failed).member("running", node.items->running);
    });
  }
  json.optional("deadline", node.deadline);
  write(json, node.added_by);
  if (with_history) {
    redacted_member(json, "input", node.input);
    redacted_member(json, "output", node.output);
    redacted_member(json, "error", node.error);
  }
}

void write(JsonWriter& json, const GraphEdge& edge) {
  json.member("id", edge.id).member("from", edge.from).member("to", edge.to);
  json.member("type", edge.on.has_value() ? kTransition : kDependency);
  word_member(json, "on", edge.on);
  json.member("status", edge.status);
  redacted_member(json, "condition", edge.condition);
  word_member(json, "recovery", edge.recovery);
  write(json, edge.added_by);
}

}  // namespace

AddedBy added_by(const DynamicGraphMutated& mutation) {
  AddedBy by;
  by.mutation_id = mutation.mutation_id.str();
  by.version = mutation.result_version;
  by.step = mutation.origin.step.str();
  by.actor =
      mutation.origin.actor.empty() ? mutation.origin.source.str() : mutation.origin.actor.str();
  return by;
}

std::map<std::string, AddedBy> additions_of(const RunProjection& run) {
  std::map<std::string, AddedBy> added;
  for (const auto& [mutation_id, mutation] : run.graph_mutations()) {
    for (const GraphAddition& addition : mutation.additions) {
      added.emplace(addition.id.str(), added_by(mutation));
    }
  }
  return added;
}

RunGraph run_graph(const RunSource& source) { return GraphMaker(source).make(); }

RunGraph definition_graph(const Definition& definition) {
  RunGraph graph;
  graph.workflow = definition.workflow().str();
  graph.version = definition.version().str();
  graph.source = "definition";
  for (const Step& step : definition.steps()) {
    graph.nodes.push_back(node_of(step));
  }
  graph.edges = edges_of(definition);
  return graph;
}

JsonText to_json(const RunGraph& graph, bool with_history) {
  JsonWriter json;
  json.begin_object();
  json.optional("run_id", graph.run_id).optional("workflow", graph.workflow);
  json.optional("version", graph.version);
  if (graph.graph_version > 0) {
    json.member("graph_version", graph.graph_version);
  }
  json.member("source", graph.source);
  json.optional("status", graph.status).member("terminal", graph.terminal);
  json.strings("current", graph.current);
  json.objects("nodes", graph.nodes,
               [&](const GraphNode& node) { write(json, node, with_history); });
  json.objects("edges", graph.edges, [&](const GraphEdge& edge) { write(json, edge); });
  json.objects("children", graph.children, [&](const ChildLink& child) {
    json.member("run_id", child.run_id).member("workflow", child.workflow);
    json.member("step", child.step).member("awaited", child.awaited);
  });
  json.optional("continued_as", graph.continued_as);
  return std::move(json.end_object()).take_text();
}

}  // namespace holdfast
