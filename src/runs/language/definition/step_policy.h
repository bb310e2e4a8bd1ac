// StepPolicy: the options of a step that travel with its attempts. Each option is declared here
// and nowhere else: the spec of a step, the plan, the intent and the attempt hold a policy and copy
// it as a whole, and the lists below are its form in every one of them.
#pragma once

#include <cstdint>

#include "base/fields.h"

namespace holdfast {

// How a queue hands out an attempt. The compensation of a step has these options as well.
struct ClaimOptions {
  std::uint64_t lease_ms = 0;  // the duration of a lease; 0: the default

  template <typename Self, typename Visitor>
  static void visit(Self& self, Visitor& v) {
    v.optional("lease_ms", self.lease_ms);
  }
  friend bool operator==(const ClaimOptions&, const ClaimOptions&) = default;
};

struct StepTimeouts {
  std::uint64_t start_to_close_ms = 0;     // of one attempt, from its claim; 0: none
  std::uint64_t schedule_to_start_ms = 0;  // until an attempt is claimed; 0: none

  template <typename Self, typename Visitor>
  static void visit(Self& self, Visitor& v) {
    v.optional("start_to_close_ms", self.start_to_close_ms);
    v.optional("schedule_to_start_ms", self.schedule_to_start_ms);
  }
  friend bool operator==(const StepTimeouts&, const StepTimeouts&) = default;
};

// After so many consecutive failures of the step, its attempts wait while one of them probes.
// Small: every pending attempt has one.
struct CircuitBreaker {
  std::uint32_t failures = 0;        // 0: there is none
  std::uint32_t probe_after_ms = 0;  // from the last failure to the next probe

  [[nodiscard]] bool is_set() const { return failures > 0; }
  template <typename Self, typename Visitor>
  static void visit(Self& self, Visitor& v) {
    v.optional("circuit_failures", self.failures);
    v.optional("circuit_probe_after_ms", self.probe_after_ms);
  }
  friend bool operator==(const CircuitBreaker&, const CircuitBreaker&) = default;
};
inline constexpr std::uint32_t kUsualProbeAfterMs = 30'000;
inline constexpr std::uint64_t kMaxProbeAfterMs = 30ULL * 24 * 3600 * 1000;

struct StepPolicy {
  ClaimOptions claim;
  StepTimeouts timeout;
  CircuitBreaker circuit;

  // As in facts. A spec has the timeouts and the circuit breaker in objects of their own.
  template <typename Self, typename Visitor>
  static void visit(Self& self, Visitor& v) {
    ClaimOptions::visit(self.claim, v);
    StepTimeouts::visit(self.timeout, v);
    CircuitBreaker::visit(self.circuit, v);
  }
  friend bool operator==(const StepPolicy&, const StepPolicy&) = default;
};

}  // namespace holdfast
