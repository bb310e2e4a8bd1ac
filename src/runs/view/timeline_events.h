// What each fact is called in a timeline, and what people read about it.
#pragma once

#include <vector>

#include "runs/view/timeline.h"
#include "runs/view/timeline_bars.h"

namespace holdfast {

struct EventPlace {
  TimeMs at;
  Position position;
};

// Appends the events of a fact that `bars` has taken in: one, or one for each runnable it names;
// none when it says nothing about the run.
void describe(std::vector<TimelineEvent>& events, const TimelineBars& bars,
              const EventPlace& moment, const RunFact& fact);
void describe(std::vector<TimelineEvent>& events, const TimelineBars& bars,
              const EventPlace& moment, const DispatchFact& fact);

}  // namespace holdfast
