// The options of steps that travel with their attempts.
#include "runs/language/definition/read_spec.h"

namespace holdfast {

namespace {

// The same as the lease, by the name that other systems give it.
void read_heartbeat(const SpecObject& step, const SpecObject& times, ClaimOptions& options) {
  std::uint64_t heartbeat_ms = 0;
  if (!times.read("heartbeat", heartbeat_ms)) {
    return;
  }
  if (step.has("lease") || step.has("lease_ms")) {
    times.at("heartbeat").fault("and lease mean the same; remove one");
  } else if (step.has("child")) {
    times.at("heartbeat").fault("cannot be used with a child step: no worker executes it");
  }
  options.lease_ms = heartbeat_ms;
}

void read_circuit_breaker(const SpecLocation& location, std::string_view slice,
                          CircuitBreaker& circuit) {
  const SpecObject object(location, slice, kCircuitBreakerObject);
  CircuitBreakerSpec spec;
  object.read_all(spec);
  if (spec.probe_after_ms > kMaxProbeAfterMs) {
    object.at("probe_after").fault("must be at most 30 days");
    return;
  }
  circuit = {spec.failures, static_cast<std::uint32_t>(spec.probe_after_ms)};
  object.finish();
}

}  // namespace

void read_policy(const SpecObject& step, StepPolicy& policy) {
  step.read_all(policy.claim);
  step.read_part("circuit_breaker", read_circuit_breaker, policy.circuit);
  const auto timeout = step.find("timeout");
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
  const SpecObject times(at, *timeout, kTimeoutObject);
  times.read_all(policy.timeout);
  read_heartbeat(step, times, policy.claim);
  times.finish();
}

}  // namespace holdfast
