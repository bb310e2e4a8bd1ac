#include "runs/run/run_progress.h"

#include <algorithm>
#include <limits>

#include "runs/facts/activation.h"
#include "runs/facts/execution_opts.h"
#include "runs/run/run_projection.h"

namespace holdfast {

namespace {

// Stops at the end of time instead of running over it.
TimeMs due_after(TimeMs time, std::uint64_t by_ms) {
  constexpr std::int64_t kEnd = std::numeric_limits<std::int64_t>::max();
  const auto left = static_cast<std::uint64_t>(kEnd - std::max<std::int64_t>(time.value, 0));
  return by_ms > left ? TimeMs{kEnd} : TimeMs{time.value + static_cast<std::int64_t>(by_ms)};
}

bool leads_on(const Payload& transition) {
  const TransitionTaken taken = transition_of(transition);
  return !taken.to.empty() && taken.to.view() != kCompleteStep;
}

}  // namespace

StepProgress::StepProgress(const Definition& definition) : done(definition.steps().size(), false) {
  unmet.reserve(done.size());
  for (const Step& step : definition.steps()) {
    unmet.push_back(static_cast<std::uint32_t>(step.after.size()));
  }
}

std::optional<StepIndex> path_of(const Definition& definition, const Runnable& plan) {
  if (plan.is_timer() || is_compensation(plan.step.view()) || is_item(plan.step.view())) {
    return std::nullopt;
  }
  return definition.find(plan.path.empty() ? plan.step.view() : plan.path.view());
}

void StepProgress::finish(const Definition& definition, StepIndex step) {
  if (done[step] || !definition.steps()[step].begins_path) {
    return;
  }
  done[step] = true;
  ++done_count;
  for (const StepIndex dependent : definition.steps()[step].dependents) {
    --unmet[dependent];
  }
}

void StepProgress::adopt(const Definition& definition, std::string_view step) {
  if (const auto index = definition.find(step)) {
    finish(definition, *index);
  }
}

void StepProgress::apply(const Definition& definition, const PlannedRunnable& applied) {
  const auto step = path_of(definition, applied.plan);
  const ExecutionOpts requested = holdfast::execution_opts(applied.execution_opts);
  if (!step.has_value() || requested.defer.has_value() || applied.withdrawn ||
      leads_on(applied.transition)) {
    return;
  }
  finish(definition, *step);
  if (requested.schedule_in_ms == 0) {
    return;
  }
  const TimeMs due = due_after(applied.applied_at, requested.schedule_in_ms);
  for (const StepIndex dependent : definition.steps()[*step].dependents) {
    const auto known = not_before.emplace(dependent, due).first;
    known->second = std::max(known->second, due);
  }
}

StepProgress::Before StepProgress::before(const Definition& definition,
                                          const Runnable& plan) const {
  Before before;
  before.step = path_of(definition, plan);
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
