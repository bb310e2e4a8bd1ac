// Steps that wait after their result was applied, as in versions in which workers executed waits.
// Readers must still accept these facts, so the story writes them directly.
#pragma once

#include <string>

#include "tests/support/engine_story_steps.h"
#include "tests/support/engine_support.h"

namespace holdfast {

// The result of the step is part of the run, and then the step waits.
inline void story_apply(Scribe& run, std::string_view step) {
  const Attempt& done = *run.queue.find(run.run.latest(step)->plan.runnable_key.view());
  RunnableApplied fact;
  fact.run_id = run.run.run_id();
  fact.runnable_key = done.runnable_key;
  fact.result = done.outcome->result;
  fact.applied_at = run.now;
  run.emit(RunFact(fact));
}
inline void story_pause(Scribe& run, std::string_view step, ManualKind kind,
                        std::string_view reason) {
  story_apply(run, step);
  ManualStepPaused fact;
  fact.run_id = run.run.run_id();
  fact.step = step;
  fact.kind = kind;
  fact.paused_at = run.now;
  fact.reason = reason;
  run.emit(RunFact(fact));
}
inline WaitTimeout story_timeout(const Scribe& run, const SharedText& wait_id) {
  WaitTimeout timeout;
  timeout.wait_id = wait_id;
  timeout.timeout_runnable_key = wait_id.str() + ":timeout";
  timeout.event = "paid";
  timeout.correlation = "order-7";
  timeout.target = "__next__";
  timeout.after = 1000;
  timeout.due_at = after(run.now, 1000);
  return timeout;
}
inline void story_wait(Scribe& run, std::string_view step) {
  run.schedule(step);
  run.claim(step);
  run.complete(step);
  story_apply(run, step);
  const Runnable& waiting = run.run.latest(step)->plan;
  ExternalEventWaitOpened opened;
  opened.run_id = run.run.run_id();
  opened.wait_id = waiting.runnable_key;
  opened.step = step;
  opened.event = "paid";
  opened.correlation = "order-7";
  opened.opened_at = run.now;
  opened.timeout = story_timeout(run, opened.wait_id);
  Runnable timer = waiting;
  timer.runnable_key = opened.timeout->timeout_runnable_key;
  timer.idempotency_key = timer.runnable_key;
  timer.input = story_json("{}");
  timer.visible_at = opened.timeout->due_at;
  timer.handler = kTimerHandler;
  timer.policy = {};
  timer.event_wait_timeout = must(to_json(*opened.timeout));
  run.emit(RunFact(opened));
  run.emit(RunFact(RunnablesPlanned{run.run.run_id(), {timer}}));
  run.emit(DispatchFact(intent_of(timer, run.definition->workflow())));
}

// The only wait times out.
inline void story_time_out(Scribe& run) {
  const ExternalEventWaitOpened wait = run.run.waits().begin()->second.opened;
  ExternalEventWaitTimeoutSelected selected;
  selected.run_id = run.run.run_id();
  selected.wait_id = wait.wait_id;
  selected.timeout_runnable_key = wait.timeout->timeout_runnable_key;
  selected.step = wait.step;
  selected.event = wait.event;
  selected.correlation = wait.correlation;
  selected.target = wait.timeout->target;
  selected.selected_at = run.now;
  run.emit(RunFact(selected));
  ExternalEventWaitResolved resolved;
  resolved.run_id = run.run.run_id();
  resolved.wait_id = wait.wait_id;
  resolved.step = wait.step;
  resolved.event = wait.event;
  resolved.correlation = wait.correlation;
  resolved.action = WaitAction::timed_out;
  resolved.result = story_json(R"({"timed_out":"paid"})");
  resolved.timeout_target = wait.timeout->target;
  run.emit(RunFact(resolved));
  RunnableApplied applied;
  applied.run_id = run.run.run_id();
  applied.runnable_key = wait.timeout->timeout_runnable_key;
  applied.applied_at = run.now;
  run.emit(RunFact(applied));
}

}  // namespace holdfast
