// RetryPolicy: how often and when what failed is tried again. Part of spec.h.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/fields.h"

namespace holdfast {

// A hundred years. No delay or lease is longer, so that adding one to a time never overflows.
inline constexpr std::uint64_t kMaxDurationMs = 3'155'760'000'000;

HOLDFAST_ENUM(Backoff, fixed, linear, exponential);

// How often and when a step is tried again.
struct RetryRule {
  std::uint32_t max_attempts = 1;
  std::uint64_t delay_ms = 0;      // after the first attempt
  std::uint64_t max_delay_ms = 0;  // 0: no limit
  Backoff backoff = Backoff::fixed;
  std::uint32_t jitter_percent = 0;  // each delay is shorter by up to this part of it

  HOLDFAST_FIELDS(optional(max_attempts), optional(delay_ms), optional(max_delay_ms),
                  optional(backoff), optional(jitter_percent));
  friend bool operator==(const RetryRule&, const RetryRule&) = default;
};

// The rule for failures with one code, complete: what the author left out is the policy's.
struct CodeRetry {
  SharedText code;
  RetryRule rule;

  template <typename Self, typename Visitor>
  static void visit(Self& self, Visitor& v) {
    v.required("code", self.code);
    RetryRule::visit(self.rule, v);
  }
  friend bool operator==(const CodeRetry&, const CodeRetry&) = default;
};

// What happens to a step whose last attempt has failed: it fails, or it waits for an operator.
enum class AfterRetries : std::uint8_t { fail, park };
template <>
inline constexpr std::string_view kEnumNames<AfterRetries>[] = {"fail", "park"};

struct RetryPolicy {
  RetryRule rule;
  std::vector<CodeRetry> codes;
  AfterRetries then = AfterRetries::fail;

  template <typename Self, typename Visitor>
  static void visit(Self& self, Visitor& v) {
    RetryRule::visit(self.rule, v);
    v.optional("codes", self.codes);
    // The default is not written: definitions without it keep their fingerprint.
    if (self.then != AfterRetries::fail) {
      v.required("then", self.then);
    }
  }
  friend bool operator==(const RetryPolicy&, const RetryPolicy&) = default;
};

}  // namespace holdfast
