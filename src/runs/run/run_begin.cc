// How a step begins, and what the engine carries out by itself.
#include <fmt/format.h>

#include <algorithm>

#include "runs/facts/activation.h"
#include "runs/run/redact.h"
#include "runs/run/run_draft.h"
#include "runs/run/run_planning.h"

namespace holdfast {

namespace {

// {policy..., started_at, due_at, due_soon_at, escalated_at}: all that is needed to judge later.
Payload deadline_of(const DeadlineSpec& spec, TimeMs now) {
  const TimeMs due = later(now, spec.within_ms);
  JsonWriter writer;
  writer.begin_object().member("started_at", now.value).member("due_at", due.value);
  writer.member("due_soon_at", due.value - static_cast<std::int64_t>(spec.due_soon_ms));
  writer.member("escalated_at", later(due, spec.escalate_after_ms).value);
  writer.member("escalation", to_text(spec.escalation));
  if (!spec.target.empty()) {
    writer.member("target", spec.target.view());
  }
  writer.end_object();
  return std::move(writer).take_text();
}

// What a replay and a compensation may do with the step.
Payload recovery_of(const StepSpec& spec) {
  const bool compensatable = spec.compensatable.value_or(true) && !spec.irreversible;
  if (compensatable && !spec.compensate.has_value()) {
    return Payload();
  }
  JsonWriter writer;
  writer.begin_object();
  writer.member("irreversible", spec.irreversible).member("compensatable", compensatable);
  writer.member("replay", compensatable ? "allowed" : "manual_review_required");
  if (spec.compensate.has_value()) {
    writer.member("compensation", spec.compensate->handler.view());
  }
  writer.end_object();
  return std::move(writer).take_text();
}

std::string text_value(std::string_view json) {
  return json_string_value(json).value_or(std::string(json));
}

// The time a wait ends; empty when what is there is no time.
std::optional<TimeMs> time_of(const Payload& until, const DataView& data) {
  const std::string text = text_value(until.view());
  if (const auto time = parse_iso8601(text)) {
    return time;
  }
  const auto path = DataPath::parse(text);
  std::string storage;
  const auto value = path.ok() ? find_value(data, path.value(), storage) : std::nullopt;
  if (!value.has_value()) {
    return std::nullopt;
  }
  std::int64_t ms = 0;
  return read_value(*value, ms) ? std::optional(TimeMs{ms}) : parse_iso8601(text_value(*value));
}

Payload log_line(const LogSpec& spec, const DataView& data) {
  JsonWriter writer;
  writer.begin_object().member("level", to_text(spec.level));
  writer.member("message", fill_in(spec.message.view(), data)).end_object();
  return std::move(writer).take_text();
}

}  // namespace

Runnable RunDraft::runnable_of(const Step& step, const SharedText& name, const SharedText& path,
                               TimeMs visible_at) const {
  Runnable runnable = first_attempt(run_, name, step.queue);
  runnable.path = path.view() == name.view() ? SharedText() : path;
  runnable.visible_at = visible_at;
  runnable.recovery = recovery_of(step.spec);
  if (step.spec.deadline.has_value()) {
    runnable.deadline = deadline_of(*step.spec.deadline, now_);
  }
  return runnable;
}

void RunDraft::begin(StepIndex index, const SharedText& path, TimeMs visible_at) {
  const Step& step = definition().steps()[index];
  if (!path.empty()) {
    flush();  // another path may just have begun the same step
  }
  const std::uint32_t visit = run_.visits(step.name.view()) + 1;
  if (visit > step.max_visits) {
    fail_run(terminal_error(
        "visit_limit_exceeded",
        fmt::format("step \"{}\" was already begun {} times", step.name.view(), step.max_visits),
        step.name.view()));
    return;
  }
  const SharedText name = visit == 1 ? step.name : visit_name(step.name.view(), visit);
  begin_visit(step, runnable_of(step, name, path, visible_at));
}

// The runnable may have an input: one that an operator gave.
void RunDraft::begin_visit(const Step& step, Runnable runnable) {
  if (step.spec.for_each.has_value()) {
    begin_each(step, std::move(runnable));
  } else if (step.kind == StepKind::handler && !step.input.has_value() &&
             !step.input_contract.has_value() && runnable.input.empty()) {
    runnable.handler = step.handler;
    runnable.policy = step.spec.policy;
    runnable.input = whole_context();
    plan(std::move(runnable));
  } else {
    begin_body(step, std::move(runnable), ContextView(run_));
  }
}

void RunDraft::begin_body(const Step& step, Runnable runnable, const DataView& data) {
  const Payload given = std::exchange(runnable.input, empty_object());
  switch (step.kind) {
    case StepKind::handler:
    case StepKind::http:
    case StepKind::exec:
    case StepKind::child: {
      Payload error;
      runnable.input = given.empty() ? input_of(step, data, error) : given;
      if (!error.empty()) {
        plan_failed(std::move(runnable), error);
        return;
      }
      break;
    }
    case StepKind::wait:
      begin_wait(step, std::move(runnable), data);
      return;
    case StepKind::log:
      runnable.input = log_line(*step.spec.log, data);
      break;
    case StepKind::pause:
    case StepKind::approval:
    case StepKind::await_event:
      break;
  }
  if (step.handler.empty()) {
    plan_internal(std::move(runnable));
    return;
  }
  runnable.handler = step.handler;
  runnable.policy = step.spec.policy;
  plan(std::move(runnable));
}

// Now, or later by a timer of its own, because the step itself may stay open for long.
void RunDraft::plan_internal(Runnable runnable) {
  runnable.handler = kEngineHandler;
  if (runnable.visible_at <= now_) {
    tasks_.push_back({Task::Kind::carry_out, 0, runnable.runnable_key, now_});
    plan(std::move(runnable));
    return;
  }
  const Runnable planned = runnable;
  plan(std::move(runnable));
  plan_timer(planned, TimerPurpose::begin, planned.visible_at);
}

void RunDraft::plan_timer(const Runnable& runnable, TimerPurpose purpose, TimeMs at) {
  Runnable timer = runnable;
  const std::string_view suffix = purpose == TimerPurpose::begin ? "begin" : "timeout";
  timer.runnable_key = fmt::format("{}:{}", runnable.runnable_key.view(), suffix);
  timer.idempotency_key = timer.runnable_key;
  timer.input = empty_object();
  timer.handler = timer_handler();
  timer.visible_at = at;
  timer.timer = to_payload(TimerAction{purpose, runnable.runnable_key.str()});
  timer.deadline = Payload();
  timer.recovery = Payload();
  timer.earlier_attempts = 0;
  plan(std::move(timer));
}

// A wait is only its timer.
void RunDraft::plan_wait(Runnable runnable) {
  if (runnable.visible_at <= now_) {
    plan_internal(std::move(runnable));
    return;
  }
  runnable.handler = timer_handler();
  plan(std::move(runnable));
}

// A step that cannot be attempted on this definition.
void RunDraft::plan_failed(Runnable runnable, const Payload& error) {
  const SharedText key = runnable.runnable_key;
  runnable.handler = kEngineHandler;
  if (runnable.input.empty()) {
    runnable.input = empty_object();
  }
  plan(std::move(runnable));
  flush();
  // Missing when facts of another writer forbid it; finish() reports that.
  if (const PlannedRunnable* planned = run_.find(key.view())) {
    fault(*planned, error);
  }
}

Payload RunDraft::input_of(const Step& step, const DataView& data, Payload& error) {
  Payload input;
  if (step.input.has_value()) {
    auto mapped = step.input->apply(data);
    if (const auto* missing = std::get_if<MissingPath>(&mapped)) {
      error = missing_path_error("missing_input_path", *missing, step.name.view());
      return Payload();
    }
    input = std::get<Payload>(std::move(mapped));
  } else {
    input = Payload::trusted(data.whole());
  }
  if (step.input_contract.has_value()) {
    const auto json = Json::parse(input.view());
    const ContractMisfit misfit = step.input_contract->check(json.value(), UnknownFields::allowed);
    if (!misfit.none()) {
      error = misfit_error("invalid_input", "the input", misfit, step.name.view());
    }
  }
  return input;
}

void RunDraft::begin_wait(const Step& step, Runnable runnable, const DataView& data) {
  const WaitSpec& wait = *step.spec.wait;
  if (wait.until.empty()) {
    runnable.visible_at = later(std::max(runnable.visible_at, now_), wait.for_ms);
  } else {
    const auto until = time_of(wait.until, data);
    if (!until.has_value()) {
      plan_failed(std::move(runnable),
                  terminal_error("invalid_wait_time",
                                 fmt::format("{} is not a time to wait for", wait.until.view()),
                                 step.name.view()));
      return;
    }
    runnable.visible_at = std::max(*until, runnable.visible_at);
  }
  plan_wait(std::move(runnable));
}

void RunDraft::carry_out(const PlannedRunnable& planned) {
  const auto index = definition().find(planned.plan.step.view());
  if (!index.has_value()) {
    return;
  }
  const Step& step = definition().steps()[*index];
  switch (step.kind) {
    case StepKind::log:
    case StepKind::wait:
      done(planned, {});
      return;
    case StepKind::pause:
    case StepKind::approval:
      open_boundary(step, planned);
      return;
    case StepKind::await_event:
      open_wait(step, planned);
      return;
    case StepKind::child:
      start_child(step, planned);
      return;
    case StepKind::handler:
    case StepKind::http:
    case StepKind::exec:
      return;
  }
}

void RunDraft::open_boundary(const Step& step, const PlannedRunnable& planned) {
  const ManualSpec& spec = step.kind == StepKind::pause ? *step.spec.pause : *step.spec.approval;
  ManualStepPaused paused;
  paused.run_id = run_.run_id();
  paused.step = planned.plan.step;
  paused.kind = step.kind == StepKind::pause ? ManualKind::pause : ManualKind::approval;
  paused.paused_at = now_;
  paused.reason = fill_in(spec.reason.view(), ContextView(run_));
  paused.deadline = planned.plan.deadline;
  add(std::move(paused));
}

}  // namespace holdfast
