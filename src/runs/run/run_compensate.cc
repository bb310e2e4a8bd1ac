// Compensation of a run: claimed attempts end first; then completed steps are compensated, newest
// first, one at a time.
#include <fmt/format.h>

#include <algorithm>

#include "runs/facts/activation.h"
#include "runs/run/run_draft.h"
#include "runs/run/run_planning.h"

namespace holdfast {

namespace {

const CompensateSpec* compensation_of(const Definition& definition, const Runnable& plan) {
  const std::string_view name = plan.step.view();
  const auto index = definition.find(name);
  if (is_compensation(name) || plan.is_timer() || !index.has_value()) {
    return nullptr;
  }
  const Step& step = definition.steps()[*index];
  // Of a for_each each item is compensated, not the whole.
  if (!step.spec.compensate.has_value() || step.spec.for_each.has_value() != is_item(name)) {
    return nullptr;
  }
  return &*step.spec.compensate;
}

bool ended_well(const PlannedRunnable& planned) {
  if (!planned.applied || planned.withdrawn) {
    return false;
  }
  return transition_of(planned.transition).on != RouteOn::error;
}

Payload what_is_undone(const RunProjection& run, const PlannedRunnable& origin) {
  const Payload& failure = run.compensation()->error;
  JsonWriter writer;
  writer.begin_object().key("source").begin_object();
  writer.member("run_id", to_string(run.run_id()));
  if (!failure.empty()) {
    writer.member("failure", JsonText::trusted(std::string(failure.view())));
  }
  writer.end_object().key("step").begin_object();
  writer.member("name", origin.plan.step.view());
  writer.member("runnable_key", origin.plan.runnable_key.view());
  writer.member("input", JsonText::trusted(std::string(origin.plan.input.view())));
  writer.member("output",
                JsonText::trusted(origin.result.empty() ? std::string("null")
                                                        : std::string(origin.result.view())));
  writer.member("applied_at", origin.applied_at.value).end_object().end_object();
  return std::move(writer).take_text();
}

SharedText compensation_name(const Runnable& plan) {
  return fmt::format("{}{}", kCompensatePrefix, plan.step.view());
}

}  // namespace

const PlannedRunnable* RunDraft::next_to_compensate() const {
  const auto& steps = definition().steps();
  const bool any = std::any_of(steps.begin(), steps.end(),
                               [](const Step& step) { return step.spec.compensate.has_value(); });
  const PlannedRunnable* next = nullptr;
  if (!any) {
    return next;
  }
  for (const PlannedRunnable* planned : run_.runnables()) {
    if (ended_well(*planned) && compensation_of(definition(), planned->plan) != nullptr &&
        run_.latest(planned->plan.step.view()) == planned &&
        run_.latest(compensation_name(planned->plan).view()) == nullptr &&
        (next == nullptr || planned->applied_order > next->applied_order)) {
      next = planned;
    }
  }
  return next;
}

// A claimed attempt may still complete, and would then have to be compensated.
bool RunDraft::is_compensatable_claimed() const {
  const auto runnables = run_.runnables();
  return std::any_of(runnables.begin(), runnables.end(), [&](const PlannedRunnable* planned) {
    return !planned->applied && compensation_of(definition(), planned->plan) != nullptr &&
           run_.latest(planned->plan.step.view()) == planned &&
           around_.is_claimed(planned->plan.runnable_key.view());
  });
}

// Runnables that no worker has claimed. A claimed attempt may have effects outside, so it ends
// first.
std::vector<SharedText> RunDraft::withdrawable() const {
  std::vector<SharedText> keys;
  for (const PlannedRunnable* planned : run_.runnables()) {
    const bool replaced =
        !planned->plan.is_timer() && run_.latest(planned->plan.step.view()) != planned;
    if (!planned->applied && !replaced && !around_.is_claimed(planned->plan.runnable_key.view())) {
      keys.push_back(planned->plan.runnable_key);
    }
  }
  return keys;
}

void RunDraft::compensate(TerminalStatus outcome, const Payload& error) {
  drop_tasks();
  flush();
  CompensationStarted started;
  started.run_id = run_.run_id();
  started.outcome = outcome;
  started.error = error;
  started.exhausted = exhausted_;
  add(std::move(started));
  RunnablesWithdrawn withdrawn;
  withdrawn.run_id = run_.run_id();
  withdrawn.reason = "the run is compensating";
  withdrawn.runnable_keys = withdrawable();
  if (!withdrawn.runnable_keys.empty()) {
    add(std::move(withdrawn));
  }
  start_compensation();
}

void RunDraft::start_compensation() {
  if (run_.open_count() > 0) {
    return;
  }
  if (const PlannedRunnable* next = next_to_compensate()) {
    plan_compensation(*next);
    return;
  }
  const CompensationStarted started = *run_.compensation();
  RunTerminal terminal = terminal_fact(run_, started.outcome, started.error);
  terminal.exhausted = started.exhausted;
  add(std::move(terminal));
}

void RunDraft::plan_compensation(const PlannedRunnable& origin) {
  const CompensateSpec& spec = *compensation_of(definition(), origin.plan);
  Runnable runnable = first_attempt(run_, compensation_name(origin.plan),
                                    spec.queue.empty() ? origin.plan.queue : spec.queue);
  runnable.input = what_is_undone(run_, origin);
  runnable.visible_at = now_;
  runnable.handler = spec.handler;
  runnable.policy.claim = spec.claim;
  JsonWriter work;
  work.begin_object().member("kind", "compensation");
  work.member("origin_step", origin.plan.step.view());
  work.member("origin_runnable_key", origin.plan.runnable_key.view()).end_object();
  runnable.dynamic_work = std::move(work).take_text();
  plan(std::move(runnable));
}

}  // namespace holdfast
