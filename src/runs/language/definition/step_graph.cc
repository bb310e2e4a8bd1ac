#include "runs/language/definition/step_graph.h"

#include <fmt/format.h>

#include <set>

namespace holdfast {

namespace {

class Resolver {
 public:
  Resolver(const SpecLocation& whole, const WorkflowSpec& spec) : whole_(whole), spec_(spec) {
    const std::size_t count = spec.steps.size();
    graph_.after.resize(count);
    graph_.dependents.resize(count);
    graph_.on_timeout.resize(count);
    graph_.is_target.resize(count);
  }

  StepGraph resolve() {
    add_names();
    for (StepIndex i = 0; i < spec_.steps.size(); ++i) {
      add_dependencies(i);
      add_timeout(i);
      check_deadline(i);
    }
    for (std::size_t i = 0; i < spec_.transitions.size(); ++i) {
      add_transition(i);
    }
    add_entry();
    return std::move(graph_);
  }

 private:
  void add_names() {
    for (StepIndex i = 0; i < spec_.steps.size(); ++i) {
      const std::string_view name = spec_.steps[i].name.view();
      if (name.empty()) {
        graph_.complete = false;
        continue;
      }
      names_.push_back(name);
      if (!graph_.by_name.emplace(name, i).second) {
        graph_.complete = false;
        step_location(whole_, spec_, i)
            .at("name")
            .fault(FaultCode::duplicate_step_name,
                   "is already used by an earlier step; choose another");
      }
    }
  }

  [[nodiscard]] std::optional<StepIndex> find(std::string_view name) const {
    const auto found = graph_.by_name.find(name);
    return found == graph_.by_name.end() ? std::nullopt : std::optional(found->second);
  }

  void unknown(const SpecLocation& location, FaultCode code, std::string_view name) {
    location.fault(code, fmt::format("names unknown step {}{}", quote(name),
                                     whole_.faults().hint(name, names_)));
    graph_.complete = false;
  }

  void add_dependencies(StepIndex index) {
    const StepSpec& step = spec_.steps[index];
    graph_.has_after = graph_.has_after || !step.after.empty();
    std::vector<StepIndex>& after = graph_.after[index];
    std::set<std::string_view> seen;
    for (std::size_t i = 0; i < step.after.size(); ++i) {
      const std::string_view name = step.after[i].view();
      const SpecLocation location = step_location(whole_, spec_, index).at("after").at(i);
      if (name.empty()) {
        continue;  // it was not a string
      }
      if (!seen.insert(name).second) {
        location.fault(FaultCode::invalid_step_dependencies,
                       fmt::format("names {} twice", quote(name)));
        continue;
      }
      const auto found = find(name);
      if (!found.has_value()) {
        unknown(location, FaultCode::unknown_step_dependency, name);
      } else if (*found == index) {
        location.fault(FaultCode::self_step_dependency, "names the step itself; remove it");
      } else {
        after.push_back(*found);
        graph_.dependents[*found].push_back(index);
      }
    }
  }

  // `location` names it. Empty when there is no such target.
  std::optional<Target> target(const SpecLocation& location, std::string_view name) {
    if (name == kCompleteStep) {
      return Target{Target::Kind::complete};
    }
    if (name == kFailStep) {
      return Target{Target::Kind::fail};
    }
    const auto found = find(name);
    if (!found.has_value()) {
      location.fault(
          FaultCode::unknown_transition_target,
          fmt::format("names unknown step {}{}", quote(name), whole_.faults().hint(name, names_)));
      graph_.complete = false;
      return std::nullopt;
    }
    graph_.is_target[*found] = true;
    graph_.has_routes = true;
    return Target{Target::Kind::step, *found};
  }

  void add_timeout(StepIndex index) {
    const auto& await_event = spec_.steps[index].await_event;
    if (await_event.has_value() && !await_event->on_timeout.empty()) {
      graph_.on_timeout[index] =
          target(step_location(whole_, spec_, index).at("await_event").at("on_timeout"),
                 await_event->on_timeout.view());
    }
  }

  void add_transition(std::size_t index) {
    graph_.has_routes = true;
    const TransitionSpec& transition = spec_.transitions[index];
    if (transition.from.empty() || transition.to.empty()) {
      graph_.complete = false;
      return;
    }
    const SpecLocation location = transition_location(whole_, spec_, index);
    const auto from = find(transition.from.view());
    if (!from.has_value()) {
      unknown(location.at("from"), FaultCode::unknown_transition_source, transition.from.view());
    }
    const auto to = target(location.at("to"), transition.to.view());
    if (from.has_value() && to.has_value()) {
      graph_.routes.push_back({index, *from, transition.on, *to});
    }
  }

  // Targets other than steps are not handled here.
  void check_deadline(StepIndex index) {
    const auto& deadline = spec_.steps[index].deadline;
    if (deadline.has_value() && deadline->escalation == Escalation::workflow_step &&
        !deadline->target.empty() && !find(deadline->target.view()).has_value()) {
      unknown(step_location(whole_, spec_, index).at("deadline").at("target"),
              FaultCode::unknown_step_reference, deadline->target.view());
    }
  }

  void add_entry() {
    if (spec_.entry.empty()) {
      return;
    }
    graph_.entry = find(spec_.entry.view());
    if (!graph_.entry.has_value()) {
      unknown(whole_.at("entry"), FaultCode::unknown_entry_step, spec_.entry.view());
    }
  }

  const SpecLocation& whole_;
  const WorkflowSpec& spec_;
  std::vector<std::string_view> names_;
  StepGraph graph_;
};

}  // namespace

StepGraph resolve_graph(const SpecLocation& whole, const WorkflowSpec& spec) {
  return Resolver(whole, spec).resolve();
}

SpecLocation step_location(const SpecLocation& whole, const WorkflowSpec& spec, StepIndex step) {
  const std::string_view name = spec.steps[step].name.view();
  return whole.at("steps").at(step).called(name.empty() ? fmt::format("steps[{}]", step)
                                                        : "step " + quote(name));
}

SpecLocation transition_location(const SpecLocation& whole, const WorkflowSpec& spec,
                                 std::size_t transition) {
  const TransitionSpec& at = spec.transitions[transition];
  return whole.at("transitions")
      .at(transition)
      .called(
          fmt::format("the transition from {} to {}", quote(at.from.view()), quote(at.to.view())));
}

}  // namespace holdfast
