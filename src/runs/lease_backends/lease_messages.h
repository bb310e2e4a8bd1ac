// The messages between engines, lease backends and workers as text (docs/guide/backends.md): the
// description of an attempt in an item, the report of a worker, and items and answers as a backend
// stores them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/fields.h"
#include "holdfast/lease_backend.h"
#include "runs/api/work_requests.h"
#include "runs/facts/ids.h"

namespace holdfast {

// The payload of an item: everything a worker needs besides its claim.
struct OfferedAttempt {
  RunId run_id;
  std::string workflow;
  std::string step;
  SharedText handler;
  std::string queue;
  SharedText runnable_key;
  std::string idempotency_key;
  std::uint32_t attempt = 1;
  std::uint32_t visit_number = 1;
  std::int64_t item = -1;
  Payload input;
  Payload trace;
  ObjectPayload spec;  // of an http or exec step

  static void visit(auto& self, auto& v) {
    v.required("run_id", self.run_id);
    v.required("workflow", self.workflow);
    v.required("step", self.step);
    v.required("handler", self.handler);
    v.required("queue", self.queue);
    v.required("runnable_key", self.runnable_key);
    v.required("idempotency_key", self.idempotency_key);
    v.required("attempt", self.attempt);
    v.required("visit", self.visit_number);
    v.required("item", self.item);
    v.optional("input", self.input);
    v.optional("trace", self.trace);
    v.optional("spec", self.spec);
  }
};

// The body of complete, fail and retry. Everything is optional; the kind of the signal decides
// between the three. complete may have the outcomes defer and continue_as_new.
struct LeaseReport {
  ReportedOutcome outcome = ReportedOutcome::ok;
  Payload result;
  std::string code;
  std::string message;
  std::string reason;
  std::string key;
  Payload input;
  Payload details;
  std::uint64_t schedule_in_ms = 0;
  std::optional<std::uint64_t> retry_after_ms;

  HOLDFAST_FIELDS(optional(outcome), optional(result), optional(code), optional(message),
                  optional(reason), optional(key), optional(input), optional(details),
                  optional(schedule_in_ms), optional(retry_after_ms));
};

// The attempt as its worker holds it.
ClaimedAttempt claimed_attempt(const OfferedAttempt& offered, const LeaseClaim& claim,
                               const LeaseAnswer& granted);
// The signal that ends a claim with this report, and its body.
SignalKind end_of(const Report& report);
std::string body_of(const Report& report);
// The report in a signal. A body that cannot be read is the failure invalid_report.
Report report_of(const LeaseSignal& signal, const RunId& run);

std::string_view signal_name(SignalKind kind);
std::optional<SignalKind> signal_kind(std::string_view name);
std::string_view mode_name(EnqueueMode mode);

// An item as a backend stores it: its payload must be compact JSON (invalid_json).
Result<std::string> stored_item(const WorkItem& item);
Result<WorkItem> read_stored_item(std::string_view text);
std::string answer_json(const LeaseAnswer& answer);
Result<LeaseAnswer> read_answer(std::string_view text);

}  // namespace holdfast
