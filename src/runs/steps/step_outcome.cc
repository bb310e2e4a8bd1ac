#include "runs/steps/step_outcome.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json_writer.h"
#include "runs/api/public_requests.h"
#include "runs/facts/execution_opts.h"

namespace holdfast {

namespace {

std::uint64_t milliseconds(std::chrono::milliseconds delay) {
  return std::min(static_cast<std::uint64_t>(std::max<std::int64_t>(0, delay.count())),
                  kMaxDurationMs);
}

AttemptOutcome completion_of(const StepResult& result) {
  if (result.text().size() > kMaxResultBytes) {
    return step_failure("result_too_large",
                        fmt::format("the result has {} bytes; the limit is {}",
                                    result.text().size(), kMaxResultBytes),
                        false);
  }
  const auto json = JsonText::parse(result.text());
  if (!json.ok()) {
    return step_failure("invalid_result", "the result is not JSON: " + json.error().text(), false);
  }
  Completion completion;
  completion.result = json.value();
  Payload graph;
  if (!result.graph().empty()) {
    const auto change = graph_change(result.graph());
    const auto text = change.ok() ? to_json(change.value()) : change.error();
    if (!text.ok()) {
      return step_failure("invalid_graph_mutation",
                          "the steps to add cannot be stored: " + text.error().text(), false);
    }
    graph = text.value();
  }
  completion.execution_opts = completion_opts(milliseconds(result.delay()), graph);
  return completion;
}

AttemptOutcome continuation_of(const StepResult& result) {
  const auto input = JsonText::parse(result.text());
  if (!input.ok() || !input.value().is_object()) {
    return step_failure("invalid_result", "the input of the next run is not a JSON object", false);
  }
  return step_continuation(result.code(), input.value());
}

}  // namespace

Failure step_failure(std::string_view code, std::string_view message, bool retryable,
                     const Payload& details) {
  Failure failure;
  failure.retryable = retryable;
  JsonWriter json;
  json.begin_object().member("code", code).member("message", message);
  json.member("retryable", retryable);
  if (!details.empty()) {
    json.member("details", JsonText::trusted(std::string(details.view())));
  }
  json.end_object();
  failure.error = std::move(json).take_text();
  return failure;
}

Completion step_deferral(std::string_view reason, std::uint64_t schedule_in_ms) {
  Completion completion;
  completion.result = JsonText();
  JsonWriter opts;
  opts.begin_object().key("defer").begin_object();
  opts.member("reason", reason).member("schedule_in_ms", schedule_in_ms);
  opts.end_object().end_object();
  completion.execution_opts = std::move(opts).take_text();
  return completion;
}

Completion step_continuation(std::string_view key, const Payload& input) {
  Completion completion;
  completion.result = JsonText();
  JsonWriter opts;
  opts.begin_object().key("continue_as_new").begin_object();
  opts.member("key", key).member("input", JsonText::trusted(std::string(input.view())));
  opts.end_object().end_object();
  completion.execution_opts = std::move(opts).take_text();
  return completion;
}

Payload completion_opts(std::uint64_t schedule_in_ms, const Payload& graph) {
  if (schedule_in_ms == 0 && graph.empty()) {
    return Payload();
  }
  JsonWriter opts;
  opts.begin_object();
  if (schedule_in_ms > 0) {
    opts.member("schedule_in_ms", schedule_in_ms);
  }
  if (!graph.empty()) {
    opts.member("graph", JsonText::trusted(std::string(graph.view())));
  }
  opts.end_object();
  return std::move(opts).take_text();
}

AttemptOutcome outcome_of(const StepResult& result) {
  switch (result.kind()) {
    case StepResult::Kind::ok:
      return completion_of(result);
    case StepResult::Kind::retry:
      return step_failure(result.code(), result.text(), true);
    case StepResult::Kind::retry_after: {
      Failure failure = step_failure(result.code(), result.text(), true);
      failure.retry_after_ms = milliseconds(result.delay());
      return failure;
    }
    case StepResult::Kind::defer:
      return step_deferral(result.text(), milliseconds(result.delay()));
    case StepResult::Kind::continue_as_new:
      return continuation_of(result);
    case StepResult::Kind::fail:
      break;
  }
  return step_failure(result.code(), result.text(), false);
}

namespace {

StepResult::Kind result_kind(const Completion& completion) {
  const ExecutionOpts opts = execution_opts(completion.execution_opts);
  if (opts.continue_as_new.has_value()) {
    return StepResult::Kind::continue_as_new;
  }
  return opts.defer.has_value() ? StepResult::Kind::defer : StepResult::Kind::ok;
}

StepResult::Kind result_kind(const Failure& failure) {
  if (!failure.retryable) {
    return StepResult::Kind::fail;
  }
  return failure.retry_after_ms.has_value() ? StepResult::Kind::retry_after
                                            : StepResult::Kind::retry;
}

}  // namespace

StepResult::Kind kind_of(const AttemptOutcome& outcome) {
  return std::visit([](const auto& ended) { return result_kind(ended); }, outcome);
}

}  // namespace holdfast
