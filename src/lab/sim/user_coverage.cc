// The parts of a workflow and its world file that simulations have reached.
#include <algorithm>

#include "lab/sim/user_scenario.h"

namespace holdfast::sim {

namespace {

std::string name_of(std::string_view kind, std::initializer_list<std::string_view> parts) {
  std::string name = "flow:" + std::string(kind);
  for (const std::string_view part : parts) {
    name += "|" + std::string(part);
  }
  return name;
}

class FlowCoverage {
 public:
  FlowCoverage(const UserSetting& setting, const Coverage& coverage)
      : setting_(setting), coverage_(coverage) {}

  std::vector<CoveredPart> all() && {
    for (const auto& definition : setting_.workflows) {
      workflow_ = definition->workflow().str();
      // Names of the main workflow have no prefix.
      prefix_ = definition == setting_.workflows.front() ? "" : workflow_ + ": ";
      for (const Step& step : definition->steps()) {
        add_step(step);
      }
      for (const Step& step : definition->steps()) {
        add_transitions(step, "ok", step.on_ok);
        add_transitions(step, "error", step.on_error);
      }
      for (const TerminalStatus end :
           {TerminalStatus::completed, TerminalStatus::failed, TerminalStatus::cancelled}) {
        if (end != TerminalStatus::cancelled || setting_.world.cancel.has_value()) {
          add("end", std::string(to_text(end)), end_key(workflow_, end));
        }
      }
    }
    for (const auto* stubs : {&setting_.world.handlers, &setting_.world.steps}) {
      for (const auto& [name, stub] : *stubs) {
        add_outcomes(stub);
      }
    }
    return std::move(parts_);
  }

 private:
  void add(const std::string& kind, const std::string& name, const std::string& key) {
    parts_.push_back(CoveredPart{kind, prefix_ + name, coverage_.of(key)});
  }

  void add_step(const Step& step) {
    const std::string name = step.name.str();
    add("step", name, step_key(workflow_, name));
    if (step.spec.compensate.has_value()) {
      add("step", "compensate:" + name, step_key(workflow_, "compensate:" + name));
    }
    if (step.kind == StepKind::approval) {
      add("decision", name + " approved", decision_key(workflow_, name, ManualAction::approved));
      add("decision", name + " rejected", decision_key(workflow_, name, ManualAction::rejected));
    }
    if (step.spec.await_event.has_value()) {
      for (const EventSpec& event : step.spec.await_event->any_of) {
        add("event", name + " receives " + event.event.str(),
            event_key(workflow_, name, event.event.view()));
      }
      if (step.spec.await_event->timeout_ms > 0) {
        add("timeout", name, timeout_key(workflow_, name));
      }
    }
  }

  void add_transitions(const Step& step, const std::string& on,
                       const std::vector<Transition>& transitions) {
    for (const Transition& transition : transitions) {
      const std::string when =
          transition.when_json.empty() ? "" : " when " + std::string(transition.when_json.view());
      add("transition",
          step.name.str() + " -> " + transition.to_name.str() + (on == "ok" ? "" : " on error") +
              when,
          transition_key(workflow_, step.name.view(), on, transition.to_name.view(),
                         transition.when_json.view()));
    }
  }

  void add_outcomes(const Stub& stub) {
    for (std::size_t i = 0; i < stub.outcomes.size(); ++i) {
      const StubOutcome& outcome = stub.outcomes[i];
      const std::string name = stub.name + "[" + std::to_string(i) + "]";
      const std::string what = outcome.kind == StubOutcome::Kind::error   ? "error " + outcome.code
                               : outcome.kind == StubOutcome::Kind::never ? "never"
                                                                          : "ok";
      parts_.push_back(CoveredPart{"outcome", name + " " + what, coverage_.of(outcome_key(name))});
    }
  }

  const UserSetting& setting_;
  const Coverage& coverage_;
  std::string workflow_;
  std::string prefix_;
  std::vector<CoveredPart> parts_;
};

}  // namespace

std::string step_key(std::string_view workflow, std::string_view step) {
  return name_of("step", {workflow, step});
}
std::string transition_key(std::string_view workflow, std::string_view from, std::string_view on,
                           std::string_view to, std::string_view when) {
  return name_of("transition", {workflow, from, on, to, when});
}
std::string decision_key(std::string_view workflow, std::string_view step, ManualAction action) {
  return name_of("decision", {workflow, step, to_text(action)});
}
std::string event_key(std::string_view workflow, std::string_view step, std::string_view event) {
  return name_of("event", {workflow, step, event});
}
std::string timeout_key(std::string_view workflow, std::string_view step) {
  return name_of("timeout", {workflow, step});
}
std::string end_key(std::string_view workflow, TerminalStatus end) {
  return name_of("end", {workflow, to_text(end)});
}
std::string outcome_key(std::string_view name) { return name_of("outcome", {name}); }

std::vector<CoveredPart> flow_coverage(const UserSetting& setting, const Coverage& coverage) {
  return FlowCoverage(setting, coverage).all();
}

}  // namespace holdfast::sim
