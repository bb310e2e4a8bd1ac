// What can be said about a step of a workflow, and what a step is that is no call of a handler.
// All are aggregates for designated initialisers; what is left out has its default. A setting that
// does not fit the kind of its step is a fault when the workflow is built; so is a negative time.
//
// g++ 12 has a bug: when an initialiser throws, it destroys earlier ones that are nested braces
// (.retry = {.codes = ...}) twice. So call functions that throw before the braces, not in them. For
// the same reason defaults of nested aggregates are written as T() and not as {}.
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

// For failures with one code; what is left out is as for the others.
struct CodeRetryOptions {
  std::string code = {};
  std::optional<std::uint32_t> max_attempts = {};
  std::optional<std::chrono::milliseconds> delay = {};
  std::optional<std::chrono::milliseconds> max_delay = {};
  std::optional<RetryBackoff> backoff = {};
  std::optional<std::uint32_t> jitter_percent = {};
  friend bool operator==(const CodeRetryOptions&, const CodeRetryOptions&) = default;
};

// How often a step is tried that asks for a retry. One attempt means: never again.
struct RetryOptions {
  std::uint32_t max_attempts = 1;
  std::chrono::milliseconds delay{0};      // after the first attempt
  std::chrono::milliseconds max_delay{0};  // 0: no limit
  RetryBackoff backoff = RetryBackoff::fixed;
  std::uint32_t jitter_percent = 0;  // each delay is shorter by up to this part of it
  std::vector<CodeRetryOptions> codes = {};
  friend bool operator==(const RetryOptions&, const RetryOptions&) = default;
};

// 0: none.
struct StepTimeout {
  std::chrono::milliseconds start_to_close{0};     // of one attempt, from its claim
  std::chrono::milliseconds schedule_to_start{0};  // until an attempt is claimed
};

// By when a step should be done. Shown by inspection, never enforced.
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

// What undoes a step that is done, when the run is compensated.
struct Compensation {
  std::string handler = {};
  std::string queue = {};              // empty: the queue of the step
  std::chrono::milliseconds lease{0};  // 0: the default
  RetryOptions retry = RetryOptions();
  friend bool operator==(const Compensation&, const Compensation&) = default;
};

// The step is carried out once for each item of a list.
struct ForEach {
  enum class OnError : std::uint8_t {
    fail,     // the step fails with the first item that fails
    collect,  // all items are tried
  };

  ValueSource items = {};         // a path to the list, or literal(JsonValue::json("[1,2]"))
  std::string as = {};            // what the item is called in the input; empty: item
  std::uint32_t concurrency = 0;  // 0: all at once
  OnError on_error = OnError::fail;
  friend bool operator==(const ForEach&, const ForEach&) = default;
};

struct StepSettings {
  std::vector<std::string> after = {};  // the steps that must be done before
  std::string handler = {};             // empty: the handler with the step's own name
  std::string queue = {};               // empty: the queue of the run
  std::chrono::milliseconds lease{0};   // how long a silent worker is waited for; 0: the default
  RetryOptions retry = RetryOptions();
  std::string description = {};
  DataMapping input = {};   // empty: the whole context
  std::string output = {};  // the key of the result in the context; empty: its members join it
  StepTimeout timeout = {};
  StepDeadline deadline = StepDeadline();
  bool irreversible = false;
  std::optional<bool> compensatable = {};
  Compensation compensate = Compensation();
  DataFields input_schema = {};
  DataFields output_schema = {};
  std::uint32_t max_visits = 0;  // 0: the workflow's
  ForEach for_each = ForEach();
};

struct LogStep {
  enum class Level : std::uint8_t { debug, info, warning, error };

  std::string message = {};  // {path} in it is replaced by what the context has there
  Level level = Level::info;
};

// One of the two.
struct WaitStep {
  std::chrono::milliseconds duration{0};
  std::string until = {};  // a path, or a time in the form of ISO 8601
};

struct PauseStep {
  std::string reason = {};  // for whoever has to decide
};

struct ApprovalStep {
  std::string reason = {};
};

struct EventChoice {
  std::string event = {};
  ValueSource correlation = {};  // a path, or literal("text"); nothing: none
};

// The first event that comes ends the wait: the one named here or one of the others.
struct EventStep {
  std::string event = {};
  ValueSource correlation = {};
  std::vector<EventChoice> any_of = {};
  std::chrono::milliseconds timeout{0};  // 0: none
  std::string on_timeout = {};           // a step to go to; empty: the error routes of the step
};

// Under safe rules: only named hosts, no credentials in the definition, no redirects.
struct HttpStep {
  std::string method = "GET";
  std::string url = {};  // {name} in it is replaced from the input, encoded
  std::vector<std::string> allowed_hosts = {};
  std::map<std::string, std::string> headers = {};
  std::map<std::string, std::string> credential_refs = {};  // header to the name of a credential
  std::vector<std::string> query = {};                      // names of input fields sent as query
  bool send_input = false;                                  // the input is the JSON body
  bool keep_body = false;                                   // of the response, up to 8192 bytes
  std::chrono::milliseconds timeout{0};                     // 0: 30 s
};

// A process: input as JSON on stdin, result as JSON from stdout.
struct ExecStep {
  std::vector<std::string> command = {};  // program and arguments; no shell unless it is one
  std::string directory = {};             // empty: where the worker runs
  std::map<std::string, std::string> environment = {};  // beside that of the worker
};

// A run of another workflow.
struct ChildStep {
  enum class OnParentClose : std::uint8_t { cancel, detach };

  std::string workflow = {};
  std::string trigger = {};  // empty: the first of the child
  std::string queue = {};
  std::string key = {};   // among the children of the step; empty: the step's name
  bool detached = false;  // the step is done as soon as the child has started
  // Left out: detach for one that is detached, otherwise cancel.
  std::optional<OnParentClose> on_parent_close = {};
};

}  // namespace holdfast
