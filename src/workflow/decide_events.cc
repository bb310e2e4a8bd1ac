#include <fmt/format.h>

#include "workflow/planning.h"

namespace holdfast {

namespace {

constexpr std::size_t kMaxEventBytes = 255;
constexpr std::size_t kMaxCorrelationBytes = 1024;
constexpr std::size_t kMaxPayloadBytes = 1U << 20U;

Result<void> check_wait(const RunProjection& run, const Attempt& attempt, const OpenWait& command) {
  const auto invalid = [&](std::string_view field, const std::string& message) {
    return refusal(run, attempt, ErrorCode::invalid_argument, message).with("field", field);
  };
  if (command.event.empty() || command.event.view().size() > kMaxEventBytes) {
    return invalid("event", fmt::format("an event has a name of 1 to {} bytes", kMaxEventBytes));
  }
  if (command.correlation.empty() || command.correlation.view().size() > kMaxCorrelationBytes) {
    return invalid("correlation",
                   fmt::format("a correlation has 1 to {} bytes", kMaxCorrelationBytes));
  }
  if (command.timeout_ms.has_value() && *command.timeout_ms == 0) {
    return invalid("timeout_ms", "a timeout is longer than nothing");
  }
  if (!command.timeout_target.empty() && !is_target(command.timeout_target.view())) {
    return invalid("timeout_target",
                   fmt::format("\"{}\" is no target", command.timeout_target.view()));
  }
  return {};
}

WaitTimeout timeout_of(const Attempt& attempt, const OpenWait& command, TimeMs now) {
  WaitTimeout timeout;
  timeout.wait_id = attempt.runnable_key;
  timeout.timeout_runnable_key = fmt::format("{}:timeout", attempt.runnable_key.view());
  timeout.event = command.event;
  timeout.correlation = command.correlation;
  timeout.target = command.timeout_target.empty() ? kNextTarget : command.timeout_target.view();
  timeout.after = *command.timeout_ms;
  timeout.due_at = later(now, *command.timeout_ms);
  return timeout;
}

RunnablesPlanned timer_of(const Runnable& waiting, const WaitTimeout& timeout) {
  Runnable timer;
  timer.run_id = waiting.run_id;
  timer.runnable_key = timeout.timeout_runnable_key;
  timer.idempotency_key = timeout.timeout_runnable_key;
  timer.attempt_number = waiting.attempt_number;
  timer.queue = waiting.queue;
  timer.step = waiting.step;
  timer.input = Payload::trusted("{}");
  timer.visible_at = timeout.due_at;
  timer.handler = kTimerHandler;
  timer.event_wait_timeout = to_json(timeout).value();
  RunnablesPlanned planned;
  planned.run_id = waiting.run_id;
  planned.runnables.push_back(std::move(timer));
  return planned;
}

ExternalEventWaitResolved resolved_fact(const EventWait& wait, WaitAction action,
                                        const Payload& result) {
  ExternalEventWaitResolved fact;
  fact.run_id = wait.opened.run_id;
  fact.wait_id = wait.opened.wait_id;
  fact.step = wait.opened.step;
  fact.event = wait.opened.event;
  fact.correlation = wait.opened.correlation;
  fact.action = action;
  fact.result = result;
  if (action == WaitAction::timed_out) {
    fact.timeout_target = wait.opened.timeout->target;
  }
  return fact;
}

// Nobody has to look at the timer any more.
void add_timer_over(RunFacts& facts, const RunProjection& run, const EventWait& wait, TimeMs now) {
  if (!wait.opened.timeout.has_value()) {
    return;
  }
  const SharedText& key = wait.opened.timeout->timeout_runnable_key;
  const PlannedRunnable* timer = run.find(key.view());
  if (timer == nullptr || timer->applied) {
    return;
  }
  RunnableApplied over;
  over.run_id = run.run_id();
  over.runnable_key = key;
  over.applied_at = now;
  facts.emplace_back(std::move(over));
}

Result<void> check_event(const RunProjection& run, const SendEvent& command) {
  if (command.source.idempotency_key.empty()) {
    return refusal(run, ErrorCode::invalid_argument, "an event needs an idempotency key")
        .with("field", "idempotency_key");
  }
  const Payload payload = or_empty(command.payload);
  if (!payload.is_object() || payload.view().size() > kMaxPayloadBytes) {
    return refusal(run, ErrorCode::invalid_argument,
                   fmt::format("the payload of event {} is no JSON object of at most {} bytes",
                               command.event.view(), kMaxPayloadBytes))
        .with("field", "payload");
  }
  return {};
}

// Whether this very event was received before.
Result<bool> is_received(const RunProjection& run, const SendEvent& command) {
  for (const auto& [wait_id, wait] : run.rare().waits) {
    if (wait.idempotency_key != command.source.idempotency_key) {
      continue;
    }
    if (wait.opened.event == command.event && wait.opened.correlation == command.correlation &&
        wait.payload == or_empty(command.payload)) {
      return true;
    }
    return refusal(run, ErrorCode::idempotency_conflict,
                   fmt::format("the key {} was used for another event",
                               command.source.idempotency_key.view()))
        .with("idempotency_key", command.source.idempotency_key.view())
        .with("step", wait.opened.step.view());
  }
  return false;
}

Result<const EventWait*> find_wait(const RunProjection& run, const SendEvent& command) {
  for (const auto& [wait_id, wait] : run.rare().waits) {
    if (wait.status == WaitStatus::waiting && wait.opened.event == command.event &&
        wait.opened.correlation == command.correlation) {
      return &wait;
    }
  }
  return refusal(run, ErrorCode::event_wait_not_found,
                 fmt::format("it does not wait for event {} with this correlation",
                             command.event.view()))
      .with("event", command.event.view());
}

Payload naming_event(const SendEvent& command) {
  JsonWriter writer;
  writer.begin_object().member("event", command.event.view());
  writer.member("correlation", command.correlation.view()).end_object();
  return std::move(writer).take_text();
}

Payload timed_out(const EventWait& wait) {
  JsonWriter writer;
  writer.begin_object().member("timed_out", wait.opened.event.view()).end_object();
  return std::move(writer).take_text();
}

// The wait whose time is up; nullptr when it is over.
Result<const EventWait*> find_due(const RunProjection& run, std::string_view wait_id, TimeMs now) {
  const auto found = run.rare().waits.find(std::string(wait_id));
  if (found == run.rare().waits.end()) {
    return refusal(run, ErrorCode::event_wait_not_found, fmt::format("no wait {}", wait_id))
        .with("wait_id", wait_id);
  }
  const EventWait& wait = found->second;
  if (wait.status == WaitStatus::timed_out || wait.status == WaitStatus::resolved) {
    return nullptr;
  }
  if (run.is_terminal()) {
    return refusal(run, ErrorCode::terminal_run, fmt::format("it is {}", to_text(run.status())))
        .with("wait_id", wait_id)
        .with("step", wait.opened.step.view());
  }
  if (wait.status != WaitStatus::waiting) {
    return nullptr;
  }
  if (!wait.opened.timeout.has_value() || now < wait.opened.timeout->due_at) {
    return refusal(run, ErrorCode::invalid_transition,
                   fmt::format("the time of wait {} is not up", wait_id))
        .with("wait_id", wait_id)
        .with("step", wait.opened.step.view());
  }
  return &wait;
}

}  // namespace

Result<RunFacts> decide_open_wait(const RunProjection& run, const Attempt& attempt,
                                  const OpenWait& command, TimeMs now) {
  HOLDFAST_TRY(const PlannedRunnable* const planned, find_applicable(run, attempt));
  RunFacts facts;
  if (planned == nullptr) {
    return facts;
  }
  HOLDFAST_CHECK(check_not_waiting(run, attempt));
  HOLDFAST_CHECK(check_wait(run, attempt, command));
  facts.emplace_back(final_fact(run, attempt, now));
  ExternalEventWaitOpened opened;
  opened.run_id = run.run_id();
  opened.wait_id = attempt.runnable_key;
  opened.step = planned->plan.step;
  opened.event = command.event;
  opened.correlation = command.correlation;
  opened.opened_at = now;
  if (command.timeout_ms.has_value()) {
    opened.timeout = timeout_of(attempt, command, now);
  }
  const std::optional<WaitTimeout> timeout = opened.timeout;
  facts.emplace_back(std::move(opened));
  if (timeout.has_value()) {
    facts.emplace_back(timer_of(planned->plan, *timeout));
  }
  return facts;
}

Result<RunFacts> decide_receive_event(const RunProjection& run, const SendEvent& command,
                                      TimeMs now) {
  HOLDFAST_CHECK(check_started(run));
  HOLDFAST_CHECK(check_event(run, command));
  HOLDFAST_TRY(const bool known, is_received(run, command));
  RunFacts facts;
  if (known) {
    return facts;
  }
  if (run.is_terminal()) {
    return refusal(run, ErrorCode::terminal_run, fmt::format("it is {}", to_text(run.status())))
        .with("event", command.event.view());
  }
  HOLDFAST_TRY(const EventWait* const wait, find_wait(run, command));
  facts.emplace_back(
      receipt(run.run_id(), SignalType::signal_run, command.source, naming_event(command)));
  ExternalEventReceived received;
  received.run_id = run.run_id();
  received.wait_id = wait->opened.wait_id;
  received.event = command.event;
  received.correlation = command.correlation;
  received.payload = or_empty(command.payload);
  received.idempotency_key = command.source.idempotency_key;
  received.trace = command.source.trace;
  const Payload result = received.payload;
  facts.emplace_back(std::move(received));
  facts.emplace_back(resolved_fact(*wait, WaitAction::received, result));
  add_timer_over(facts, run, *wait, now);
  add_what_follows(facts, run, {wait->opened.step, result, now});
  return facts;
}

Result<RunFacts> decide_wait_timeout(const RunProjection& run, std::string_view wait_id,
                                     TimeMs now) {
  HOLDFAST_CHECK(check_started(run));
  HOLDFAST_TRY(const EventWait* const wait, find_due(run, wait_id, now));
  RunFacts facts;
  if (wait == nullptr) {
    return facts;
  }
  ExternalEventWaitTimeoutSelected selected;
  selected.run_id = run.run_id();
  selected.wait_id = wait->opened.wait_id;
  selected.timeout_runnable_key = wait->opened.timeout->timeout_runnable_key;
  selected.step = wait->opened.step;
  selected.event = wait->opened.event;
  selected.correlation = wait->opened.correlation;
  selected.target = wait->opened.timeout->target;
  selected.selected_at = now;
  facts.emplace_back(std::move(selected));
  const Payload result = timed_out(*wait);
  facts.emplace_back(resolved_fact(*wait, WaitAction::timed_out, result));
  add_timer_over(facts, run, *wait, now);
  add_target(facts, run, {wait->opened.step, result, now}, wait->opened.timeout->target.view(),
             terminal_error("event_timeout",
                            fmt::format("no event {} came in time", wait->opened.event.view()),
                            wait->opened.step.view()));
  return facts;
}

}  // namespace holdfast
