// WorkflowSpec: a definition as its author writes it, one struct per part of the language
// (docs/workflow-language.md). The visit lists are its canonical JSON form: what has its default
// is left out, so one definition has one text, and its SHA-256 names it.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/fields.h"
#include "runs/language/definition/retry_policy.h"
#include "runs/language/definition/step_kinds.h"
#include "runs/language/definition/step_policy.h"

namespace holdfast {

HOLDFAST_ENUM(TriggerType, manual, cron);

HOLDFAST_ENUM(CronIdempotency, return_existing_run, skip_duplicate, none);

// What to do about due times that passed while no engine was running.
HOLDFAST_ENUM(CatchUp, skip, latest);

// Who starts the runs: the engine when they are due, or a scheduler outside of it.
HOLDFAST_ENUM(CronDelivery, engine, external);

struct CronSpec {
  SharedText expression;
  SharedText timezone;
  CronIdempotency idempotency = CronIdempotency::return_existing_run;
  CatchUp catch_up = CatchUp::skip;
  CronDelivery delivery = CronDelivery::engine;

  // The engine's own delivery is not written: definitions from before it keep their fingerprint.
  template <typename Self, typename Visitor>
  static void visit(Self& self, Visitor& v) {
    v.required("expression", self.expression);
    v.required("timezone", self.timezone);
    v.optional("idempotency", self.idempotency);
    v.optional("catch_up", self.catch_up);
    if (!std::is_const_v<Self> || self.delivery != CronDelivery::engine) {
      v.optional("delivery", self.delivery);
    }
  }
  friend bool operator==(const CronSpec&, const CronSpec&) = default;
};

struct TriggerSpec {
  SharedText name;
  std::optional<CronSpec> cron;  // without: manual
  Payload payload;               // a contract (data/contract.h); empty: any object

  HOLDFAST_FIELDS(required(name), optional(cron), optional(payload));
  friend bool operator==(const TriggerSpec&, const TriggerSpec&) = default;
};

HOLDFAST_ENUM(StepOutcome, ok, error);

// Targets beside steps. No step has such a name.
inline constexpr std::string_view kCompleteStep = "complete";  // this path ends
inline constexpr std::string_view kFailStep = "fail";          // the run fails

HOLDFAST_ENUM(RecoveryLabel, none, compensation, undo);

struct TransitionSpec {
  SharedText from;
  StepOutcome on = StepOutcome::ok;
  SharedText to;
  Payload when;  // a condition (data/condition.h); empty: always
  RecoveryLabel recovery = RecoveryLabel::none;

  template <typename Self, typename Visitor>
  static void visit(Self& self, Visitor& v) {
    v.required("from", self.from);
    v.required("on", self.on);
    v.required("to", self.to);
    v.optional("when", self.when);
    if (self.recovery != RecoveryLabel::none) {
      v.required("recovery", self.recovery);
    }
  }
  friend bool operator==(const TransitionSpec&, const TransitionSpec&) = default;
};

HOLDFAST_ENUM(Escalation, diagnostic, operator_action, workflow_step, host_callback);

// By when a step should be done. Shown by inspection, not enforced.
struct DeadlineSpec {
  std::uint64_t within_ms = 0;
  std::uint64_t due_soon_ms = 0;
  std::uint64_t escalate_after_ms = 0;
  Escalation escalation = Escalation::diagnostic;
  SharedText target;

  HOLDFAST_FIELDS(required(within_ms), optional(due_soon_ms), optional(escalate_after_ms),
                  optional(escalation), optional(target));
  friend bool operator==(const DeadlineSpec&, const DeadlineSpec&) = default;
};

struct CompensateSpec {
  SharedText handler;
  SharedText queue;
  ClaimOptions claim;
  RetryPolicy retry;

  template <typename Self, typename Visitor>
  static void visit(Self& self, Visitor& v) {
    v.required("handler", self.handler);
    v.optional("queue", self.queue);
    ClaimOptions::visit(self.claim, v);
    if (!(self.retry == RetryPolicy{})) {
      v.required("retry", self.retry);
    }
  }
  friend bool operator==(const CompensateSpec&, const CompensateSpec&) = default;
};

// CircuitBreaker as a spec has it.
struct CircuitBreakerSpec {
  std::uint32_t failures = 0;
  std::uint64_t probe_after_ms = kUsualProbeAfterMs;

