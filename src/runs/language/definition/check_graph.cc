#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "runs/language/definition/step_graph.h"

namespace holdfast {

namespace {

constexpr std::size_t kMaxShownSteps = 8;

// Follows each step to its next one until there is none, and reports every cycle once, with its
// steps in order.
template <typename Next>
std::vector<std::vector<StepIndex>> find_cycles(std::size_t count, const Next& next) {
  std::vector<std::vector<StepIndex>> cycles;
  std::vector<std::size_t> walk_of(count, 0);  // the walk that visited it; 0: none yet
  for (StepIndex start = 0; start < count; ++start) {
    const std::size_t walk = std::size_t{start} + 1;
    std::vector<StepIndex> steps;
    std::optional<StepIndex> at = start;
    while (at.has_value() && walk_of[*at] == 0) {
      walk_of[*at] = walk;
      steps.push_back(*at);
      at = next(*at);
    }
    if (at.has_value() && walk_of[*at] == walk) {
      cycles.emplace_back(std::find(steps.begin(), steps.end(), *at), steps.end());
    }
  }
  return cycles;
}

// The steps that can never start: they wait for each other, or for such steps.
std::vector<bool> stuck_steps(const StepGraph& graph) {
  std::vector<std::size_t> unmet(graph.size(), 0);
  std::vector<StepIndex> ready;
  for (StepIndex i = 0; i < graph.size(); ++i) {
    unmet[i] = graph.after[i].size();
    if (unmet[i] == 0) {
      ready.push_back(i);
    }
  }
  std::vector<bool> stuck(graph.size(), true);
  while (!ready.empty()) {
    const StepIndex step = ready.back();
    ready.pop_back();
    stuck[step] = false;
    for (const StepIndex dependent : graph.dependents[step]) {
      if (--unmet[dependent] == 0) {
        ready.push_back(dependent);
      }
    }
  }
  return stuck;
}

class GraphCheck {
 public:
  GraphCheck(const SpecLocation& whole, const WorkflowSpec& spec, const StepGraph& graph)
      : whole_(whole), spec_(spec), graph_(graph) {}

  void check() {
    check_dependency_cycles();
    check_routes();
    if (!graph_.complete) {
      return;  // later checks would report consequences of a misspelt name
    }
    check_approvals();
    check_transition_cycles();
    check_meetings();
    check_entry();
  }

 private:
  [[nodiscard]] std::string_view name(StepIndex step) const {
    return spec_.steps[step].name.view();
  }
  [[nodiscard]] SpecLocation step(StepIndex index) const {
    return step_location(whole_, spec_, index);
  }
  [[nodiscard]] SpecLocation transition(const Route& route) const {
    return transition_location(whole_, spec_, route.location);
  }
  [[nodiscard]] std::string names(const std::vector<StepIndex>& steps) const {
    std::vector<std::string_view> all;
    std::transform(steps.begin(), steps.end(), std::back_inserter(all),
                   [&](StepIndex index) { return name(index); });
    return name_list(all);
  }

  // a -> b -> a
  [[nodiscard]] std::string describe(const std::vector<StepIndex>& cycle) const {
    std::string text(name(cycle.front()));
    for (std::size_t i = 1; i < std::min(cycle.size(), kMaxShownSteps); ++i) {
      text += fmt::format(" -> {}", name(cycle[i]));
    }
    if (cycle.size() > kMaxShownSteps) {
      text += fmt::format(" -> ({} more)", cycle.size() - kMaxShownSteps);
    }
    return fmt::format("{} -> {}", text, name(cycle.front()));
  }

  // A step that is stuck waits for a step that is stuck.
  void check_dependency_cycles() const {
    const std::vector<bool> stuck = stuck_steps(graph_);
    const auto next = [&](StepIndex at) {
      const auto& after = graph_.after[at];
      const auto found = std::find_if(after.begin(), after.end(),
                                      [&](StepIndex dependency) { return stuck[dependency]; });
      return found == after.end() ? std::nullopt : std::optional(*found);
    };
    for (std::vector<StepIndex>& cycle : find_cycles(graph_.size(), next)) {
      // Shown from what comes first to what comes after it.
      std::reverse(cycle.begin() + 1, cycle.end());
      step(cycle.front())
          .at("after")
          .fault(FaultCode::dependency_cycle, "closes a cycle: " + describe(cycle));
    }
  }

