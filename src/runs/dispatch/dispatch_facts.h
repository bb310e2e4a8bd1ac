// The facts of a dispatch thread: which attempts exist, which worker claims them, how they end. One
// struct per entry kind; docs/protocol.md shows the JSON form of each. The time at which a fact
// occurred is in the entry, not in the fact.
#pragma once

#include <cstdint>
#include <string_view>
#include <variant>

#include "base/fields.h"
#include "runs/facts/ids.h"
#include "runs/language/definition/step_policy.h"
#include "storage/entry/entry.h"

namespace holdfast {

struct RunQueued {
  static constexpr std::string_view kKind = "run_queued";
  RunId run_id;
  SharedText queue;

  HOLDFAST_FIELDS(required(run_id), required(queue));
  friend bool operator==(const RunQueued&, const RunQueued&) = default;
};

// The durable intent to attempt a step, from visible_at on.
struct AttemptScheduled {
  static constexpr std::string_view kKind = "attempt_scheduled";
  RunId run_id;
  SharedText runnable_key;
  SharedText idempotency_key;  // the same for all attempts at one visit or item of a step
  std::uint32_t attempt_number = 0;
  SharedText queue;
  SharedText step;
  Payload input;
  TimeMs visible_at;
  SharedText workflow;
  SharedText handler;  // the handler that executes it; empty: the name of the step
  StepPolicy policy;
  Payload event_wait_timeout;
  Payload deadline;
  Payload trace;

  template <typename Self, typename Visitor>
  static void visit(Self& self, Visitor& v) {
    v.required("run_id", self.run_id);
    v.required("runnable_key", self.runnable_key);
    v.required("idempotency_key", self.idempotency_key);
    v.required("attempt_number", self.attempt_number);
    v.required("queue", self.queue);
    v.required("step", self.step);
    v.required("input", self.input);
    v.required("visible_at", self.visible_at);
    v.optional("workflow", self.workflow);
    v.optional("handler", self.handler);
    StepPolicy::visit(self.policy, v);
    v.optional("event_wait_timeout", self.event_wait_timeout);
    v.optional("deadline", self.deadline);
    v.optional("trace", self.trace);
  }
  friend bool operator==(const AttemptScheduled&, const AttemptScheduled&) = default;
};

// The worker holds the token; the journal only its SHA-256. owner_id names one process
// incarnation.
struct AttemptClaimed {
  static constexpr std::string_view kKind = "attempt_claimed";
  RunId run_id;
  SharedText runnable_key;
  SharedText claim_id;
  Digest claim_token_hash{};
  SharedText owner_id;
  SharedText queue;
  TimeMs lease_until;
  Payload trace;

  HOLDFAST_FIELDS(required(run_id), required(runnable_key), required(claim_id),
                  required(claim_token_hash), required(owner_id), required(queue),
                  required(lease_until), optional(trace));
  friend bool operator==(const AttemptClaimed&, const AttemptClaimed&) = default;
};

struct AttemptHeartbeat {
  static constexpr std::string_view kKind = "attempt_heartbeat";
  RunId run_id;
  SharedText runnable_key;
  SharedText claim_id;
  Digest claim_token_hash{};
  SharedText queue;
  TimeMs lease_until;
  Payload progress;  // reported by the worker; empty: unchanged
  Payload trace;

  HOLDFAST_FIELDS(required(run_id), required(runnable_key), required(claim_id),
                  required(claim_token_hash), required(queue), required(lease_until),
                  optional(progress), optional(trace));
  friend bool operator==(const AttemptHeartbeat&, const AttemptHeartbeat&) = default;
};

struct AttemptCompleted {
  static constexpr std::string_view kKind = "attempt_completed";
  RunId run_id;
  SharedText runnable_key;
  SharedText claim_id;
  Digest claim_token_hash{};
  SharedText queue;
  Payload result;
  Payload execution_opts;  // requested by the step beside its result
  Payload details;         // for operators: the stderr output of the step, for example
  Payload trace;

  HOLDFAST_FIELDS(required(run_id), required(runnable_key), required(claim_id),
                  required(claim_token_hash), required(queue), required(result),
                  optional(execution_opts), optional(details), optional(trace));
  friend bool operator==(const AttemptCompleted&, const AttemptCompleted&) = default;
};

// With retry_runnable_key and retry_visible_at (both or neither) it also schedules the next
// attempt at the same step with the same input. retry_idempotency_key is the idempotency key of
// that attempt; facts of older versions lack it and mean retry_runnable_key.
struct AttemptFailed {
  static constexpr std::string_view kKind = "attempt_failed";
  RunId run_id;
  SharedText runnable_key;
  SharedText claim_id;
  Digest claim_token_hash{};
  SharedText queue;
  Payload error;
  SharedText retry_runnable_key;
  SharedText retry_idempotency_key;
  std::optional<TimeMs> retry_visible_at;
  Payload retry_deadline;
  Payload retry_trace;
  Payload trace;

