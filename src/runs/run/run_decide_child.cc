#include <fmt/format.h>

#include "base/names.h"
#include "runs/run/redact.h"
#include "runs/run/run_planning.h"

namespace holdfast {

namespace {

constexpr std::size_t kMaxChildKeyBytes = 255;

SharedText trigger_of(const StartChild& command) {
  return command.trigger.empty() ? SharedText("child") : command.trigger;
}

Error refusal_of(const RunProjection& parent, const StartChild& command, ErrorCode code,
                 const std::string& message) {
  return refusal(parent, code,
                 fmt::format("child {} of step {}: {}", command.child_key.view(),
                             command.origin.step.view(), message))
      .with("step", command.origin.step.view())
      .with("runnable_key", command.origin.runnable_key.view())
      .with("child_key", command.child_key.view());
}

Result<void> check_command(const RunProjection& parent, const StartChild& command) {
  const std::string_view key = command.child_key.view();
  if (key.empty() || key.size() > kMaxChildKeyBytes) {
    return refusal_of(parent, command, ErrorCode::invalid_argument,
                      fmt::format("a child key has 1 to {} bytes", kMaxChildKeyBytes))
        .with("field", "child_key");
  }
  if (!or_empty(command.input).is_object()) {
    return refusal_of(parent, command, ErrorCode::invalid_argument,
                      "the input is not a JSON object")
        .with("field", "input");
  }
  if (!or_empty(command.metadata).is_object()) {
    return refusal_of(parent, command, ErrorCode::invalid_argument,
                      "the metadata is not a JSON object")
        .with("field", "metadata");
  }
  return command.queue.empty() ? Result<void>() : check_name("queue", command.queue.view());
}

// Only the attempt that is under way speaks for its step.
Result<void> check_origin(const RunProjection& parent, const StartChild& command) {
  const Origin& origin = command.origin;
  const PlannedRunnable* planned = parent.find(origin.runnable_key.view());
  if (planned == nullptr) {
    return refusal_of(parent, command, ErrorCode::invalid_parent_context,
                      fmt::format("the parent never planned {}", origin.runnable_key.view()))
        .with("reason", "runnable_key");
  }
  if (planned->plan.step != origin.step) {
    return refusal_of(parent, command, ErrorCode::invalid_parent_context,
                      fmt::format("{} is an attempt at step {}", origin.runnable_key.view(),
                                  planned->plan.step.view()))
        .with("reason", "step");
  }
  if (planned->plan.attempt_number != origin.attempt) {
    return refusal_of(parent, command, ErrorCode::invalid_parent_context,
                      fmt::format("{} is attempt number {}, not {}", origin.runnable_key.view(),
                                  planned->plan.attempt_number, origin.attempt))
        .with("reason", "attempt");
  }
  if (planned->applied || parent.latest(origin.step.view()) != planned) {
    return refusal_of(parent, command, ErrorCode::invalid_parent_context,
                      fmt::format("attempt {} has ended", origin.runnable_key.view()))
        .with("reason", "stale");
  }
  return {};
}

ChildRunStarted link_of(const RunProjection& parent, const StartChild& command, TimeMs now) {
  ChildRunStarted link;
  link.run_id = parent.run_id();
  link.child_run_id = child_run_id(parent.run_id(), command);
  link.child_workflow = command.definition->workflow();
  link.child_trigger = trigger_of(command);
  link.child_key = command.child_key;
  link.origin = command.origin;
  link.input = or_empty(command.input);
  link.child_definition_fingerprint = command.definition->fingerprint();
  link.child_queue = command.queue;
  link.on_parent_close = to_text(command.on_parent_close);
  link.metadata = command.metadata.empty() ? Payload() : redact(command.metadata);
  link.started_at = now;
  link.trace = parent.started()->trace;
  return link;
}

// A retry of the parent step starts the same child again, maybe after an upgrade.
bool same_content(const ChildRunStarted& known, const ChildRunStarted& link) {
  return known.child_workflow == link.child_workflow && known.child_trigger == link.child_trigger &&
         known.child_key == link.child_key && known.origin.step == link.origin.step &&
         known.input == link.input && known.child_queue == link.child_queue &&
         known.metadata == link.metadata;
}

Payload parent_context(const ChildRunStarted& link) {
  JsonWriter writer;
  writer.begin_object().key("parent").begin_object();
  writer.member("run_id", to_string(link.run_id));
  writer.member("runnable_key", link.origin.runnable_key.view());
  writer.member("step", link.origin.step.view());
  writer.member("attempt", std::uint64_t{link.origin.attempt});
  writer.member("child_key", link.child_key.view());
  if (!link.metadata.empty()) {
    writer.member("metadata", JsonText::trusted(std::string(link.metadata.view())));
  }
  writer.end_object().end_object();
  return std::move(writer).take_text();
}

}  // namespace

RunId child_run_id(const RunId& parent, const StartChild& command) {
  return derive_run_id({"child", to_string(parent), command.origin.step.view(),
                        command.definition->workflow().view(), trigger_of(command).view(),
                        command.child_key.view()});
}

Result<RunFacts> decide_start_child(RunProjection& parent, const StartChild& command, TimeMs now) {
  HOLDFAST_ASSERT(command.definition != nullptr);
  HOLDFAST_CHECK(check_started(parent));
  HOLDFAST_CHECK(check_command(parent, command));
  ChildRunStarted link = link_of(parent, command, now);
  if (const auto known = parent.children().find(link.child_run_id);
      known != parent.children().end()) {
    if (same_content(known->second, link)) {
      return RunFacts();
    }
    return refusal_of(parent, command, ErrorCode::conflicting_child_run,
                      "it was started with another input, queue or metadata")
        .with("child_run_id", to_string(link.child_run_id));
  }
  if (parent.is_terminal()) {
    return refusal_of(parent, command, ErrorCode::terminal_run,
                      fmt::format("the parent is {}", to_text(parent.status())));
  }
  HOLDFAST_CHECK(check_origin(parent, command));
  RunDraft draft(parent, nothing_around(), now);
  draft.add(std::move(link));
  return draft.finish();
}

void RunDraft::start_child(const Step& step, const PlannedRunnable& planned) {
  const ChildSpec& spec = *step.spec.child;
  StartChild command;
  command.definition = around_.current(spec.workflow.view());
  if (command.definition == nullptr) {
    fault(planned, terminal_error("unknown_workflow",
                                  fmt::format("there is no workflow {}", spec.workflow.view()),
                                  step.name.view()));
    return;
  }
  const Runnable& plan = planned.plan;
  command.origin = Origin{plan.runnable_key, plan.step, plan.attempt_number};
  command.child_key = spec.key.empty() ? step.name : spec.key;
  if (plan.attempt_number > 1) {
    command.child_key = fmt::format("{}#{}", command.child_key.view(), plan.attempt_number);
  }
  command.trigger =
      spec.trigger.empty() ? command.definition->triggers().front().spec.name : spec.trigger;
  command.queue = spec.queue;
  command.on_parent_close = spec.on_parent_close;
  const auto input = checked_input(*command.definition, command.trigger.view(), plan.input, now_);
  if (!input.ok()) {
    fault(planned, terminal_error(error_info(input.error().code()).name, input.error().message(),
                                  step.name.view()));
    return;
  }
  command.input = plan.input;
  ChildRunStarted link = link_of(run_, command, now_);
  link.awaited = !spec.detached;
  const RunId child = link.child_run_id;
  add(std::move(link));
  const std::uint64_t limit_ms = step.spec.policy.timeout.start_to_close_ms;
  if (!spec.detached && limit_ms > 0) {
    plan_timer(plan, TimerPurpose::expire, later(now_, limit_ms));
  }
  if (spec.detached) {
    JsonWriter writer;
    writer.begin_object().member("run_id", to_string(child)).end_object();
    done(planned, {Payload(std::move(writer).take_text())});
  }
}

void RunDraft::child_failed(const PlannedRunnable& planned, const Payload& error) {
  const auto at = retry_at(run_, planned.plan, Failure{error, true, std::nullopt}, now_);
  if (!at.has_value()) {
    failed(planned, error);
    return;
  }
  Runnable again = planned.plan;
  // The child of this attempt may still run; the parent no longer waits for it.
  RunnablesWithdrawn abandoned;
  abandoned.run_id = run_.run_id();
  abandoned.runnable_keys = {planned.plan.runnable_key};
  abandoned.reason = "another child takes its place";
  add(std::move(abandoned));
  again.attempt_number = planned.plan.attempt_number + 1;
  again.runnable_key = runnable_key(run_.run_id(), again.step.view(), again.attempt_number);
  again.visible_at = *at;
  plan_internal(std::move(again));
}

namespace {

Payload child_error(const ChildEnd& end, std::string_view step) {
  const bool failed = end.status == TerminalStatus::failed;
  JsonWriter writer;
  writer.begin_object().member("code", failed ? "child_failed" : "child_cancelled");
  writer.member("message", fmt::format("the child {} {}", to_string(end.run_id),
                                       failed ? "failed" : "was cancelled"));
  writer.member("step", step).member("child_run_id", to_string(end.run_id));
  if (!end.error.empty()) {
    writer.member("error", JsonText::trusted(std::string(end.error.view())));
  }
  writer.member("retryable", failed).end_object();
  return std::move(writer).take_text();
}

}  // namespace

Result<RunFacts> decide_child_ended(RunProjection& parent, std::string_view runnable_key,
                                    const ChildEnd& end, const Surroundings& around, TimeMs now) {
  const PlannedRunnable* planned = parent.find(runnable_key);
  const auto step =
      planned == nullptr ? std::nullopt : parent.definition()->find(planned->plan.step.view());
  const bool awaited = step.has_value() && !planned->applied && !parent.is_terminal() &&
                       parent.definition()->steps()[*step].kind == StepKind::child &&
                       parent.latest(planned->plan.step.view()) == planned;
  if (!awaited || end.status == TerminalStatus::continued) {
    return RunFacts();
  }
  RunDraft draft(parent, around, now);
  if (end.status == TerminalStatus::completed) {
    draft.done(*planned, {end.result});
  } else if (end.status == TerminalStatus::failed) {
    draft.child_failed(*planned, child_error(end, planned->plan.step.view()));
  } else {
    draft.failed(*planned,
                 child_error(end, planned->plan.step.view()));  // the operator cancelled it
  }
  return draft.finish();
}

StartRun start_of_child(const ChildRunStarted& link, std::shared_ptr<const Definition> definition) {
  StartRun command;
  command.run_id = link.child_run_id;
  command.definition = std::move(definition);
  command.queue = link.child_queue;
  command.trigger = link.child_trigger;
  command.input = link.input;
  command.context = parent_context(link);
  command.started_by = StartedBy::parent_run;
  command.source.trace = link.trace;
  return command;
}

}  // namespace holdfast
