#include <fmt/format.h>

#include "runs/run/event_names.h"
#include "runs/run/run_fold.h"
#include "runs/run/run_planning.h"

namespace holdfast {

namespace {

constexpr std::size_t kMaxEventBytes = 255;
constexpr std::size_t kMaxCorrelationBytes = 1024;
constexpr std::size_t kMaxPayloadBytes = 1U << 20U;

Error invalid(const RunProjection& run, std::string_view field, const std::string& message) {
  return refusal(run, ErrorCode::invalid_argument, message).with("field", field);
}

Result<void> check_event(const RunProjection& run, const SendEvent& command) {
  if (command.source.idempotency_key.empty()) {
    return invalid(run, "idempotency_key", "an event needs an idempotency key");
  }
  if (command.event.empty() || command.event.view().size() > kMaxEventBytes) {
    return invalid(run, "event",
                   fmt::format("an event has a name of 1 to {} bytes", kMaxEventBytes));
  }
  if (command.correlation.view().size() > kMaxCorrelationBytes) {
    return invalid(run, "correlation",
                   fmt::format("a correlation has at most {} bytes", kMaxCorrelationBytes));
  }
  const Payload payload = or_empty(command.payload);
  if (!payload.is_object() || payload.view().size() > kMaxPayloadBytes) {
    return invalid(
        run, "payload",
        fmt::format("the payload of event \"{}\" is not a JSON object of at most {} bytes",
                    command.event.view(), kMaxPayloadBytes));
  }
  return {};
}

// Whether this very event was received before.
Result<bool> is_received(const RunProjection& run, const SendEvent& command) {
  const auto& keys = run.received_event_keys();
  const auto known = keys.find(command.source.idempotency_key.str());
  if (known == keys.end()) {
    return false;
  }
  if (known->second ==
      event_digest(command.event, command.correlation, or_empty(command.payload))) {
    return true;
  }
  return refusal(run, ErrorCode::idempotency_conflict,
                 fmt::format("the key {} was used for another event",
                             command.source.idempotency_key.view()))
      .with("idempotency_key", command.source.idempotency_key.view());
}

// The wait that was opened first; of those of one moment the one whose step was planned first.
const EventWait* find_wait(const RunProjection& run, const SharedText& event,
                           const SharedText& correlation) {
  const auto age = [&](const EventWait& wait) {
    const PlannedRunnable* planned = run.find(wait.opened.wait_id.view());
    return std::pair(wait.opened.opened_at, planned == nullptr ? 0 : planned->order);
  };
  const EventWait* first = nullptr;
  for (const auto& [wait_id, wait] : run.waits()) {
    if (wait.status == WaitStatus::waiting && wait.opened.awaits(event, correlation) &&
        (first == nullptr || age(wait) < age(*first))) {
      first = &wait;
    }
  }
  return first;
}

Payload naming_event(const SendEvent& command) {
  JsonWriter writer;
  writer.begin_object().member("event", command.event.view());
  if (!command.correlation.empty()) {
    writer.member("correlation", command.correlation.view());
  }
  writer.end_object();
  return std::move(writer).take_text();
}

Runnable timer_of(const Runnable& waiting, const WaitTimeout& timeout) {
  Runnable timer;
  timer.run_id = waiting.run_id;
  timer.runnable_key = timeout.timeout_runnable_key;
  timer.idempotency_key = timeout.timeout_runnable_key;
  timer.attempt_number = waiting.attempt_number;
  timer.queue = waiting.queue;
  timer.step = waiting.step;
  timer.input = empty_object();
  timer.visible_at = timeout.due_at;
  timer.handler = timer_handler();
  timer.event_wait_timeout = to_json(timeout).value();
  return timer;
}

ExternalEventWaitResolved resolved_fact(const EventWait& wait, const AwaitedEvent& event,
                                        WaitAction action, const Payload& result) {
  ExternalEventWaitResolved fact;
  fact.run_id = wait.opened.run_id;
  fact.wait_id = wait.opened.wait_id;
  fact.step = wait.opened.step;
  fact.event = event.event;
  fact.correlation = event.correlation;
  fact.action = action;
  fact.result = result;
  if (action == WaitAction::timed_out) {
    fact.timeout_target = wait.opened.timeout->target;
  }
  return fact;
}

// The timer is no longer needed.
void end_timer(RunDraft& draft, const EventWait& wait) {
  if (!wait.opened.timeout.has_value()) {
    return;
  }
  const SharedText& key = wait.opened.timeout->timeout_runnable_key;
  const PlannedRunnable* timer = draft.run().find(key.view());
  if (timer == nullptr || timer->applied) {
    return;
  }
  RunnableApplied over;
  over.run_id = draft.run().run_id();
  over.runnable_key = key;
  over.applied_at = draft.now();
  draft.add(std::move(over));
}

// Where several events are awaited, also which one came.
Payload result_of(const Step& step, const ExternalEventBuffered& event) {
  if (!step.spec.await_event.has_value() || step.spec.await_event->any_of.size() == 1) {
    return event.payload;
  }
  JsonWriter writer;
  writer.begin_object().member("event", event.event.view());
  writer.member("payload", JsonText::trusted(std::string(event.payload.view()))).end_object();
  return std::move(writer).take_text();
}

// The correlation of an event; empty when its path leads nowhere.
std::optional<SharedText> correlation_of(const EventSpec& spec, const DataView& data) {
  if (spec.correlation.empty()) {
    return SharedText();
  }
  if (const auto literal = json_string_value(spec.correlation.view())) {
    return SharedText(*literal);
  }
  const auto path_json = ObjectView(spec.correlation.view()).member("path");
  const auto path = DataPath::parse(
      path_json.has_value() ? json_string_value(*path_json).value_or("") : std::string());
  std::string storage;
  const auto value = path.ok() ? find_value(data, path.value(), storage) : std::nullopt;
  if (!value.has_value() || value->size() > kMaxCorrelationBytes) {
    return std::nullopt;
  }
  return SharedText(json_string_value(*value).value_or(std::string(*value)));
}

const Step* step_of(RunDraft& draft, const EventWait& wait) {
  const auto index = draft.definition().find(wait.opened.step.view());
  return index.has_value() ? &draft.definition().steps()[*index] : nullptr;
}

}  // namespace

void RunDraft::open_wait(const Step& step, const PlannedRunnable& planned) {
  const AwaitEventSpec& spec = *step.spec.await_event;
  ExternalEventWaitOpened opened;
  opened.run_id = run_.run_id();
  opened.wait_id = planned.plan.runnable_key;
  opened.step = planned.plan.step;
  opened.opened_at = now_;
  for (const EventSpec& event : spec.any_of) {
    const auto correlation = correlation_of(event, ContextView(run_));
    if (!correlation.has_value()) {
      fault(planned, terminal_error("missing_input_path",
                                    fmt::format("the correlation of event {} is not there: {}",
                                                event.event.view(), event.correlation.view()),
                                    step.name.view()));
      return;
    }
    if (opened.event.empty()) {
      opened.event = event.event;
      opened.correlation = *correlation;
    } else {
      opened.others.push_back({event.event, *correlation});
    }
  }
  if (spec.timeout_ms > 0) {
    WaitTimeout timeout;
    timeout.wait_id = opened.wait_id;
    timeout.timeout_runnable_key = fmt::format("{}:timeout", opened.wait_id.view());
    timeout.event = opened.event;
    timeout.correlation = opened.correlation;
    timeout.target = spec.on_timeout.empty() ? SharedText("error") : spec.on_timeout;
    timeout.after = spec.timeout_ms;
    timeout.due_at = later(now_, spec.timeout_ms);
    opened.timeout = timeout;
  }
  const ExternalEventWaitOpened wait = opened;
  add(std::move(opened));
  if (wait.timeout.has_value()) {
    plan(timer_of(planned.plan, *wait.timeout));
    flush();
  }
  const auto known = run_.waits().find(wait.wait_id.str());
  if (known == run_.waits().end()) {
    return;  // foreign facts forbid it
  }
  for (const ExternalEventBuffered& event : run_.buffered_events()) {
    if (wait.awaits(event.event, event.correlation)) {
      received(EventWait(known->second), ExternalEventBuffered(event));
      return;
    }
  }
}

void RunDraft::received(const EventWait& wait, const ExternalEventBuffered& event) {
  ExternalEventReceived fact;
  fact.run_id = run_.run_id();
  fact.wait_id = wait.opened.wait_id;
  fact.event = event.event;
  fact.correlation = event.correlation;
  fact.payload = event.payload;
  fact.idempotency_key = event.idempotency_key;
  fact.trace = event.trace;
  add(std::move(fact));
  add(resolved_fact(wait, {event.event, event.correlation}, WaitAction::received,
                    Payload::trusted("{}")));
  end_timer(*this, wait);
  const PlannedRunnable* planned = run_.find(wait.opened.wait_id.view());
  const Step* step = step_of(*this, wait);
  if (planned == nullptr || step == nullptr) {
    return;  // another writer invented the wait
  }
  if (planned->applied) {
    continue_after(*planned);
  } else {
    done(*planned, {result_of(*step, event)});
  }
}

void RunDraft::timed_out(const EventWait& wait) {
  ExternalEventWaitTimeoutSelected selected;
  selected.run_id = run_.run_id();
  selected.wait_id = wait.opened.wait_id;
  selected.timeout_runnable_key = wait.opened.timeout->timeout_runnable_key;
  selected.step = wait.opened.step;
  selected.event = wait.opened.event;
  selected.correlation = wait.opened.correlation;
  selected.target = wait.opened.timeout->target;
  selected.selected_at = now_;
  add(std::move(selected));
  JsonWriter writer;
  writer.begin_object().member("timed_out", wait.opened.event.view()).end_object();
  add(resolved_fact(wait, {wait.opened.event, wait.opened.correlation}, WaitAction::timed_out,
                    Payload(std::move(writer).take_text())));
  end_timer(*this, wait);
  const PlannedRunnable* planned = run_.find(wait.opened.wait_id.view());
  const Step* step = step_of(*this, wait);
  if (planned == nullptr || step == nullptr) {
    return;
  }
  const Payload error = terminal_error(
      "event_timeout", fmt::format("no event {} came in time", event_names(wait.opened)),
      wait.opened.step.view());
  // A step that waited after its result was applied.
  if (planned->applied) {
    if (wait.opened.timeout->target.view() == "__next__") {
      continue_after(*planned);
    } else {
      fail_run(error);
    }
    return;
  }
  if (!step->on_timeout.has_value()) {
    failed(*planned, error);
    return;
  }
  take_route(*planned, RouteOn::timeout, *step->on_timeout, step->spec.await_event->on_timeout,
             error);
}

Result<RunFacts> decide_receive_event(RunProjection& run, const SendEvent& command,
                                      const Surroundings& around, TimeMs now) {
  HOLDFAST_CHECK(check_started(run));
  HOLDFAST_CHECK(check_event(run, command));
  HOLDFAST_TRY(const bool known, is_received(run, command));
  if (known) {
    return RunFacts();
  }
  if (run.is_terminal() || run.is_compensating()) {
    return refusal(run, ErrorCode::terminal_run, fmt::format("it is {}", to_text(run.status())))
        .with("event", command.event.view());
  }
  ExternalEventBuffered event;
  event.run_id = run.run_id();
  event.event = command.event;
  event.correlation = command.correlation;
  event.payload = or_empty(command.payload);
  event.idempotency_key = command.source.idempotency_key;
  event.trace = command.source.trace;
  const EventWait* wait = find_wait(run, command.event, command.correlation);
  if (wait == nullptr && run.buffered_events().size() >= kMaxBufferedEvents) {
    return refusal(run, ErrorCode::too_large,
                   fmt::format("{} events wait already for steps that would receive them",
                               kMaxBufferedEvents))
        .with("event", command.event.view());
  }
  RunDraft draft(run, around, now);
  const std::optional<EventWait> open =
      wait == nullptr ? std::nullopt : std::optional(EventWait(*wait));
  draft.add(receipt(run.run_id(), SignalType::signal_run, command.source, naming_event(command)));
  if (open.has_value()) {
    draft.received(*open, event);
  } else {
    draft.add(std::move(event));
  }
  return draft.finish();
}

}  // namespace holdfast
