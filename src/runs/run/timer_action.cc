#include "runs/run/timer_action.h"

#include "runs/language/data/path.h"

namespace holdfast {

Payload to_payload(const TimerAction& action) {
  JsonWriter writer;
  writer.begin_object().member(to_text(action.purpose), action.runnable_key).end_object();
  return std::move(writer).take_text();
}

std::optional<TimerAction> timer_action(const Payload& timer) {
  const ObjectView stored(timer.view());
  for (const std::string_view name : kEnumNames<TimerPurpose>) {
    if (const auto key = stored.member(name)) {
      return TimerAction{*enum_from<TimerPurpose>(name), json_string_value(*key).value_or("")};
    }
  }
  return std::nullopt;
}

}  // namespace holdfast
