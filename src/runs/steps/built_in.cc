#include "runs/steps/built_in.h"

#include <algorithm>

#include "base/json_slice.h"
#include "base/json_writer.h"
#include "runs/steps/exec_step.h"

namespace holdfast {

namespace {

// The stored error, with details for operators.
Payload failure_json(const StepOutput& output) {
  JsonWriter json;
  json.begin_object().member("code", output.code).member("message", output.message);
  json.member("retryable", output.retryable).member("details", output.details).end_object();
  return std::move(json).take_text();
}

AttemptOutcome outcome_of(const StepOutput& output) {
  if (output.ok) {
    Completion completion;
    completion.result = output.result;
    completion.details = output.details;
    return completion;
  }
  return Failure{failure_json(output), output.retryable, output.retry_after_ms};
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
  JsonWriter json;
  json.begin_object().member("code", "unknown_workflow");
  json.member("message",
              "the definition of step \"" + std::string(step) + "\" is not known to this worker");
  json.member("retryable", true).end_object();
  return Failure{Payload(std::move(json).take_text()), true, std::nullopt};
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
