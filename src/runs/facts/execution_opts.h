// ExecutionOpts: what a completed step requests beside its result. It is stored in
// runnable_applied.execution_opts; the fold and the decisions read it by this one function.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "base/fields.h"
#include "base/shared_text.h"
#include "runs/language/definition/retry_policy.h"

namespace holdfast {

// The step is not done: it will be attempted again.
struct Deferral {
  SharedText reason;
  std::uint64_t schedule_in_ms = 0;

  HOLDFAST_FIELDS(optional(reason), optional(schedule_in_ms));
};

// The run ends here and continues as a new run.
struct ContinueAsNew {
  SharedText key;
  Payload input;

  HOLDFAST_FIELDS(required(key), required(input));
};

struct ExecutionOpts {
  std::uint64_t schedule_in_ms = 0;  // the next steps become visible that much later
  std::optional<Deferral> defer;
  std::optional<ContinueAsNew> continue_as_new;
  Payload graph;  // a GraphChange; not read here: one that cannot be read fails the step

  HOLDFAST_FIELDS(optional(schedule_in_ms), optional(defer), optional(continue_as_new),
                  optional(graph));
};

// The completion is durable and must be processed, so options that cannot be read are ignored, and
// no delay is longer than kMaxDurationMs.
inline ExecutionOpts execution_opts(const Payload& opts) {
  if (opts.empty()) {
    return {};
  }
  auto read = from_json<ExecutionOpts>(opts.view());
  if (!read.ok()) {
    return {};
  }
  ExecutionOpts requested = std::move(read).value();
  requested.schedule_in_ms = std::min(requested.schedule_in_ms, kMaxDurationMs);
  if (requested.defer.has_value()) {
    requested.defer->schedule_in_ms = std::min(requested.defer->schedule_in_ms, kMaxDurationMs);
  }
  return requested;
}

}  // namespace holdfast
