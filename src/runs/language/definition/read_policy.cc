// The options of steps that travel with their attempts.
#include "runs/language/definition/read_spec.h"

namespace holdfast {

namespace {

// The same as the lease, by the name that other systems give it.
void read_heartbeat(SpecObject& step, SpecObject& times, ClaimOptions& options) {
  std::uint64_t heartbeat_ms = 0;
  if (!optional_duration(times, "heartbeat", Zero::refused, heartbeat_ms)) {
    return;
  }
  if (step.has("lease") || step.has("lease_ms")) {
    times.at("heartbeat").fault("and lease mean the same; remove one");
  } else if (step.has("child")) {
    times.at("heartbeat").fault("cannot be used with a child step: no worker executes it");
  }
  options.lease_ms = heartbeat_ms;
}

}  // namespace

void read_claim_options(SpecObject& object, ClaimOptions& options) {
  optional_duration(object, "lease", Zero::allowed, options.lease_ms);
}

void read_policy(SpecObject& step, StepPolicy& policy) {
  read_claim_options(step, policy.claim);
  const auto timeout = step.take("timeout");
  if (!timeout.has_value()) {
    return;
  }
  const SpecLocation at = step.at("timeout");
  if (timeout->starts_with('"')) {
    read_duration_text(at, *timeout, Zero::refused, policy.timeout.start_to_close_ms);
    return;
  }
  if (!timeout->starts_with('{')) {
    at.fault("must be a duration such as \"30s\", or an object with start_to_close");
    return;
  }
  SpecObject times(at, *timeout);
  optional_duration(times, "start_to_close", Zero::refused, policy.timeout.start_to_close_ms);
  optional_duration(times, "schedule_to_start", Zero::refused, policy.timeout.schedule_to_start_ms);
  read_heartbeat(step, times, policy.claim);
  times.finish();
}

}  // namespace holdfast
