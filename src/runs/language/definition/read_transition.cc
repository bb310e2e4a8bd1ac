#include <fmt/format.h>

#include "runs/language/definition/read_spec.h"

namespace holdfast {

namespace {

void read_end(SpecObject& object, std::string_view name, SharedText& value) {
  if (const auto slice = object.need(name, FaultCode::invalid_transition)) {
    read_text(object.at(name), *slice, value, {.most = SIZE_MAX});
  }
}

void read_recovery(SpecObject& object, TransitionSpec& transition) {
  const auto slice = object.take("recovery");
  if (!slice.has_value()) {
    return;
  }
  const SpecLocation at = object.at("recovery").with(FaultCode::invalid_transition_recovery);
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
  SpecObject object(location.with(FaultCode::invalid_transition), slice);
  if (!object.is_object()) {
    return;
  }
  read_end(object, "from", transition.from);
  read_end(object, "to", transition.to);
  if (!transition.from.empty() && !transition.to.empty()) {
    object.set_location(object.location().called(fmt::format("the transition from {} to {}",
                                                             quote(transition.from.view()),
                                                             quote(transition.to.view()))));
  }
  if (const auto on = object.take("on")) {
    read_choice(object.at("on").with(FaultCode::invalid_transition_outcome), *on, transition.on);
  }
  if (const auto when = object.take("when")) {
    read_condition(object.at("when").with(FaultCode::invalid_transition_condition), *when,
                   transition.when);
  }
  read_recovery(object, transition);
  object.finish();
}

}  // namespace holdfast
