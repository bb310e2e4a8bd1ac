#include "runs/steps/built_in.h"

#include <algorithm>

#include "base/json_slice.h"
#include "runs/steps/exec_step.h"
#include "runs/steps/step_outcome.h"

namespace holdfast {

namespace {

AttemptOutcome outcome_of(const StepOutput& output) {
  if (output.ok) {
    Completion completion;
    completion.result = output.result;
    completion.details = output.details;
    return completion;
  }
  Failure failure = step_failure(output.code, output.message, output.retryable, output.details);
  failure.retry_after_ms = output.retry_after_ms;
  return failure;
}

std::string trace_member(const Payload& trace, std::string_view name) {
  JsonSlicer slicer(trace.is_object() ? trace.view() : "{}");
  while (const auto member = slicer.next()) {
    if (member->name == name) {
      return json_string_value(member->value).value_or("");
    }
  }
  return "";
}

bool is_printable(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c < '\x7f'; });
}

}  // namespace

Failure without_definition(std::string_view step) {
  return step_failure(
      "unknown_workflow",
      "the definition of step \"" + std::string(step) + "\" is not known to this worker", true);
}

std::string traceparent_of(const Payload& trace) {
  return trace.empty() ? "" : trace_member(trace, "traceparent");
}

AttemptOutcome execute(const ExecSpec& spec, const BuiltInCall& call, const std::stop_token& stop) {
  return outcome_of(run_exec(spec, call.input,
                             {{"HOLDFAST_RUN_ID", call.info.run_id},
                              {"HOLDFAST_WORKFLOW", call.info.workflow},
                              {"HOLDFAST_STEP", call.info.step},
                              {"HOLDFAST_ATTEMPT", std::to_string(call.info.attempt)},
                              {"HOLDFAST_IDEMPOTENCY_KEY", call.info.idempotency_key}},
                             stop));
}

AttemptOutcome execute(const HttpSpec& spec, const BuiltInCall& call,
                       const CredentialSource& credential, const std::stop_token& stop) {
  std::vector<std::pair<std::string, std::string>> defaults{
      {"Idempotency-Key", call.info.idempotency_key}};
  for (const std::string_view name : {"traceparent", "tracestate"}) {
    std::string value = call.trace.empty() ? "" : trace_member(call.trace, name);
    if (!value.empty() && is_printable(value)) {
      defaults.emplace_back(name, std::move(value));
    }
  }
  return outcome_of(run_http(spec, call.input, defaults, credential, stop));
}

}  // namespace holdfast