  HOLDFAST_FIELDS(required(run_id), required(runnable_key), required(claim_id),
                  required(claim_token_hash), required(queue), required(error),
                  optional(retry_runnable_key), optional(retry_idempotency_key),
                  optional(retry_visible_at), optional(retry_deadline), optional(retry_trace),
                  optional(trace));
  friend bool operator==(const AttemptFailed&, const AttemptFailed&) = default;
};

// Workers were notified of the attempt. Only a hint: losing it loses nothing.
struct LiveWakeupEmitted {
  static constexpr std::string_view kKind = "live_wakeup_emitted";
  RunId run_id;
  SharedText runnable_key;
  SharedText queue;

  HOLDFAST_FIELDS(required(run_id), required(runnable_key), required(queue));
  friend bool operator==(const LiveWakeupEmitted&, const LiveWakeupEmitted&) = default;
};

// The next three are about the circuit breaker of a step type: the workflow and the step of the
// attempt that they name, without visit and item, in this queue.

// The attempt failed, and it was the last of too many consecutive failures, or a probe. No attempt
// of the type is claimed before probe_at, and then one.
struct CircuitOpened {
  static constexpr std::string_view kKind = "circuit_opened";
  RunId run_id;
  SharedText runnable_key;
  SharedText queue;
  SharedText workflow;
  SharedText step;
  std::uint64_t failures = 0;  // consecutive ones so far
  TimeMs probe_at;
  Payload error;  // of the attempt; empty: it is long

  HOLDFAST_FIELDS(required(run_id), required(runnable_key), required(queue), optional(workflow),
                  required(step), required(failures), required(probe_at), optional(error));
  friend bool operator==(const CircuitOpened&, const CircuitOpened&) = default;
};

// The claim of the attempt is the probe of the type.
struct CircuitProbed {
  static constexpr std::string_view kKind = "circuit_probed";
  RunId run_id;
  SharedText runnable_key;
  SharedText probe_claim_id;
  SharedText queue;
  SharedText workflow;
  SharedText step;

  HOLDFAST_FIELDS(required(run_id), required(runnable_key), required(probe_claim_id),
                  required(queue), optional(workflow), required(step));
  friend bool operator==(const CircuitProbed&, const CircuitProbed&) = default;
};

// The attempt completed.
struct CircuitClosed {
  static constexpr std::string_view kKind = "circuit_closed";
  RunId run_id;
  SharedText runnable_key;
  SharedText queue;
  SharedText workflow;
  SharedText step;

  HOLDFAST_FIELDS(required(run_id), required(runnable_key), required(queue), optional(workflow),
                  required(step));
  friend bool operator==(const CircuitClosed&, const CircuitClosed&) = default;
};

// An operator closed the circuit breaker of the step type. About no attempt: all runs that had one
// may have ended.
struct CircuitReset {
  static constexpr std::string_view kKind = "circuit_reset";
  SharedText queue;
  SharedText workflow;
  SharedText step;
  SharedText actor;
  SharedText reason;

  HOLDFAST_FIELDS(required(queue), optional(workflow), required(step), optional(actor),
                  optional(reason));
  friend bool operator==(const CircuitReset&, const CircuitReset&) = default;
};

using DispatchFact = std::variant<RunQueued, AttemptScheduled, AttemptClaimed, AttemptHeartbeat,
                                  AttemptCompleted, AttemptFailed, LiveWakeupEmitted, CircuitOpened,
                                  CircuitProbed, CircuitClosed, CircuitReset>;

// Whether the fact is about the run; a circuit_reset is about none.
bool is_about(const DispatchFact& fact, const RunId& run);

std::string_view kind_of(const DispatchFact& fact);

// missing_fields when something required has no value; invalid_argument when fields contradict
// each other.
Result<NewEntry> to_entry(const DispatchFact& fact, TimeMs at);
// unknown_entry_type, missing_fields or invalid_argument; invalid_json when the data is not an
// object.
Result<DispatchFact> dispatch_fact(std::string_view kind, std::string_view data);

}  // namespace holdfast
