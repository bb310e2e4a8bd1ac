#include "workflow/progress.h"

#include <algorithm>
#include <limits>

#include "workflow/execution_opts.h"

namespace holdfast {

namespace {

// Stops at the end of time instead of running over it.
TimeMs due_after(TimeMs time, std::uint64_t by_ms) {
  constexpr std::int64_t kEnd = std::numeric_limits<std::int64_t>::max();
  const auto left = static_cast<std::uint64_t>(kEnd - std::max<std::int64_t>(time.value, 0));
  return by_ms > left ? TimeMs{kEnd} : TimeMs{time.value + static_cast<std::int64_t>(by_ms)};
}

}  // namespace

StepProgress::StepProgress(const Definition& definition) : done(definition.steps().size(), false) {
  unmet.reserve(done.size());
  for (const Step& step : definition.steps()) {
    unmet.push_back(static_cast<std::uint32_t>(step.after.size()));
  }
}

void StepProgress::apply(const Definition& definition, const Runnable& plan, TimeMs applied_at,
                         const Payload& execution_opts) {
  const auto step = definition.find(plan.step.view());
  const ExecutionOpts asked = holdfast::execution_opts(execution_opts);
  if (!step.has_value() || asked.defer.has_value() || plan.is_timer()) {
    return;
  }
  const std::vector<StepIndex>& dependents = definition.steps()[*step].dependents;
  if (!done[*step]) {
    done[*step] = true;
    ++done_count;
    for (const StepIndex dependent : dependents) {
      --unmet[dependent];
    }
  }
  if (asked.schedule_in_ms == 0) {
    return;
  }
  const TimeMs due = due_after(applied_at, asked.schedule_in_ms);
  for (const StepIndex dependent : dependents) {
    const auto known = not_before.emplace(dependent, due).first;
    known->second = std::max(known->second, due);
  }
}

StepProgress::Before StepProgress::before(const Definition& definition,
                                          const Runnable& plan) const {
  Before before;
  before.step = definition.find(plan.step.view());
  if (!before.step.has_value()) {
    return before;
  }
  before.done = done[*before.step];
  for (const StepIndex dependent : definition.steps()[*before.step].dependents) {
    const auto known = not_before.find(dependent);
    before.not_before.emplace_back(
        dependent, known == not_before.end() ? std::nullopt : std::optional(known->second));
  }
  return before;
}

void StepProgress::restore(const Before& before) {
  if (!before.step.has_value()) {
    return;
  }
  if (done[*before.step] && !before.done) {
    done[*before.step] = false;
    --done_count;
    for (const auto& [dependent, time] : before.not_before) {
      ++unmet[dependent];
    }
  }
  for (const auto& [dependent, time] : before.not_before) {
    if (time.has_value()) {
      not_before[dependent] = *time;
    } else {
      not_before.erase(dependent);
    }
  }
}

}  // namespace holdfast
