#include "apps/embed/built_in.h"

#include <algorithm>

#include "runs/language/cron/cron.h"
#include "runs/language/cron/zone_names.h"
#include "runs/steps/exec_step.h"

namespace holdfast {

namespace {

// What the attempt leaves behind for people, beside its error.
Payload failure_json(const StepOutput& output) {
  JsonWriter json;
  json.begin_object().member("code", output.code).member("message", output.message);
  json.member("retryable", output.retryable).member("details", output.details).end_object();
  return std::move(json).take_text();
}

HandlerOutcome outcome_of(const StepOutput& output) {
  if (output.ok) {
    Completion completion;
    completion.result = output.result;
    completion.details = output.details;
    return completion;
  }
  return Failure{failure_json(output), output.retryable, output.retry_after_ms};
}

const StepSpec* spec_of(const Assignment& assignment) {
  const auto index = assignment.definition == nullptr
                         ? std::nullopt
                         : assignment.definition->find(assignment.step.view());
  return index.has_value() ? &assignment.definition->steps()[*index].spec : nullptr;
}

BuiltInCall call_of(const Assignment& assignment) {
  StepInfo info;
  info.run_id = to_string(assignment.run_id);
  info.workflow = assignment.workflow.str();
  info.step = assignment.step.str();
  info.attempt = assignment.attempt_number;
  info.idempotency_key = assignment.idempotency_key.str();
  return {std::move(info), assignment.input.view(), assignment.trace};
}

HandlerOutcome call_exec(const Assignment& assignment, const std::stop_token& stop) {
  const StepSpec* spec = spec_of(assignment);
  if (spec == nullptr || !spec->exec.has_value()) {
    return without_definition(assignment.step.view());
  }
  return execute(*spec->exec, call_of(assignment), stop);
}

HandlerOutcome call_http(const Assignment& assignment, const std::stop_token& stop,
                         const CredentialSource& credential) {
  const StepSpec* spec = spec_of(assignment);
  if (spec == nullptr || !spec->http.has_value()) {
    return without_definition(assignment.step.view());
  }
  return execute(*spec->http, call_of(assignment), credential, stop);
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
  json.member("message", "the definition of step " + std::string(step) + " is not known here");
  json.member("retryable", true).end_object();
  return Failure{Payload(std::move(json).take_text()), true, std::nullopt};
}

std::string traceparent_of(const Payload& trace) {
  return trace.empty() ? "" : trace_member(trace, "traceparent");
}

HandlerOutcome execute(const ExecSpec& spec, const BuiltInCall& call, const std::stop_token& stop) {
  return outcome_of(run_exec(spec, call.input,
                             {{"HOLDFAST_RUN_ID", call.info.run_id},
                              {"HOLDFAST_WORKFLOW", call.info.workflow},
                              {"HOLDFAST_STEP", call.info.step},
                              {"HOLDFAST_ATTEMPT", std::to_string(call.info.attempt)},
                              {"HOLDFAST_IDEMPOTENCY_KEY", call.info.idempotency_key}},
                             stop));
}

HandlerOutcome execute(const HttpSpec& spec, const BuiltInCall& call,
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

HandlerTable built_in_handlers(
    const std::function<std::optional<std::string>(std::string_view name)>& credential) {
  const CredentialSource source =
      credential ? CredentialSource(credential)
                 : [](std::string_view) -> std::optional<std::string> { return std::nullopt; };
  HandlerTable table;
  table[SharedText(kExecHandler)] = call_exec;
  table[SharedText(kHttpHandler)] = [source](const Assignment& assignment,
                                             const std::stop_token& stop) {
    return call_http(assignment, stop, source);
  };
  return table;
}

Result<void> check_timezones(const Definition& definition) {
  std::vector<DefinitionFault> faults;
  for (std::size_t i = 0; i < definition.triggers().size(); ++i) {
    const auto& cron = definition.triggers()[i].spec.cron;
    if (cron.has_value() && !is_timezone(cron->timezone.view())) {
      faults.push_back({{"triggers", std::to_string(i), "cron", "timezone"},
                        "invalid_cron_timezone",
                        unknown_timezone(cron->timezone.view()).message()});
    }
  }
  return faults.empty() ? Result<void>() : invalid_definition(faults);
}

}  // namespace holdfast
