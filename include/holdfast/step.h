// What a step handler is given and what it answers.
//
// A handler is called after its claim is durable, from a thread that works or executes. It may be
// called again for the same work: after a crash, when its lease ran out, as a retry, after a
// deferral. All of these calls get the same idempotency_key; a new visit of the step, another item
// or a replay gets another. So what a handler does outside should be done under that key. An
// exception it throws is a failure without retry that names the exception.
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

// Which attempt at which step of which run.
struct StepInfo {
  std::string run_id = {};
  std::string workflow = {};
  std::string step = {};
  std::string queue = {};
  std::string runnable_key = {};     // the name of this attempt
  std::string idempotency_key = {};  // the same for all attempts at this visit and item
  std::uint32_t attempt = 1;
  std::uint32_t visit = 1;  // how often the step was begun, where transitions lead back to it
  std::int64_t item = -1;   // of a step with for_each: the place in the list
};

struct ChildOptions {
  std::string queue = {};           // empty: the default
  std::string trigger = {};         // empty: child
  std::string metadata = {};        // a JSON object; secrets in it are redacted before it is stored
  bool cancel_with_parent = false;  // cancelled when the parent ends before it
};

using ChildStarter =
    std::function<Result<StartedRun>(std::string_view workflow, std::string_view key,
                                     std::string_view input, const ChildOptions& options)>;

// What else a handler may see and say.
struct StepExtras {
  std::string trace = {};              // the W3C traceparent of the run
  std::string previous_progress = {};  // JSON
  std::function<void(std::string json)> progress = nullptr;
};

class StepContext {
 public:
  // Engines make them; so may tests of handlers.
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
  // Stopped when the claim is lost, by a cancelled run for example: the result will not count.
  [[nodiscard]] const std::stop_token& stop() const { return stop_; }

  // How far it is, as JSON of at most 64 KiB: inspect and explain show it, and the next worker gets
  // it (previous_progress) if this one loses its claim. The newest counts. It is stored with the
  // next heartbeat of the claim, which an engine in this process sends within a second. Anything
  // that is no JSON, or too long, is ignored.
  void progress(std::string json) {
    if (extras_.progress != nullptr) {
      extras_.progress(std::move(json));
    }
  }
  // What an earlier holder of this attempt said last; empty when there is nothing.
  [[nodiscard]] const std::string& previous_progress() const { return extras_.previous_progress; }
  // The traceparent (W3C) of whoever started the run, for calls that the handler makes; empty when
  // there is none.
  [[nodiscard]] const std::string& trace() const { return extras_.trace; }

  // Starts a run that belongs to this step; durable when it returns. The key names it among the
  // children of the step: starting it again finds the same run. unknown_workflow, terminal_run,
  // invalid_parent_context, conflicting_child_run, invalid_argument, invalid_json.
  Result<StartedRun> start_child(std::string_view workflow, std::string_view key,
                                 std::string_view input = "{}", const ChildOptions& options = {}) {
    if (start_child_ == nullptr) {
      return Error{ErrorCode::invalid_argument, "this context belongs to no engine"};
    }
    return start_child_(workflow, key, input, options);
  }

 private:
  StepInfo info_;
  std::stop_token stop_;
  ChildStarter start_child_;
  StepExtras extras_;
};

// Beside a result.
struct StepOptions {
  std::chrono::milliseconds schedule_in{0};  // what follows begins that much later
};

class StepResult {
 public:
  enum class Kind : std::uint8_t { ok, retry, retry_after, defer, continue_as_new, fail };

  // The step is done. The members of an object become part of the run's context, which later
  // steps get as input. A text that is no JSON fails the step.
  static StepResult ok(std::string json = "{}", StepOptions options = {}) {
    return {Kind::ok, {}, std::move(json), options.schedule_in};
  }
  // It did not work; the retry policy of the step says whether and when it is tried again.
  static StepResult retry(std::string code, std::string message) {
    return {Kind::retry, std::move(code), std::move(message), {}};
  }
  // The same, but with this delay instead of the policy's.
  static StepResult retry_after(std::string code, std::string message,
                                std::chrono::milliseconds delay) {
    return {Kind::retry_after, std::move(code), std::move(message), delay};
  }
  // It is too early: the step is to be done later. Counts as no attempt.
  static StepResult defer(std::string reason, std::chrono::milliseconds delay) {
    return {Kind::defer, {}, std::move(reason), delay};
  }
  // The run ends here and goes on as a new one with this input (a JSON object), under the
  // workflow's newest definition. Repeating it under the same key finds the same successor. Only
  // while nothing else of the run is open; otherwise the step fails.
  static StepResult continue_as_new(std::string input, std::string key = "next") {
    return {Kind::continue_as_new, std::move(key), std::move(input), {}};
  }
  // It will never work: an error route is taken, or the run fails.
  static StepResult fail(std::string code, std::string message) {
    return {Kind::fail, std::move(code), std::move(message), {}};
  }

  [[nodiscard]] Kind kind() const { return kind_; }
  [[nodiscard]] const std::string& code() const { return code_; }
  // The result, the reason or the message.
  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] std::chrono::milliseconds delay() const { return delay_; }

 private:
  StepResult(Kind kind, std::string code, std::string text, std::chrono::milliseconds delay)
      : kind_(kind), code_(std::move(code)), text_(std::move(text)), delay_(delay) {}

  Kind kind_;
  std::string code_;
  std::string text_;
  std::chrono::milliseconds delay_;
};

// input: a JSON object, the input of the run and the results of the steps before. Several threads
// may call the same handler at once.
using StepHandler = std::function<StepResult(StepContext& context, std::string_view input)>;

}  // namespace holdfast
