// What a definition means: its steps, what leads from one to the next, and what each may do.
//
// A definition is what `definition_registered` says: the spec in its canonical form, with
// durations in milliseconds and without short forms.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lab/sim/sim_value.h"

namespace holdfast::sim::model {

// The options of a step that its attempts carry: those its compensation has as well, and the
// members of its timeout.
inline constexpr const char* kClaimOptions[] = {"lease_ms"};
inline constexpr const char* kTimeouts[] = {"start_to_close_ms", "schedule_to_start_ms"};

// "charge", "charge@2", "charge[7]", "compensate:charge@2[7]".
struct StepName {
  std::string base;
  std::int64_t visit = 1;
  std::optional<std::int64_t> item;
  bool compensates = false;

  static StepName parse(const std::string& name);
  // The name without its item: of the list it belongs to.
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

  // A worker executes it; of a step for each item, the items.
  [[nodiscard]] bool is_work() const;
  [[nodiscard]] bool is_call() const { return is_work() || kind == StepKind::child; }
  [[nodiscard]] bool for_each() const { return spec.has("for_each"); }
  [[nodiscard]] std::string handler() const;
  // What its result is called in the context; empty: members join it.
  [[nodiscard]] std::string output_key() const;
};

struct Definition {
  Value spec;
  std::string workflow;
  std::vector<Step> steps;
  std::vector<Value> transitions;  // {from, on, to, when?, recovery?}
  std::vector<std::string>
      path_steps;                  // begin a path: those of `after`, and those nothing leads to
  std::vector<std::string> roots;  // of these, those that wait for nothing
  std::string unknown;             // a feature the model does not know

  static Definition read(const Value& spec);
  [[nodiscard]] const Step* find(const std::string& name) const;
  // The ways on from a step, in the order they are tried.
  [[nodiscard]] std::vector<Value> ways(const std::string& from, const std::string& on) const;
  [[nodiscard]] std::int64_t max_visits(const Step& step) const;
};

// How often and when what failed is tried again.
struct RetryRule {
  std::int64_t max_attempts = 1;
  std::int64_t shortest_ms = 0;  // before the next attempt: jitter makes it shorter
  std::int64_t longest_ms = 0;
  bool named = false;  // the code is listed: an exception is tried again only then
};
RetryRule retry_rule(const Value& policy, const std::string& code, std::int64_t attempt);

}  // namespace holdfast::sim::model
