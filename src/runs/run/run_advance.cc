// How a run moves from one step to the next.
#include <fmt/format.h>

#include <algorithm>

#include "runs/facts/activation.h"
#include "runs/facts/execution_opts.h"
#include "runs/run/run_draft.h"
#include "runs/run/run_planning.h"

namespace holdfast {

namespace {

// The list of a for_each cannot join the context without a name. A decision has its name already.
SharedText output_key_of(const Step& step) {
  if (step.kind == StepKind::approval) {
    return {};
  }
  return step.spec.output.empty() && step.spec.for_each.has_value() ? step.name : step.spec.output;
}

constexpr std::string_view kDeferredSuffix = ":deferred";

// <key>:deferred, then <key>:deferred:2 and so on: the key of a step that defers itself
// a thousand times stays short. A key that another writer chose gets the suffix again.
SharedText deferred_key(const Runnable& from) {
  const std::string_view key = from.runnable_key.view();
  const std::size_t at = from.deferred.has_value() ? key.rfind(kDeferredSuffix) : key.npos;
  const std::size_t end = at == key.npos ? key.npos : at + kDeferredSuffix.size();
  if (end == key.size()) {
    return fmt::format("{}:2", key);
  }
  const auto times =
      end != key.npos && key[end] == ':' ? parse_decimal(key.substr(end + 1)) : std::nullopt;
  return times.has_value() ? fmt::format("{}:{}", key.substr(0, end), *times + 1)
                           : fmt::format("{}{}", key, kDeferredSuffix);
}

Payload run_timeout_error(std::uint64_t timeout_ms) {
  return terminal_error("run_timeout", fmt::format("the run did not end within {} ms", timeout_ms),
                        "");
}

}  // namespace

void RunDraft::begin_run() {
  for (const StepIndex root : definition().roots()) {
    tasks_.push_back({Task::Kind::begin, root, {}, now_});
  }
  begin_run_timer();
}

void RunDraft::begin_run_timer() {
  const std::uint64_t timeout_ms = definition().parts().timeout_ms;
  if (timeout_ms == 0) {
    return;
  }
  Runnable timer = first_attempt(run_, "__run__", {});
  timer.input = Payload::trusted("{}");
  timer.visible_at = later(now_, timeout_ms);
  timer.handler = kTimerHandler;
  timer.timer = run_timeout_error(timeout_ms);
  plan(std::move(timer));
}

// At the step it was to begin at, on the path of that step in the source, and at every other step
// that waits for nothing.
void RunDraft::begin_adopted() {
  const StepsAdopted& adopted = *run_.adopted_steps();
  const auto from = definition().find(adopted.from_step.view());
  tasks_.push_back({Task::Kind::begin, *from, adopted.path, now_});
  begin_ready();
  begin_run_timer();
}

void RunDraft::begin_ready() {
  std::optional<StepIndex> adopted_path;
  if (const auto& adopted = run_.adopted_steps()) {
    adopted_path =
        definition().find((adopted->path.empty() ? adopted->from_step : adopted->path).view());
  }
  const StepProgress& progress = run_.progress();
  for (StepIndex index = 0; index < definition().steps().size(); ++index) {
    const Step& step = definition().steps()[index];
    if (step.begins_path && !progress.done[index] && progress.unmet[index] == 0 &&
        index != adopted_path && run_.latest(step.name.view()) == nullptr) {
      const auto delayed = progress.not_before.find(index);
      tasks_.push_back(
          {Task::Kind::begin,
           index,
           {},
           delayed == progress.not_before.end() ? now_ : std::max(now_, delayed->second)});
    }
  }
}

void RunDraft::done(const PlannedRunnable& planned, const StepEnd& end) {
  const Runnable& plan = planned.plan;
  const std::string_view name = plan.step.view();
  RunnableApplied applied = applied_fact(run_, plan, end, now_);
  const ExecutionOpts opts = execution_opts(end.execution_opts);
  const auto index = definition().find(name);
  if (is_compensation(name) || run_.is_compensating()) {
    if (opts.defer.has_value()) {
      applied.execution_opts = Payload();
    }
    if (!is_compensation(name) && !is_item(name) && index.has_value()) {
      applied.output_key = output_key_of(definition().steps()[*index]);
    }
    add(std::move(applied));
    start_compensation();
    return;
  }
  if (opts.defer.has_value()) {
    add(std::move(applied));
    put_off(planned, end.result, *opts.defer);
    return;
  }
  if (!index.has_value() || is_item(name)) {
    add(std::move(applied));
    return index.has_value() ? item_done(without_item(name)) : plan_nodes();
  }
  const Step& step = definition().steps()[*index];
  applied.output_key = output_key_of(step);
  const Transition* taken = nullptr;
  if (!step.on_ok.empty()) {
    taken = choose(step.on_ok, ContextView(run_, applied.output_key, end.result));
    applied.transition =
        to_json(taken == nullptr ? taken_by(plan, RouteOn::ok, SharedText(kNoTransition))
                                 : chosen_by(plan, RouteOn::ok, *taken))
            .value();
  }
  add(std::move(applied));
  const TimeMs visible_at = later(now_, opts.schedule_in_ms);
  if (taken != nullptr) {
    follow(taken->to, path_name(plan), visible_at, failed_by_transition(plan));
  } else if (!step.on_ok.empty()) {
    park(planned, no_transition_error(plan));
  } else {
    end_path(path_name(plan), visible_at);
  }
}

void RunDraft::continue_after(const PlannedRunnable& planned) {
  if (const auto path = path_of(definition(), planned.plan)) {
    end_path(definition().steps()[*path].name, now_);
  }
}

void RunDraft::failed(const PlannedRunnable& planned, const Payload& error) {
  const Runnable& plan = planned.plan;
  if (!plan.is_internal() && !plan.is_timer() && plan.handler.view() != kTimerHandler) {
    exhausted_ = ExhaustedAttempt{plan.runnable_key, plan.step, plan.queue};
  }
  fail_step(planned, error);
  exhausted_.reset();
}

void RunDraft::fail_step(const PlannedRunnable& planned, const Payload& error) {
  const Runnable& plan = planned.plan;
  const std::string_view name = plan.step.view();
  // A failure during compensation is recorded, and the compensation continues.
  if (is_compensation(name) || run_.is_compensating()) {
    close_failed(planned, error, taken_by(plan, RouteOn::error, "compensation"));
    start_compensation();
    return;
  }
  const auto index = definition().find(name);
  if (!index.has_value()) {
    fail_run(error);
    return;
  }
  if (is_item(name)) {
    item_failed(planned, error);
    return;
  }
  const Step& step = definition().steps()[*index];
  const Transition* taken = choose(step.on_error, ContextView(run_, {}, error_result(error)));
  if (taken == nullptr) {
    fail_run(error);
    return;
  }
  close_failed(planned, error, chosen_by(plan, RouteOn::error, *taken));
  follow(taken->to, path_name(plan), now_, error);
}

// A failure that has its place, so that nothing waits for it any more.
void RunDraft::close_failed(const PlannedRunnable& planned, const Payload& error,
                            const TransitionTaken& taken) {
  RunnableApplied applied = applied_fact(run_, planned.plan, {error_result(error)}, now_);
  applied.transition = to_json(taken).value();
  add(std::move(applied));
}

void RunDraft::take_route(const PlannedRunnable& planned, RouteOn on, const Target& to,
                          const SharedText& to_name, const Payload& error) {
  close_failed(planned, error, taken_by(planned.plan, on, to_name));
  follow(to, path_name(planned.plan), now_, error);
}

void RunDraft::follow(const Target& to, const SharedText& path, TimeMs visible_at,
                      const Payload& error) {
  switch (to.kind) {
    case Target::Kind::step:
      plan_nodes();
      tasks_.push_back({Task::Kind::begin, to.step, path, visible_at});
      return;
    case Target::Kind::complete:
      end_path(path, visible_at);
      return;
    case Target::Kind::fail:
      fail_run(error);
      return;
  }
}

// The path of a step has ended: the steps that waited for nothing else begin.
void RunDraft::end_path(const SharedText& step, TimeMs visible_at) {
  const auto index = definition().find(step.view());
  if (!index.has_value()) {
    return;  // another writer invented the path
  }
  const StepProgress& progress = run_.progress();
  for (const StepIndex dependent : definition().steps()[*index].dependents) {
    const Step& next = definition().steps()[dependent];
    if (progress.unmet[dependent] != 0 || run_.latest(next.name.view()) != nullptr) {
      continue;
    }
    const auto delayed = progress.not_before.find(dependent);
    tasks_.push_back({Task::Kind::begin, dependent, SharedText(),
                      delayed == progress.not_before.end()
                          ? visible_at
                          : std::max(visible_at, delayed->second)});
  }
  plan_nodes();
}

void RunDraft::plan_nodes() {
  if (run_.graph().active.empty() || has_stopped()) {
    return;
  }
  for (Runnable& node : ready_nodes(run_, now_)) {
    const auto is_it = [&](const Runnable& planned) {
      return planned.runnable_key == node.runnable_key;
    };
    if (std::none_of(planned_.runnables.begin(), planned_.runnables.end(), is_it)) {
      plan(std::move(node));
    }
  }
}

void RunDraft::put_off(const PlannedRunnable& planned, const Payload& result, const Deferral& why) {
  const Runnable& from = planned.plan;
  Runnable again = from;
  again.runnable_key = deferred_key(from);
  again.visible_at = later(now_, why.schedule_in_ms);
  again.deferred = Deferred{why.reason, from.runnable_key, now_};
  // What a step says when it puts itself off, it sees when it comes back.
  const auto index = definition().find(from.step.view());
  const bool sees_context = !from.graph_mutation.has_value() && index.has_value() &&
                            !definition().steps()[*index].input.has_value() &&
                            !is_item(from.step.view()) && !is_compensation(from.step.view());
  if (sees_context) {
    again.input = run_.context_with(result);
  }
  plan(std::move(again));
}

void RunDraft::fire(const PlannedRunnable& timer) {
  const auto action = timer_action(timer.plan.timer);
  if (!action.has_value()) {
    fail_run(timer.plan.timer);
    return;
  }
  const PlannedRunnable* step = run_.find(action->runnable_key);
  add(applied_fact(run_, timer.plan, {}, now_));
  if (step == nullptr || step->applied || run_.latest(step->plan.step.view()) != step) {
    return;
  }
  switch (action->purpose) {
    case TimerPurpose::begin:
      carry_out(*step);
      return;
    case TimerPurpose::expire:
      child_failed(*step, timeout_error(TimedOut::child, step->plan.step.view()));
      return;
  }
}

void RunDraft::fail_run(const Payload& error) {
  drop_tasks();
  flush();
  if (next_to_compensate() != nullptr || is_compensatable_claimed()) {
    compensate(TerminalStatus::failed, error);
    return;
  }
  RunTerminal terminal = terminal_fact(run_, TerminalStatus::failed, error);
  terminal.exhausted = exhausted_;
  add(std::move(terminal));
}

void RunDraft::complete_if_done() {
  if (!run_.started().has_value() || run_.definition() == nullptr || has_stopped() ||
      run_.open_count() > 0 || run_.progress().done_count != definition().path_count() ||
      !are_nodes_done(run_)) {
    return;
  }
  RunTerminal terminal = terminal_fact(run_, TerminalStatus::completed);
  if (definition().output().has_value()) {
    auto mapped = definition().output()->apply(ContextView(run_));
    if (const auto* missing = std::get_if<MissingPath>(&mapped)) {
      plan_output_fault(missing_path_error("missing_output_path", *missing, ""));
      return;
    }
    terminal.result = std::get<Payload>(std::move(mapped));
  }
  add(std::move(terminal));
}

}  // namespace holdfast
