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

  template <typename Self, typename Visitor>
  static void visit(Self& self, Visitor& v) {
    v.required("wait_id", self.wait_id);
    v.required("timeout_runnable_key", self.timeout_runnable_key);
    v.required("event", self.event);
    v.optional("correlation", self.correlation);
    v.required("target", self.target);
    v.required("after", self.after);
    v.required("due_at", self.due_at);
  }
  friend bool operator==(const WaitTimeout&, const WaitTimeout&) = default;
};

struct AwaitedEvent {
  SharedText event;
  SharedText correlation;

  template <typename Self, typename Visitor>
  static void visit(Self& self, Visitor& v) {
    v.required("event", self.event);
    v.optional("correlation", self.correlation);
  }
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

  template <typename Self, typename Visitor>
  static void visit(Self& self, Visitor& v) {
    v.required("run_id", self.run_id);
    v.required("wait_id", self.wait_id);
    v.required("step", self.step);
    v.required("event", self.event);
    v.optional("correlation", self.correlation);
    v.optional("others", self.others);
    v.required("opened_at", self.opened_at);
    v.optional("timeout", self.timeout);
    v.optional("result", self.result);
    v.optional("trace", self.trace);
  }
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

  template <typename Self, typename Visitor>
  static void visit(Self& self, Visitor& v) {
    v.required("run_id", self.run_id);
    v.required("event", self.event);
    v.optional("correlation", self.correlation);
    v.required("payload", self.payload);
    v.required("idempotency_key", self.idempotency_key);
    v.optional("trace", self.trace);
  }
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

  template <typename Self, typename Visitor>
  static void visit(Self& self, Visitor& v) {
    v.required("run_id", self.run_id);
    v.required("wait_id", self.wait_id);
    v.required("event", self.event);
    v.optional("correlation", self.correlation);
    v.required("payload", self.payload);
    v.required("idempotency_key", self.idempotency_key);
    v.optional("trace", self.trace);
  }
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

  template <typename Self, typename Visitor>
  static void visit(Self& self, Visitor& v) {
    v.required("run_id", self.run_id);
    v.required("wait_id", self.wait_id);
    v.required("timeout_runnable_key", self.timeout_runnable_key);
    v.required("step", self.step);
    v.required("event", self.event);
    v.optional("correlation", self.correlation);
    v.required("target", self.target);
    v.required("selected_at", self.selected_at);
    v.optional("trace", self.trace);
  }
  friend bool operator==(const ExternalEventWaitTimeoutSelected&,
                         const ExternalEventWaitTimeoutSelected&) = default;
};

enum class WaitAction : std::uint8_t { received, timed_out };
template <>
inline constexpr std::string_view kEnumNames<WaitAction>[] = {"received", "timed_out"};

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

  template <typename Self, typename Visitor>
  static void visit(Self& self, Visitor& v) {
    v.required("run_id", self.run_id);
    v.required("wait_id", self.wait_id);
    v.required("step", self.step);
    v.required("event", self.event);
    v.optional("correlation", self.correlation);
    v.required("action", self.action);
    v.required("result", self.result);
    v.optional("transition", self.transition);
    v.optional("timeout_target", self.timeout_target);
    v.optional("trace", self.trace);
  }
  friend bool operator==(const ExternalEventWaitResolved&,
                         const ExternalEventWaitResolved&) = default;
};

}  // namespace holdfast