  // Transitions are tried in their order, so behind one that is always taken none is.
  void check_routes() const {
    struct Group {
      bool closed = false;
      std::set<std::string_view> conditions;
    };
    std::map<std::pair<StepIndex, StepOutcome>, Group> groups;
    for (const Route& route : graph_.routes) {
      const std::string_view when = spec_.transitions[route.location].when.view();
      Group& group = groups[{route.from, route.on}];
      if (group.closed) {
        transition(route).fault(
            FaultCode::duplicate_transition,
            when.empty()
                ? "is never taken: an earlier transition has no condition; give that one a when"
                : "is never taken; move it before the transition without a condition");
      } else if (!when.empty() && !group.conditions.insert(when).second) {
        transition(route).at("when").fault(FaultCode::duplicate_transition,
                                           "repeats the condition of an earlier transition");
      }
      group.closed = group.closed || when.empty();
      const StepKind kind = kind_of(spec_.steps[route.from]);
      if (!when.empty() && (kind == StepKind::pause || kind == StepKind::approval)) {
        transition(route).at("when").fault(
            FaultCode::manual_step_transition_condition,
            fmt::format("is not allowed after {} {} step, where a person decides; add a step with "
                        "the condition behind it",
                        kind == StepKind::approval ? "an" : "a", to_text(kind)));
      }
    }
  }

  void check_approvals() const {
    if (!graph_.has_routes || graph_.has_after) {
      return;
    }
    std::set<std::pair<StepIndex, StepOutcome>> routed;
    for (const Route& route : graph_.routes) {
      routed.emplace(route.from, route.on);
    }
    for (StepIndex i = 0; i < graph_.size(); ++i) {
      if (spec_.steps[i].approval.has_value() &&
          !(routed.contains({i, StepOutcome::ok}) && routed.contains({i, StepOutcome::error}))) {
        step(i).fault(
            FaultCode::missing_approval_transitions,
            "is an approval, so it needs a transition with on: ok and one with on: error");
      }
    }
  }

  // A loop needs an exit: a condition, a timeout or a rejection. A failure is not an exit.
  void check_transition_cycles() const {
    std::vector<std::vector<const Route*>> on_ok(graph_.size());
    for (const Route& route : graph_.routes) {
      if (route.on == StepOutcome::ok) {
        on_ok[route.from].push_back(&route);
      }
    }
    const auto next = [&](StepIndex at) -> std::optional<StepIndex> {
      const bool certain = on_ok[at].size() == 1 &&
                           spec_.transitions[on_ok[at].front()->location].when.empty() &&
                           on_ok[at].front()->to.kind == Target::Kind::step;
      const bool other_way =
          graph_.on_timeout[at].has_value() || spec_.steps[at].approval.has_value();
      return certain && !other_way ? std::optional(on_ok[at].front()->to.step) : std::nullopt;
    };
    for (const std::vector<StepIndex>& cycle : find_cycles(graph_.size(), next)) {
      transition(*on_ok[cycle.back()].front())
          .fault(FaultCode::transition_cycle,
                 fmt::format("closes a loop without an exit: {}; give one of its steps a second "
                             "transition with a when",
                             describe(cycle)));
    }
  }

  // Calls `each` with both ends and the location of everything that leads from step to step.
  template <typename Each>
  void for_targets(const Each& each) const {
    for (const Route& route : graph_.routes) {
      if (route.to.kind == Target::Kind::step) {
        each(route.from, route.to.step, transition(route).at("to"));
      }
    }
    for (StepIndex i = 0; i < graph_.size(); ++i) {
      if (graph_.on_timeout[i].has_value() && graph_.on_timeout[i]->kind == Target::Kind::step) {
        each(i, graph_.on_timeout[i]->step, step(i).at("await_event").at("on_timeout"));
      }
    }
  }

  // For each step, the first step of a path that leads to it; empty if there is none.
  [[nodiscard]] std::vector<std::optional<StepIndex>> path_beginnings() const {
    std::vector<std::vector<StepIndex>> next(graph_.size());
    for_targets(
        [&](StepIndex from, StepIndex to, const SpecLocation&) { next[from].push_back(to); });
    std::vector<std::optional<StepIndex>> beginning(graph_.size());
    for (StepIndex head = 0; head < graph_.size(); ++head) {
      std::vector<StepIndex> open;
      if (graph_.begins_path(head)) {
        beginning[head] = head;
        open.push_back(head);
      }
      while (!open.empty()) {
        const StepIndex at = open.back();
        open.pop_back();
        for (const StepIndex to : next[at]) {
          if (!beginning[to].has_value()) {
            beginning[to] = head;
            open.push_back(to);
          }
        }
      }
    }
    return beginning;
  }

