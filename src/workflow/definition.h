// Definition: the steps of a workflow and what each waits for. Immutable; named by the SHA-256
// of its spec, so that a run can be pinned to the version it started on.
//
// The spec is a JSON object:
//   {"workflow":"order","version":"1","steps":[
//     {"name":"charge","retry":{"max_attempts":3,"delay_ms":100,"backoff":"exponential"}},
//     {"name":"ship","after":["charge"],"handler":"ship_parcel","queue":"slow","lease_ms":60000}]}
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/fields.h"
#include "dispatch/ids.h"

namespace holdfast {

enum class Backoff : std::uint8_t { fixed, linear, exponential };
template <>
inline constexpr std::string_view kEnumNames<Backoff>[] = {"fixed", "linear", "exponential"};

struct RetryPolicy {
  std::uint32_t max_attempts = 1;
  std::uint64_t delay_ms = 0;      // after the first attempt
  std::uint64_t max_delay_ms = 0;  // 0: no limit
  Backoff backoff = Backoff::fixed;

  template <typename Self, typename Visitor>
  static void visit(Self& self, Visitor& v) {
    v.optional("max_attempts", self.max_attempts);
    v.optional("delay_ms", self.delay_ms);
    v.optional("max_delay_ms", self.max_delay_ms);
    v.optional("backoff", self.backoff);
  }
  friend bool operator==(const RetryPolicy&, const RetryPolicy&) = default;
};

// A hundred years. No delay or lease is longer, so that adding one to a time never overflows.
inline constexpr std::uint64_t kMaxDurationMs = 3'155'760'000'000;

// The delay before the attempt that follows attempt number n (from 1).
std::uint64_t retry_delay_ms(const RetryPolicy& policy, std::uint32_t attempt_number);

struct StepSpec {
  SharedText name;
  SharedText handler;  // empty: the step's own name
  SharedText queue;    // empty: the run's queue
  std::vector<SharedText> after;
  std::uint64_t lease_ms = 0;  // 0: the default
  RetryPolicy retry;

  template <typename Self, typename Visitor>
  static void visit(Self& self, Visitor& v) {
    v.required("name", self.name);
    v.optional("handler", self.handler);
    v.optional("queue", self.queue);
    v.optional("after", self.after);
    v.optional("lease_ms", self.lease_ms);
    v.optional("retry", self.retry);
  }
};

struct WorkflowSpec {
  SharedText workflow;
  SharedText version;
  std::vector<StepSpec> steps;

  template <typename Self, typename Visitor>
  static void visit(Self& self, Visitor& v) {
    v.required("workflow", self.workflow);
    v.optional("version", self.version);
    v.required("steps", self.steps);
  }
};

using StepIndex = std::uint32_t;

// A step as the engine needs it.
struct Step {
  SharedText name;
  SharedText handler;
  SharedText queue;  // empty: the run's queue
  std::uint64_t lease_ms = 0;
  RetryPolicy retry;
  std::vector<StepIndex> after;
  std::vector<StepIndex> dependents;
};

class Definition {
 public:
  // invalid_definition; the message and the field "errors" name every fault: no steps, a bad or
  // repeated name, an unknown or repeated dependency, a dependency on itself, a cycle, a policy
  // without attempts, a time over kMaxDurationMs.
  static Result<std::shared_ptr<const Definition>> create(const WorkflowSpec& spec);
  // The same from text; fields that are unknown, repeated or of another type are faults too.
  static Result<std::shared_ptr<const Definition>> parse(std::string_view spec);

  [[nodiscard]] const SharedText& workflow() const { return workflow_; }
  [[nodiscard]] const SharedText& version() const { return version_; }
  [[nodiscard]] const SharedText& fingerprint() const { return fingerprint_; }  // lower-case hex
  [[nodiscard]] const Payload& spec() const { return spec_; }  // in its one canonical form
  [[nodiscard]] const std::vector<Step>& steps() const { return steps_; }
  [[nodiscard]] const std::vector<StepIndex>& roots() const { return roots_; }
  [[nodiscard]] std::optional<StepIndex> find(std::string_view step) const;

 private:
  friend class DefinitionBuilder;  // definition.cc
  Definition() = default;

  SharedText workflow_;
  SharedText version_;
  SharedText fingerprint_;
  Payload spec_;
  std::vector<Step> steps_;
  std::vector<StepIndex> roots_;
  std::unordered_map<SharedText, StepIndex, SharedTextHash, SharedTextEqual> by_name_;
};

}  // namespace holdfast