  HOLDFAST_FIELDS(required(failures), required(probe_after_ms));
  friend bool operator==(const CircuitBreakerSpec&, const CircuitBreakerSpec&) = default;
};

HOLDFAST_ENUM(EachErrors, fail, collect);

// The step is carried out once for each item of a list.
struct ForEachSpec {
  Payload items;                  // a JSON string: a path to the list; or the list itself
  SharedText as;                  // what the item is called in the input; empty: item
  std::uint32_t concurrency = 0;  // 0: all at once
  EachErrors on_error = EachErrors::fail;

  HOLDFAST_FIELDS(required(items), optional(as), optional(concurrency), optional(on_error));
  friend bool operator==(const ForEachSpec&, const ForEachSpec&) = default;
};

// What a step is beside a call of a handler: at most one of log .. child.
struct StepSpec {
  SharedText name;
  SharedText handler;  // empty: the step's own name
  SharedText queue;    // empty: the run's queue
  std::vector<SharedText> after;
  StepPolicy policy;
  RetryPolicy retry;
  SharedText description;
  Payload input;      // a mapping (data/mapping.h); empty: the whole context
  SharedText output;  // the key of the result in the context; empty: its members join it
  std::optional<DeadlineSpec> deadline;
  bool irreversible = false;
  std::optional<bool> compensatable;
  std::optional<CompensateSpec> compensate;
  Payload input_schema;  // contracts
  Payload output_schema;
  std::uint32_t max_visits = 0;  // 0: the workflow's
  std::optional<ForEachSpec> for_each;
  std::optional<LogSpec> log;
  std::optional<WaitSpec> wait;
  std::optional<ManualSpec> pause;
  std::optional<ManualSpec> approval;
  std::optional<AwaitEventSpec> await_event;
  std::optional<HttpSpec> http;
  std::optional<ExecSpec> exec;
  std::optional<ChildSpec> child;

  // Something beside the engine has a part in it, so there is something to try again.
  [[nodiscard]] bool is_called() const {
    return !log.has_value() && !wait.has_value() && !pause.has_value() && !approval.has_value() &&
           !await_event.has_value();
  }

  template <typename Self, typename Visitor>
  static void visit(Self& self, Visitor& v) {
    v.required("name", self.name);
    v.optional("handler", self.handler);
    v.optional("queue", self.queue);
    v.optional("after", self.after);
    ClaimOptions::visit(self.policy.claim, v);
    if (self.is_called() || !(self.retry == RetryPolicy{})) {
      v.optional("retry", self.retry);
    }
    v.optional("description", self.description);
    v.optional("input", self.input);
    v.optional("output", self.output);
    if (!(self.policy.timeout == StepTimeouts{})) {
      v.required("timeout", self.policy.timeout);
    }
    if (self.policy.circuit.is_set()) {
      const CircuitBreaker& circuit = self.policy.circuit;
      CircuitBreakerSpec spec{circuit.failures, circuit.probe_after_ms};
      v.required("circuit_breaker", spec);
    }
    v.optional("deadline", self.deadline);
    v.optional("irreversible", self.irreversible);
    v.optional("compensatable", self.compensatable);
    v.optional("compensate", self.compensate);
    v.optional("input_schema", self.input_schema);
    v.optional("output_schema", self.output_schema);
    v.optional("max_visits", self.max_visits);
    v.optional("for_each", self.for_each);
    v.optional("log", self.log);
    v.optional("wait", self.wait);
    v.optional("pause", self.pause);
    v.optional("approval", self.approval);
    v.optional("await_event", self.await_event);
    v.optional("http", self.http);
    v.optional("exec", self.exec);
    v.optional("child", self.child);
  }
};

struct WorkflowSpec {
  SharedText workflow;
  SharedText version;
  std::vector<StepSpec> steps;
  SharedText description;
  std::vector<TriggerSpec> triggers;  // empty: one, manual, that takes any object
  SharedText entry;                   // the first step, where it is also the target of a loop
  std::vector<TransitionSpec> transitions;
  std::uint64_t timeout_ms = 0;  // of the whole run; 0: none
  std::uint32_t max_visits = 0;  // of each step; 0: kDefaultMaxVisits
  Payload output;                // a mapping: the result of the run; empty: its context
  bool compensate_on_cancel = false;

  HOLDFAST_FIELDS(required(workflow), optional(version), required(steps), optional(description),
                  optional(triggers), optional(entry), optional(transitions), optional(timeout_ms),
                  optional(max_visits), optional(output), optional(compensate_on_cancel));
};

}  // namespace holdfast
