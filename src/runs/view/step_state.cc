#include "runs/view/step_state.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "runs/facts/execution_opts.h"
#include "runs/run/error_origin.h"

namespace holdfast {

namespace {

StepStatus open_status(const Attempt* attempt, TimeMs now) {
  if (attempt == nullptr) {
    return StepStatus::planned;
  }
  if (attempt->ended()) {
    return attempt->status == AttemptStatus::failed ? StepStatus::failed : StepStatus::running;
  }
  if (is_held(*attempt, now)) {
    return StepStatus::running;
  }
  return is_scheduled(*attempt, now) ? StepStatus::scheduled : StepStatus::ready;
}

using ByStep = std::map<SharedText, std::vector<const Attempt*>>;

// The status of a runnable that has ended in any way.
StepStatus closed_status(const PlannedRunnable& latest) {
  if (latest.withdrawn) {
    return StepStatus::withdrawn;
  }
  return transition_of(latest.transition).on == RouteOn::ok ? StepStatus::completed
                                                            : StepStatus::failed;
}

// Of a runnable that no queue knows: the engine executes it, or it waits for an operator.
StepStatus engine_status(const RunProjection& run, const PlannedRunnable& latest) {
  return run.boundaries().contains(latest.plan.step) ? StepStatus::paused : StepStatus::running;
}

StepStatus status_of_open(const RunSource& source, const PlannedRunnable& latest,
                          const Attempt* attempt) {
  return latest.plan.is_internal() ? engine_status(*source.run, latest)
                                   : open_status(attempt, source.now);
}

StepState step_state(const RunSource& source, const ByStep& attempts, const SharedText& step) {
  StepState state;
  state.step = step;
  const PlannedRunnable* latest = source.run->latest(step.view());
  const Attempt* current = nullptr;
  if (const auto known = attempts.find(step); known != attempts.end()) {
    for (const Attempt* attempt : known->second) {
      state.attempts = std::max(state.attempts, attempt->attempt_number);
      if (attempt->status == AttemptStatus::failed) {
        state.error = attempt->outcome->error;
      }
      if (latest != nullptr && attempt->runnable_key == latest->plan.runnable_key) {
        current = attempt;
      }
    }
  }
  if (latest == nullptr) {
    state.status = status_of_unplanned(*source.run);
    return state;
  }
  const bool put_off = execution_opts(latest->execution_opts).defer.has_value();
  const ManualState* parked = source.run->parked(step);
  if (parked != nullptr) {
    state.status = StepStatus::parked;
    state.error = parked->error;
    state.result = latest->result;
    return state;
  }
  if (latest->applied && !put_off) {
    state.status = closed_status(*latest);
    if (state.status == StepStatus::completed) {
      state.result = latest->result;
      state.error = Payload();
    }
    return state;
  }
  state.status = status_of_open(source, *latest, current);
  if (source.run->is_terminal() && state.status != StepStatus::failed) {
    const bool ended_it = failed_step(*source.run) == step.view();
    state.status = ended_it ? StepStatus::failed : StepStatus::abandoned;
    state.error = ended_it ? source.run->terminal()->error : state.error;
  }
  return state;
}

}  // namespace

std::string failed_step(const RunProjection& run) {
  return error_origin(run.terminal()->error).step.value_or("");
}

StepStatus status_of_unplanned(const RunProjection& run) {
  if (!run.is_terminal()) {
    return StepStatus::waiting;
  }
  return run.status() == RunStatus::completed ? StepStatus::skipped : StepStatus::abandoned;
}

std::vector<StepState> step_states(const RunSource& source) {
  return step_states(source, attempts_of(source));
}

std::vector<StepState> step_states(const RunSource& source,
                                   const std::vector<KnownAttempt>& attempts) {
  std::vector<SharedText> names;
  std::set<SharedText> seen;
  const auto add = [&](const SharedText& name) {
    if (seen.insert(name).second) {
      names.push_back(name);
    }
  };
  if (source.run->definition() != nullptr) {
    for (const Step& step : source.run->definition()->steps()) {
      add(step.name);
    }
  }
  for (const PlannedRunnable* runnable : source.run->runnables()) {
    if (!runnable->plan.is_timer()) {
      add(runnable->plan.step);
    }
  }
  ByStep by_step;
  for (const KnownAttempt& known : attempts) {
    const PlannedRunnable* planned = source.run->find(known.attempt->runnable_key.view());
    if (planned == nullptr || !planned->plan.is_timer()) {
      by_step[known.attempt->step].push_back(known.attempt);
    }
  }
  std::vector<StepState> states;
  states.reserve(names.size());
  for (const SharedText& name : names) {
    states.push_back(step_state(source, by_step, name));
  }
  return states;
}

}  // namespace holdfast
