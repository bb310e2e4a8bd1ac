// Circuit: the circuit breaker of a step type in a queue, folded from the facts of the dispatch
// thread. It opens after so many consecutive failures as the policy of an attempt says; then no
// attempt of the type is handed out until a probe is due, and then one. A success closes it.
#pragma once

#include <optional>

#include "runs/dispatch/attempt.h"

namespace holdfast {

// A step of a workflow, in all of its runs.
struct StepType {
  SharedText workflow;
  SharedText step;  // without visit and item

  friend bool operator==(const StepType&, const StepType&) = default;
  friend auto operator<=>(const StepType&, const StepType&) = default;
};
StepType step_type_of(const Attempt& attempt);

struct Circuit {
  std::uint64_t failures = 0;                      // consecutive
  std::optional<TimeMs> opened_at = std::nullopt;  // empty: closed
  TimeMs probe_at = {};                            // when the next probe is due
  SharedText cause = {};                           // the attempt whose failure opened it last
  SharedText probe = {};                           // the attempt that probed last
  SharedText probe_claim = {};
  Payload error = {};  // of the last failure that opened it

  [[nodiscard]] bool is_open() const { return opened_at.has_value(); }

  HOLDFAST_FIELDS(optional(failures), optional(opened_at), optional(probe_at), optional(cause),
                  optional(probe), optional(probe_claim), optional(error));
  friend bool operator==(const Circuit&, const Circuit&) = default;
};

// A failure of an attempt that no worker had says nothing about the step.
bool counts_for_circuit(const Payload& error);

}  // namespace holdfast
