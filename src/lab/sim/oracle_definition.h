// The meaning of a definition: its steps, the transitions between them, and the options of each.
//
// A definition is the spec of `definition_registered` in canonical form, with durations in
// milliseconds and without short forms.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lab/sim/sim_value.h"

namespace holdfast::sim::model {

// The options of a step that its attempts carry: those its compensation has as well, and the
// members of its timeout and of its circuit breaker.
inline constexpr const char* kClaimOptions[] = {"lease_ms"};
inline constexpr const char* kCircuitBreaker[] = {"circuit_failures", "circuit_probe_after_ms"};
inline constexpr const char* kTimeouts[] = {"start_to_close_ms", "schedule_to_start_ms"};

// "charge", "charge@2", "charge[7]", "compensate:charge@2[7]".
struct StepName {
  std::string base;
  std::int64_t visit = 1;
  std::optional<std::int64_t> item;
  bool compensates = false;

  static StepName parse(const std::string& name);
  // The name without its item: the name of the list.
  [[nodiscard]] std::string list() const;
};

enum class StepKind : std::uint8_t {
  handler,
  http,
  exec,
  child,
  log,
  wait,
  pause,
  approval,
  event
};

struct Step {
  std::string name;
  Value spec;
  StepKind kind = StepKind::handler;
  std::vector<std::string> after;

  // A worker executes it, or with for_each its items.
  [[nodiscard]] bool is_work() const;
  [[nodiscard]] bool is_call() const { return is_work() || kind == StepKind::child; }
  [[nodiscard]] bool for_each() const { return spec.has("for_each"); }
  [[nodiscard]] std::string handler() const;
  // The name of its result in the context; empty: the members of the result are merged into the
  // context.
  [[nodiscard]] std::string output_key() const;
};

struct Definition {
  Value spec;
  std::string workflow;
  std::vector<Step> steps;
  std::vector<Value> transitions;       // {from, on, to, when?, recovery?}
  std::vector<std::string> path_steps;  // the first steps of paths: steps with `after`, and steps
                                        // that no transition leads to
  std::vector<std::string> roots;       // those of them without `after`
  std::string unknown;                  // a feature that the model does not know

  static Definition read(const Value& spec);
  [[nodiscard]] const Step* find(const std::string& name) const;
  // The transitions from a step, in the order in which they are tried.
  [[nodiscard]] std::vector<Value> transitions_from(const std::string& from,
                                                    const std::string& on) const;
  [[nodiscard]] std::int64_t max_visits(const Step& step) const;
};

// How often and when a failed attempt is retried.
struct RetryRule {
  std::int64_t max_attempts = 1;
  std::int64_t shortest_ms = 0;  // before the next attempt, with all of the jitter
  std::int64_t longest_ms = 0;
  bool named = false;  // the policy lists the code: exceptions are retried only then
};
RetryRule retry_rule(const Value& policy, const std::string& code, std::int64_t attempt);

}  // namespace holdfast::sim::model
