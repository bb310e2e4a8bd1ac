// Definition: a valid workflow. Immutable; named by the SHA-256 of its
// spec, so that a run can be pinned to the version it started on.
//
// Steps are joined in two ways. A step with `after` begins when all those steps are done: it
// begins a path of its own, like a step that nothing leads to. Transitions lead along a path from
// one step to the next, on success or on failure, and may lead back. A path ends when its
// newest step is done and no transition leads on; then the step that began it is done.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/shared_text.h"
#include "runs/language/data/condition_expression.h"
#include "runs/language/data/contract.h"
#include "runs/language/data/mapping.h"
#include "runs/language/definition/definition_fault.h"
#include "runs/language/definition/spec.h"

namespace holdfast {

using StepIndex = std::uint32_t;

inline constexpr std::uint32_t kDefaultMaxVisits = 1000;

// The delay before the attempt that follows attempt number n (from 1), without jitter.
std::uint64_t retry_delay_ms(const RetryRule& rule, std::uint32_t attempt_number);
// The rule for a failure with this code.
const RetryRule& rule_for(const RetryPolicy& policy, std::string_view code);

HOLDFAST_ENUM(StepKind, handler, log, wait, pause, approval, await_event, http, exec, child);

StepKind kind_of(const StepSpec& step);

// Where a transition leads.
struct Target {
  enum class Kind : std::uint8_t { step, complete, fail } kind = Kind::complete;
  StepIndex step = 0;  // of kind step
};

struct Transition {
  Target to;
  SharedText to_name;  // as it is recorded
  std::optional<Condition> when;
  Payload when_json;  // as it is recorded
  RecoveryLabel recovery = RecoveryLabel::none;
};

// A step as the engine needs it. `spec` has what is used as it is written.
struct Step {
  StepSpec spec;
  StepKind kind = StepKind::handler;
  SharedText name;
  SharedText handler;  // executes the step; only for kinds that need a worker
  SharedText queue;    // empty: the run's queue
  RetryPolicy retry;
  std::vector<StepIndex> after;
  std::vector<StepIndex> dependents;
  bool begins_path = true;  // no transition leads to it, or it is the entry
  std::vector<Transition> on_ok;
  std::vector<Transition> on_error;
  std::optional<Target> on_timeout;  // of await_event
  std::optional<Mapping> input;
  std::optional<Contract> input_contract;
  std::optional<Contract> output_contract;
  std::uint32_t max_visits = kDefaultMaxVisits;
};

struct Trigger {
  TriggerSpec spec;
  std::optional<Contract> contract;
};

// The handlers of steps that every Holdfast worker can execute.
inline constexpr std::string_view kHttpHandler = "__http__";
inline constexpr std::string_view kExecHandler = "__exec__";

class Definition {
 public:
  // invalid_definition with every fault (definition_fault.h).
  static Result<std::shared_ptr<const Definition>> create(const WorkflowSpec& spec);
  // The same from JSON text.
  static Result<std::shared_ptr<const Definition>> parse(std::string_view spec);
  // Every fault of a text; none: parse gives a definition.
  static std::vector<DefinitionFault> check(std::string_view spec);

  [[nodiscard]] const SharedText& workflow() const { return spec_.workflow; }
  [[nodiscard]] const SharedText& version() const { return spec_.version; }
  [[nodiscard]] const SharedText& fingerprint() const { return fingerprint_; }  // lower-case hex
  [[nodiscard]] const Payload& spec() const { return spec_json_; }  // in its one canonical form
  [[nodiscard]] const WorkflowSpec& parts() const { return spec_; }
  [[nodiscard]] const std::vector<Step>& steps() const { return steps_; }
  // The steps that begin a run.
  [[nodiscard]] const std::vector<StepIndex>& roots() const { return roots_; }
  // How many steps begin a path: so many must be done until the run is.
  [[nodiscard]] std::size_t path_count() const { return path_count_; }
  // The step of a name; also of a visit (name@2) or an item (name[7], name@2[7]).
  [[nodiscard]] std::optional<StepIndex> find(std::string_view step) const;
  // Never empty: a definition without triggers has one, "manual", that takes any object.
  [[nodiscard]] const std::vector<Trigger>& triggers() const { return triggers_; }
  // Empty name: the first. nullptr when there is none.
  [[nodiscard]] const Trigger* find_trigger(std::string_view name) const;
  [[nodiscard]] const std::optional<Mapping>& output() const { return output_; }

 private:
  friend class DefinitionBuilder;  // definition_builder.h
  Definition() = default;

  WorkflowSpec spec_;
  SharedText fingerprint_;
  Payload spec_json_;
  std::vector<Step> steps_;
  std::vector<StepIndex> roots_;
  std::size_t path_count_ = 0;
  std::vector<Trigger> triggers_;
  std::optional<Mapping> output_;
  std::unordered_map<SharedText, StepIndex, SharedTextHash, SharedTextEqual> by_name_;
};

}  // namespace holdfast
