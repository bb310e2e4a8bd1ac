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

struct StepPolicy {
  ClaimOptions claim;
  StepTimeouts timeout;

  // As in facts. A spec has the timeouts in an object of their own.
  template <typename Self, typename Visitor>
  static void visit(Self& self, Visitor& v) {
    ClaimOptions::visit(self.claim, v);
    StepTimeouts::visit(self.timeout, v);
  }
  friend bool operator==(const StepPolicy&, const StepPolicy&) = default;
};

}  // namespace holdfast
