// TimerAction: what a timer beside a runnable does when it is due. Stored in Runnable::timer as
// {"<purpose>":"<key of the runnable>"}. The timer of a whole run stores the error that the run
// ends with instead.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/fields.h"

namespace holdfast {

// Begin the runnable, or end it because its time has passed.
HOLDFAST_ENUM(TimerPurpose, begin, expire);

struct TimerAction {
  TimerPurpose purpose = TimerPurpose::begin;
  std::string runnable_key;
};

Payload to_payload(const TimerAction& action);
// Empty: the payload is the error of the run.
std::optional<TimerAction> timer_action(const Payload& timer);

}  // namespace holdfast
