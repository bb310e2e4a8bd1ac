// The parts of a workflow and its world file that simulations have reached.
#include <algorithm>

#include "lab/sim/user_scenario.h"

namespace holdfast::sim {

namespace {

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
          add("end", std::string(to_text(end)), {to_text(end)});
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
  // key: the parts of its key behind the workflow.
  void add(const std::string& kind, const std::string& name, std::vector<std::string_view> key) {
    key.insert(key.begin(), workflow_);
    parts_.push_back(CoveredPart{kind, prefix_ + name, coverage_.of(flow_key(kind, key))});
  }

  void add_step(const Step& step) {
    const std::string name = step.name.str();
    add("step", name, {name});
    if (step.spec.compensate.has_value()) {
      add("step", "compensate:" + name, {"compensate:" + name});
    }
    if (step.kind == StepKind::approval) {
      for (const ManualAction action : {ManualAction::approved, ManualAction::rejected}) {
        add("decision", name + " " + std::string(to_text(action)), {name, to_text(action)});
      }
    }
    if (step.spec.await_event.has_value()) {
      for (const EventSpec& event : step.spec.await_event->any_of) {
        add("event", name + " receives " + event.event.str(), {name, event.event.view()});
      }
      if (step.spec.await_event->timeout_ms > 0) {
        add("timeout", name, {name});
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
          {step.name.view(), on, transition.to_name.view(), transition.when_json.view()});
    }
  }

  void add_outcomes(const Stub& stub) {
    for (std::size_t i = 0; i < stub.outcomes.size(); ++i) {
      const StubOutcome& outcome = stub.outcomes[i];
      const std::string name = stub.name + "[" + std::to_string(i) + "]";
      const std::string what = outcome.kind == StubOutcome::Kind::error   ? "error " + outcome.code
                               : outcome.kind == StubOutcome::Kind::never ? "never"
                                                                          : "ok";
      parts_.push_back(
          CoveredPart{"outcome", name + " " + what, coverage_.of(flow_key("outcome", {name}))});
    }
  }

  const UserSetting& setting_;
  const Coverage& coverage_;
  std::string workflow_;
  std::string prefix_;
  std::vector<CoveredPart> parts_;
};

}  // namespace

std::string flow_key(std::string_view kind, const std::vector<std::string_view>& parts) {
  std::string name = "flow:" + std::string(kind);
  for (const std::string_view part : parts) {
    name += "|" + std::string(part);
  }
  return name;
}

std::vector<CoveredPart> flow_coverage(const UserSetting& setting, const Coverage& coverage) {
  return FlowCoverage(setting, coverage).all();
}

}  // namespace holdfast::sim
