#include <fmt/format.h>

#include "runs/language/definition/read_spec.h"

namespace holdfast {

namespace {

void read_recovery(const SpecObject& object, TransitionSpec& transition) {
  const auto slice = object.find("recovery");
  if (!slice.has_value()) {
    return;
  }
  const SpecLocation at = object.at("recovery");
  const auto word = read_word(at, *slice, {"compensation", "undo"});
  if (word.has_value()) {
    transition.recovery = *word == 0 ? RecoveryLabel::compensation : RecoveryLabel::undo;
  }
  if (transition.on != StepOutcome::error) {
    at.fault("is only allowed with on: error");
  }
}

}  // namespace

void read_transition(const SpecLocation& location, std::string_view slice,
                     TransitionSpec& transition) {
  SpecObject object(location.with(FaultCode::invalid_transition), slice, kTransitionObject);
  if (!object.is_object()) {
    return;
  }
  object.read("from", transition.from);
  object.read("to", transition.to);
  if (!transition.from.empty() && !transition.to.empty()) {
    object.set_location(object.location().called(fmt::format("the transition from {} to {}",
                                                             quote(transition.from.view()),
                                                             quote(transition.to.view()))));
  }
  object.read("on", transition.on);
  object.read_part("when", read_condition, transition.when);
  read_recovery(object, transition);
  object.finish();
}

}  // namespace holdfast
