// Step handlers: their context and their result.
//
// A handler is called after its claim is durable, from a worker thread. It may be called again for
// the same work: after a crash, when its lease expired, as a retry, after a deferral. All of these
// calls have the same idempotency_key; another visit of the step, another item and a replay have
// another. Pass this key to external systems, so that their effect happens once. An exception that
// a handler throws is a failure without retry that names the exception.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>

#include "holdfast/result.h"
#include "holdfast/run.h"

namespace holdfast {

// The attempt that a handler executes.
struct StepInfo {
  std::string run_id = {};
  std::string workflow = {};
  std::string step = {};
  std::string queue = {};
  std::string runnable_key = {};     // the name of this attempt
  std::string idempotency_key = {};  // the same for all attempts at this visit and item
  std::uint32_t attempt = 1;
  std::uint32_t visit = 1;  // counts the visits of a step that transitions lead back to
  std::int64_t item = -1;   // of a step with for_each: the index in the list
};

struct ChildOptions {
  std::string queue = {};           // empty: the default
  std::string trigger = {};         // empty: child
  std::string metadata = {};        // a JSON object; secrets in it are redacted before it is stored
  bool cancel_with_parent = false;  // cancelled when the parent ends first
};

using ChildStarter =
    std::function<Result<StartedRun>(std::string_view workflow, std::string_view key,
                                     std::string_view input, const ChildOptions& options)>;

// Optional parts of a context.
struct StepExtras {
  std::string trace = {};              // the W3C traceparent of the run
  std::string previous_progress = {};  // JSON
  std::function<void(std::string json)> progress = nullptr;
};

class StepContext {
 public:
  // Created by engines, and by tests of handlers.
  explicit StepContext(StepInfo info, std::stop_token stop = {}, ChildStarter start_child = {},
                       StepExtras extras = {})
      : info_(std::move(info)),
        stop_(std::move(stop)),
        start_child_(std::move(start_child)),
        extras_(std::move(extras)) {}
  StepContext(const StepContext&) = delete;
  StepContext& operator=(const StepContext&) = delete;

  [[nodiscard]] const StepInfo& info() const { return info_; }
  [[nodiscard]] const std::string& run_id() const { return info_.run_id; }
  [[nodiscard]] const std::string& step() const { return info_.step; }
  [[nodiscard]] std::uint32_t attempt() const { return info_.attempt; }
  // Stopped when the claim is lost, for example because the run was cancelled: the result does not
  // count.
  [[nodiscard]] const std::stop_token& stop() const { return stop_; }

  // Reports progress as JSON of at most 64 KiB. inspect and explain show the latest value, and the
  // next worker receives it (previous_progress) if this one loses its claim. It is stored with the
  // next heartbeat, which an embedded engine sends within a second. A text that is not JSON or too
  // long is ignored.
  void progress(std::string json) {
    if (extras_.progress != nullptr) {
      extras_.progress(std::move(json));
    }
  }
  // The latest progress of an earlier holder of this attempt; empty: none.
  [[nodiscard]] const std::string& previous_progress() const { return extras_.previous_progress; }
  // The W3C traceparent with which the run was started, for calls of the handler; empty: none.
  [[nodiscard]] const std::string& trace() const { return extras_.trace; }

  // Starts a child run of this step; durable when it returns. The key identifies it among the
  // children of the step: starting it again returns the same run. unknown_workflow, terminal_run,
  // invalid_parent_context, conflicting_child_run, invalid_argument, invalid_json.
  Result<StartedRun> start_child(std::string_view workflow, std::string_view key,
                                 std::string_view input = "{}", const ChildOptions& options = {}) {
    if (start_child_ == nullptr) {
      return Error{ErrorCode::invalid_argument, "this context has no engine"};
    }
    return start_child_(workflow, key, input, options);
  }

 private:
  StepInfo info_;
  std::stop_token stop_;
  ChildStarter start_child_;
  StepExtras extras_;
};

// Options of a result.
struct StepOptions {
  std::chrono::milliseconds schedule_in{0};  // delays the following steps
  // Adds steps and edges to the run in the commit that completes the step. The step fails with
  // invalid_graph_mutation when they do not fit the graph.
  GraphMutation graph = {};
};

class StepResult {
 public:
  enum class Kind : std::uint8_t { ok, retry, retry_after, defer, continue_as_new, fail };

  // The step is completed. The members of an object are merged into the context of the run, which
  // later steps receive as input. A text that is not JSON fails the step.
  static StepResult ok(std::string json = "{}", StepOptions options = {}) {
    StepResult result{Kind::ok, {}, std::move(json), options.schedule_in};
    result.graph_ = std::move(options.graph);
    return result;
  }
  // The attempt failed; the retry policy of the step decides whether and when it is repeated.
  static StepResult retry(std::string code, std::string message) {
    return {Kind::retry, std::move(code), std::move(message), {}};
  }
  // As retry, with this delay instead of that of the policy.
  static StepResult retry_after(std::string code, std::string message,
                                std::chrono::milliseconds delay) {
    return {Kind::retry_after, std::move(code), std::move(message), delay};
  }
  // Executes the step again after the delay. Does not count as an attempt.
  static StepResult defer(std::string reason, std::chrono::milliseconds delay) {
    return {Kind::defer, {}, std::move(reason), delay};
  }
  // Ends the run and continues as a new run with this input (a JSON object) on the current
  // definition of the workflow. The same key finds the same successor. The step fails when other
  // steps of the run are open.
  static StepResult continue_as_new(std::string input, std::string key = "next") {
    return {Kind::continue_as_new, std::move(key), std::move(input), {}};
  }
  // The step failed for good: an error route is taken, or the run fails.
  static StepResult fail(std::string code, std::string message) {
    return {Kind::fail, std::move(code), std::move(message), {}};
  }

  [[nodiscard]] Kind kind() const { return kind_; }
  [[nodiscard]] const std::string& code() const { return code_; }
  // The result, the reason or the message.
  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] std::chrono::milliseconds delay() const { return delay_; }
  [[nodiscard]] const GraphMutation& graph() const { return graph_; }

 private:
  StepResult(Kind kind, std::string code, std::string text, std::chrono::milliseconds delay)
      : kind_(kind), code_(std::move(code)), text_(std::move(text)), delay_(delay) {}

  Kind kind_;
  std::string code_;
  std::string text_;
  std::chrono::milliseconds delay_;
  GraphMutation graph_;
};

// input: a JSON object: the input of the run and the results of earlier steps. Several threads may
// call a handler concurrently.
using StepHandler = std::function<StepResult(StepContext& context, std::string_view input)>;

}  // namespace holdfast
