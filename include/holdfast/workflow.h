// Workflow: which steps there are and what each waits for. Immutable once it is registered; a run
// keeps the definition it started on, also when a newer one is registered.
//
//   Workflow("order").version("1")
//       .step("charge", {.retry = {.max_attempts = 3, .delay = 100ms}})
//       .step("ship", {.after = {"charge"}, .queue = "slow", .lease = 60s})
//
// Nothing is checked here: Engine::register_workflow says what is wrong.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast {

enum class RetryBackoff : std::uint8_t { fixed, linear, exponential };

// How often a step is tried that asks for a retry. One attempt means: never again.
struct RetryOptions {
  std::uint32_t max_attempts = 1;
  std::chrono::milliseconds delay{0};      // after the first attempt
  std::chrono::milliseconds max_delay{0};  // 0: no limit
  RetryBackoff backoff = RetryBackoff::fixed;
};

struct StepSettings {
  std::vector<std::string> after = {};  // the steps that must be done before
  std::string handler = {};             // empty: the handler with the step's own name
  std::string queue = {};               // empty: the queue of the run
  std::chrono::milliseconds lease{0};   // how long a silent worker is waited for; 0: the default
  RetryOptions retry = {};
};

class Workflow {
 public:
  struct Step {
    std::string name;
    StepSettings settings;
  };

  explicit Workflow(std::string_view name) : name_(name) {}

  Workflow& version(std::string_view version) {
    version_ = version;
    return *this;
  }
  Workflow& step(std::string_view name, StepSettings settings = {}) {
    steps_.push_back({std::string(name), std::move(settings)});
    return *this;
  }

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const std::string& version() const { return version_; }
  [[nodiscard]] const std::vector<Step>& steps() const { return steps_; }

 private:
  std::string name_;
  std::string version_;
  std::vector<Step> steps_;
};

}  // namespace holdfast
