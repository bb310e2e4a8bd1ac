// The facts of a run thread about events from outside and the steps that wait for them. See
// workflow/facts.h.
#pragma once

#include <algorithm>

#include "runs/run/run_facts.h"

namespace holdfast {

// The timer that ends a wait when no event comes.
struct WaitTimeout {
  SharedText wait_id;
  SharedText timeout_runnable_key;
  SharedText event;
  SharedText correlation;
  SharedText target;
  std::uint64_t after = 0;  // milliseconds
  TimeMs due_at;

  HOLDFAST_FIELDS(required(wait_id), required(timeout_runnable_key), required(event),
                  optional(correlation), required(target), required(after), required(due_at));
  friend bool operator==(const WaitTimeout&, const WaitTimeout&) = default;
};

struct AwaitedEvent {
  SharedText event;
  SharedText correlation;

  HOLDFAST_FIELDS(required(event), optional(correlation));
  friend bool operator==(const AwaitedEvent&, const AwaitedEvent&) = default;
};

struct ExternalEventWaitOpened {
  static constexpr std::string_view kKind = "external_event_wait_opened";
  RunId run_id;
  SharedText wait_id;  // the runnable key of the waiting step
  SharedText step;
  SharedText event;
  SharedText correlation;
  std::vector<AwaitedEvent> others;  // any of these ends the wait too
  TimeMs opened_at;
  std::optional<WaitTimeout> timeout;

  [[nodiscard]] bool awaits(const SharedText& name, const SharedText& key) const {
    return (name == event && key == correlation) ||
           std::find(others.begin(), others.end(), AwaitedEvent{name, key}) != others.end();
  }
  Payload result;
  Payload trace;

  HOLDFAST_FIELDS(required(run_id), required(wait_id), required(step), required(event),
                  optional(correlation), optional(others), required(opened_at), optional(timeout),
                  optional(result), optional(trace));
  friend bool operator==(const ExternalEventWaitOpened&, const ExternalEventWaitOpened&) = default;
};

// An event that came before anything waited for it. The first wait that fits receives it.
struct ExternalEventBuffered {
  static constexpr std::string_view kKind = "external_event_buffered";
  RunId run_id;
  SharedText event;
  SharedText correlation;
  Payload payload;
  SharedText idempotency_key;
  Payload trace;

  HOLDFAST_FIELDS(required(run_id), required(event), optional(correlation), required(payload),
                  required(idempotency_key), optional(trace));
  friend bool operator==(const ExternalEventBuffered&, const ExternalEventBuffered&) = default;
};

struct ExternalEventReceived {
  static constexpr std::string_view kKind = "external_event_received";
  RunId run_id;
  SharedText wait_id;
  SharedText event;
  SharedText correlation;
  Payload payload;
  SharedText idempotency_key;
  Payload trace;

  HOLDFAST_FIELDS(required(run_id), required(wait_id), required(event), optional(correlation),
                  required(payload), required(idempotency_key), optional(trace));
  friend bool operator==(const ExternalEventReceived&, const ExternalEventReceived&) = default;
};

struct ExternalEventWaitTimeoutSelected {
  static constexpr std::string_view kKind = "external_event_wait_timeout_selected";
  RunId run_id;
  SharedText wait_id;
  SharedText timeout_runnable_key;
  SharedText step;
  SharedText event;
  SharedText correlation;
  SharedText target;
  TimeMs selected_at;
  Payload trace;

  HOLDFAST_FIELDS(required(run_id), required(wait_id), required(timeout_runnable_key),
                  required(step), required(event), optional(correlation), required(target),
                  required(selected_at), optional(trace));
  friend bool operator==(const ExternalEventWaitTimeoutSelected&,
                         const ExternalEventWaitTimeoutSelected&) = default;
};

HOLDFAST_ENUM(WaitAction, received, timed_out);

struct ExternalEventWaitResolved {
  static constexpr std::string_view kKind = "external_event_wait_resolved";
  RunId run_id;
  SharedText wait_id;
  SharedText step;
  SharedText event;
  SharedText correlation;
  WaitAction action = WaitAction::received;
  Payload result;
  Payload transition;
  SharedText timeout_target;
  Payload trace;

  HOLDFAST_FIELDS(required(run_id), required(wait_id), required(step), required(event),
                  optional(correlation), required(action), required(result), optional(transition),
                  optional(timeout_target), optional(trace));
  friend bool operator==(const ExternalEventWaitResolved&,
                         const ExternalEventWaitResolved&) = default;
};

}  // namespace holdfast
