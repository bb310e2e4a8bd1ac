// Attempt: the state of one attempt at one step, folded from the facts of a dispatch thread.
#pragma once

#include <cstdint>

#include "base/box.h"
#include "base/hash.h"
#include "runs/dispatch/dispatch_facts.h"

namespace holdfast {

HOLDFAST_ENUM(AttemptStatus, available, retry_scheduled, claimed, completed, failed);

// What is kept of a payload that is too large for memory: its digest, and the entry of the dispatch
// thread that holds it.
struct StoredPayload {
  Digest digest{};
  std::uint64_t seq = 0;

  [[nodiscard]] bool is(const Payload& payload) const { return sha256(payload.view()) == digest; }

  HOLDFAST_FIELDS(required(digest), required(seq));
  friend bool operator==(const StoredPayload&, const StoredPayload&) = default;
};

struct Claim {
  SharedText claim_id;
  Digest token_hash{};
  SharedText owner_id;
  TimeMs claimed_at;
  TimeMs lease_until;
  Payload progress = {};  // kept from an earlier claim that expired

  template <typename Self, typename Visitor>
  static void visit(Self& self, Visitor& v) {
    v.required("claim_id", self.claim_id);
    v.required("claim_token_hash", self.token_hash);
    v.required("owner_id", self.owner_id);
    v.required("claimed_at", self.claimed_at);
    v.required("lease_until", self.lease_until);
    v.optional("progress", self.progress);
  }
  friend bool operator==(const Claim&, const Claim&) = default;
};

// How a completed or failed attempt ended. When its payloads are too large for memory they are
// empty here, and `stored` is about the result or the error.
struct Outcome {
  TimeMs at;
  Payload result;
  Payload error;
  Payload execution_opts;
  Payload details = {};
  Box<StoredPayload> stored = {};

  [[nodiscard]] bool has_result(const Payload& other) const {
    return stored ? stored->is(other) : result == other;
  }
  [[nodiscard]] bool has_error(const Payload& other) const {
    return stored ? stored->is(other) : error == other;
  }

  HOLDFAST_FIELDS(required(at), optional(result), optional(error), optional(execution_opts),
                  optional(details), optional(stored));
  friend bool operator==(const Outcome&, const Outcome&) = default;
};

// Parts of the intent that most attempts do not have.
struct AttemptExtras {
  Payload event_wait_timeout;
  Payload deadline;
  Payload trace;
  StepTimeouts timeout;
  std::optional<StoredPayload> stored_input = {};

  template <typename Self, typename Visitor>
  static void visit(Self& self, Visitor& v) {
    v.optional("event_wait_timeout", self.event_wait_timeout);
    v.optional("deadline", self.deadline);
    v.optional("trace", self.trace);
    StepTimeouts::visit(self.timeout, v);
    v.optional("stored_input", self.stored_input);
  }
  friend bool operator==(const AttemptExtras&, const AttemptExtras&) = default;
};

struct Attempt {
  RunId run_id;
  SharedText runnable_key;
  SharedText idempotency_key;
  SharedText step;
  SharedText handler;  // never empty
  SharedText workflow;
  Payload input;  // empty: see stored_input
  Box<AttemptExtras> extras;
  Box<Claim> claim;
  Box<Outcome> outcome;
  TimeMs scheduled_at;
  TimeMs visible_at;
  std::uint64_t order = 0;  // its position among all intents of the queue
  ClaimOptions options;
  CircuitBreaker circuit;
  std::uint32_t attempt_number = 0;
  AttemptStatus status = AttemptStatus::available;
  bool wakeup_emitted = false;
  bool applied = false;  // without an outcome: it was withdrawn, or is a timer

  // Owned by the projection: where the attempt is indexed, and the run's next attempt.
  bool in_leases = false;
  std::uint32_t heap_slot = UINT32_MAX;
  std::uint32_t timeout_slot = UINT32_MAX;
  Attempt* next_of_run = nullptr;

  [[nodiscard]] bool ended() const {
    return status == AttemptStatus::completed || status == AttemptStatus::failed;
  }
  // That of its intent; the timeouts are among the extras.
  [[nodiscard]] StepPolicy policy() const {
    return {options, extras ? extras->timeout : StepTimeouts{}, circuit};
  }
  // Where the input is, when it is too large for memory.
  [[nodiscard]] const StoredPayload* stored_input() const {
    return extras && extras->stored_input.has_value() ? &*extras->stored_input : nullptr;
  }
  [[nodiscard]] bool has_input(const Payload& other) const {
    return stored_input() != nullptr ? stored_input()->is(other) : input == other;
  }
  [[nodiscard]] bool is_timer() const { return handler.view() == kTimerHandler; }
  // When it times out unless it is claimed or ends before; empty: never.
  [[nodiscard]] std::optional<TimeMs> times_out_at() const;
  [[nodiscard]] bool holds(const SharedText& claim_id, const Digest& token_hash) const;

  template <typename Self, typename Visitor>
  static void visit(Self& self, Visitor& v) {
    v.required("run_id", self.run_id);
    v.required("runnable_key", self.runnable_key);
    v.required("idempotency_key", self.idempotency_key);
    v.required("attempt_number", self.attempt_number);
    v.required("step", self.step);
    v.required("handler", self.handler);
    v.optional("input", self.input);
    v.required("status", self.status);
    v.required("scheduled_at", self.scheduled_at);
    v.required("visible_at", self.visible_at);
    v.required("order", self.order);
    v.optional("workflow", self.workflow);
    ClaimOptions::visit(self.options, v);
    CircuitBreaker::visit(self.circuit, v);
    v.optional("claim", self.claim);
    v.optional("outcome", self.outcome);
    v.optional("extras", self.extras);
    v.optional("wakeup_emitted", self.wakeup_emitted);
    v.optional("applied", self.applied);
  }
};

}  // namespace holdfast
