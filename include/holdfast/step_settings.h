// The settings of workflow steps, and the kinds of steps that do not call a handler. All are
// aggregates for designated initialisers; omitted members have their default. Workflow::build
// reports settings that do not apply to the kind of the step, and negative times.
//
// g++ 12 has a bug: when an initialiser throws, it destroys earlier nested braces
// (.retry = {.codes = ...}) twice. So call functions that may throw before the braces, not inside.
// For the same reason, defaults of nested aggregates are written as T(), not as {}.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "holdfast/condition.h"

namespace holdfast {

enum class RetryBackoff : std::uint8_t { fixed, linear, exponential };

// For failures with one code; omitted members are those of RetryOptions.
struct CodeRetryOptions {
  std::string code = {};
  std::optional<std::uint32_t> max_attempts = {};
  std::optional<std::chrono::milliseconds> delay = {};
  std::optional<std::chrono::milliseconds> max_delay = {};
  std::optional<RetryBackoff> backoff = {};
  std::optional<std::uint32_t> jitter_percent = {};
  friend bool operator==(const CodeRetryOptions&, const CodeRetryOptions&) = default;
};

// What happens to a step whose last attempt has failed. park: the run waits with the error until
// the step is retried or discarded (holdfast/engine.h).
enum class RetryThen : std::uint8_t { fail, park };

// How often a failed step is attempted. One attempt means no retry.
struct RetryOptions {
  std::uint32_t max_attempts = 1;
  std::chrono::milliseconds delay{0};      // after the first attempt
  std::chrono::milliseconds max_delay{0};  // 0: no limit
  RetryBackoff backoff = RetryBackoff::fixed;
  std::uint32_t jitter_percent = 0;  // each delay is reduced by up to this percentage
  std::vector<CodeRetryOptions> codes = {};
  RetryThen then = RetryThen::fail;
  friend bool operator==(const RetryOptions&, const RetryOptions&) = default;
};

// 0: none.
struct StepTimeout {
  std::chrono::milliseconds start_to_close{0};     // of one attempt, from its claim
  std::chrono::milliseconds schedule_to_start{0};  // until an attempt is claimed
};

// When a step should be completed. Shown by inspection, not enforced.
struct StepDeadline {
  enum class Escalation : std::uint8_t {
    diagnostic,
    operator_action,
    workflow_step,
    host_callback,
  };

  std::chrono::milliseconds within{0};
  std::chrono::milliseconds due_soon{0};
  std::chrono::milliseconds escalate_after{0};
  Escalation escalation = Escalation::diagnostic;
  std::string target = {};
  friend bool operator==(const StepDeadline&, const StepDeadline&) = default;
};

// After consecutive failures of the step, in all runs, its attempts wait while one of them probes.
struct StepCircuitBreaker {
  std::uint32_t failures = 0;  // 0: no circuit breaker
  std::chrono::milliseconds probe_after{30'000};
  friend bool operator==(const StepCircuitBreaker&, const StepCircuitBreaker&) = default;
};

// Reverses a completed step when the run is compensated.
struct Compensation {
  std::string handler = {};
  std::string queue = {};              // empty: the queue of the step
  std::chrono::milliseconds lease{0};  // 0: the default
  RetryOptions retry = RetryOptions();
  friend bool operator==(const Compensation&, const Compensation&) = default;
};

// Executes the step once per item of a list.
struct ForEach {
  enum class OnError : std::uint8_t {
    fail,     // the step fails with the first failed item
    collect,  // all items are executed
  };

  ValueSource items = {};         // a path to the list, or literal(JsonValue::json("[1,2]"))
  std::string as = {};            // the name of the item in the input; empty: item
  std::uint32_t concurrency = 0;  // 0: all at once
  OnError on_error = OnError::fail;
  friend bool operator==(const ForEach&, const ForEach&) = default;
};

struct StepSettings {
  std::vector<std::string> after = {};  // steps that must complete before this one
  std::string handler = {};             // empty: the handler with the step's own name
  std::string queue = {};               // empty: the queue of the run
  std::chrono::milliseconds lease{0};   // lease without a heartbeat; 0: the default
  RetryOptions retry = RetryOptions();
  std::string description = {};
  DataMapping input = {};   // empty: the whole context
  std::string output = {};  // the key of the result in the context; empty: its members are merged
  StepTimeout timeout = {};
  StepDeadline deadline = StepDeadline();
  bool irreversible = false;
  std::optional<bool> compensatable = {};
  Compensation compensate = Compensation();
  DataFields input_schema = {};
  DataFields output_schema = {};
  std::uint32_t max_visits = 0;  // 0: the workflow's
  ForEach for_each = ForEach();
  StepCircuitBreaker circuit_breaker = StepCircuitBreaker();
};

struct LogStep {
  enum class Level : std::uint8_t { debug, info, warning, error };

  std::string message = {};  // {path} is replaced by the value in the context
  Level level = Level::info;
};

// Exactly one of the two.
struct WaitStep {
  std::chrono::milliseconds duration{0};
  std::string until = {};  // a path, or a time in the form of ISO 8601
};

struct PauseStep {
  std::string reason = {};  // shown to the person who decides
};

struct ApprovalStep {
  std::string reason = {};
};

struct EventChoice {
  std::string event = {};
  ValueSource correlation = {};  // a path or literal("text"); empty: none
};

// Waits for the first of the named events.
struct EventStep {
  std::string event = {};
  ValueSource correlation = {};
  std::vector<EventChoice> any_of = {};
  std::chrono::milliseconds timeout{0};  // 0: none
  std::string on_timeout = {};           // the next step; empty: the error routes of the step
};

// An HTTP request with restrictions: named hosts only, no credentials in the definition, no
// redirects.
struct HttpStep {
  std::string method = "GET";
  std::string url = {};  // {name} is replaced by the encoded value from the input
  std::vector<std::string> allowed_hosts = {};
  std::map<std::string, std::string> headers = {};
  std::map<std::string, std::string> credential_refs = {};  // header to the name of a credential
  std::vector<std::string> query = {};                      // names of input fields sent as query
  bool send_input = false;                                  // send the input as the JSON body
  bool keep_body = false;                // keep the response body, up to 8192 bytes
  std::chrono::milliseconds timeout{0};  // 0: 30 s
};

// A process: input as JSON on stdin, result as JSON from stdout.
struct ExecStep {
  std::vector<std::string> command = {};                // program and arguments; no shell is used
  std::string directory = {};                           // empty: the directory of the worker
  std::map<std::string, std::string> environment = {};  // added to that of the worker
};

// A run of another workflow.
struct ChildStep {
  enum class OnParentClose : std::uint8_t { cancel, detach };

  std::string workflow = {};
  std::string trigger = {};  // empty: the first trigger of the child
  std::string queue = {};
  std::string key = {};   // identifies the child within the step; empty: the name of the step
  bool detached = false;  // the step completes when the child has started
  // Default: detach for a detached child, otherwise cancel.
  std::optional<OnParentClose> on_parent_close = {};
};

}  // namespace holdfast