  // A step starts either when other steps are done or when a transition leads to it, never both.
  // Those other steps stand for whole paths, which are named after their first step.
  void check_meetings() const {
    if (!graph_.has_after || !graph_.has_routes) {
      return;
    }
    for_targets([&](StepIndex, StepIndex to, const SpecLocation& location) {
      if (!spec_.steps[to].after.empty()) {
        location.fault(
            FaultCode::dependency_transitions,
            fmt::format("leads to {}, which has after; remove that after, or lead to another step",
                        quote(name(to))));
      }
    });
    const auto beginnings = path_beginnings();
    for (StepIndex i = 0; i < graph_.size(); ++i) {
      for (std::size_t k = 0; k < spec_.steps[i].after.size(); ++k) {
        const auto found = graph_.by_name.find(spec_.steps[i].after[k].view());
        if (found == graph_.by_name.end() || graph_.begins_path(found->second)) {
          continue;
        }
        const auto& head = beginnings[found->second];
        step(i).at("after").at(k).fault(
            FaultCode::dependency_transitions,
            fmt::format(
                "names {}, which a transition leads to; name {} instead, which is done when "
                "its whole path is",
                quote(name(found->second)),
                head.has_value() ? quote(name(*head)) : "the step that begins the path"));
      }
    }
  }

  void check_entry() const {
    if (graph_.entry.has_value() && !spec_.steps[*graph_.entry].after.empty()) {
      whole_.at("entry").fault(
          FaultCode::invalid_entry_step,
          fmt::format("names {}, which has after and so cannot be the first step",
                      quote(spec_.entry.view())));
      return;
    }
    std::vector<StepIndex> begin;
    for (StepIndex i = 0; i < graph_.size(); ++i) {
      if (!graph_.is_target[i] && spec_.steps[i].after.empty() && graph_.entry != i) {
        begin.push_back(i);
      }
    }
    if (graph_.has_routes && !graph_.has_after) {
      check_single_entry(begin);
    } else if (!graph_.has_routes && graph_.entry.has_value() && !begin.empty()) {
      whole_.at("entry").fault(
          FaultCode::invalid_entry_step,
          fmt::format("names one step, but nothing leads to {} either; connect the steps by "
                      "transitions or after",
                      names(begin)));
      return;
    }
    check_reach();
  }

  // `begin`: the steps besides the entry that nothing leads to.
  void check_single_entry(const std::vector<StepIndex>& begin) const {
    const std::size_t count = begin.size() + (graph_.entry.has_value() ? 1 : 0);
    if (count == 0 && graph_.size() > 0) {
      whole_.at("entry").fault(
          FaultCode::missing_entry_steps,
          "is missing: every step is the target of a transition, so name the first step");
    } else if (count > 1) {
      whole_.at("steps").fault(
          FaultCode::invalid_entry_steps,
          graph_.entry.has_value()
              ? fmt::format(
                    "has steps besides the entry that nothing leads to: {}; add transitions "
                    "to them",
                    names(begin))
              : fmt::format("has several steps that nothing leads to: {}; a workflow with "
                            "transitions begins with one step, so add transitions to the others",
                            names(begin)));
    }
  }

  void check_reach() const {
    const auto beginnings = path_beginnings();
    std::vector<StepIndex> lost;
    for (StepIndex i = 0; i < graph_.size(); ++i) {
      if (!beginnings[i].has_value()) {
        lost.push_back(i);
      }
    }
    if (!lost.empty() && lost.size() < graph_.size()) {
      whole_.at("steps").fault(
          FaultCode::invalid_entry_steps,
          fmt::format("has steps that lead only to each other: {}; add a transition to one of them",
                      names(lost)));
    }
  }

  const SpecLocation& whole_;
  const WorkflowSpec& spec_;
  const StepGraph& graph_;
};

}  // namespace

void check_graph(const SpecLocation& whole, const WorkflowSpec& spec, const StepGraph& graph) {
  GraphCheck(whole, spec, graph).check();
}

}  // namespace holdfast
