#include "embed/built_in.h"

#include "builtin/exec_step.h"
#include "builtin/http_step.h"
#include "cron/cron.h"

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

Failure without_definition(const Assignment& assignment) {
  JsonWriter json;
  json.begin_object().member("code", "unknown_workflow");
  json.member("message", "the definition of step " + assignment.step.str() + " is not known here");
  json.member("retryable", true).end_object();
  return Failure{Payload(std::move(json).take_text()), true, std::nullopt};
}

const StepSpec* spec_of(const Assignment& assignment) {
  const auto index = assignment.definition == nullptr
                         ? std::nullopt
                         : assignment.definition->find(assignment.step.view());
  return index.has_value() ? &assignment.definition->steps()[*index].spec : nullptr;
}

HandlerOutcome call_exec(const Assignment& assignment, const std::stop_token& stop) {
  const StepSpec* spec = spec_of(assignment);
  if (spec == nullptr || !spec->exec.has_value()) {
    return without_definition(assignment);
  }
  return outcome_of(run_exec(*spec->exec, assignment.input.view(),
                             {{"HOLDFAST_RUN_ID", to_string(assignment.run_id)},
                              {"HOLDFAST_WORKFLOW", assignment.workflow.str()},
                              {"HOLDFAST_STEP", assignment.step.str()},
                              {"HOLDFAST_ATTEMPT", std::to_string(assignment.attempt_number)},
                              {"HOLDFAST_IDEMPOTENCY_KEY", assignment.idempotency_key.str()}},
                             stop));
}

HandlerOutcome call_http(const Assignment& assignment, const std::stop_token& stop,
                         const CredentialSource& credential) {
  const StepSpec* spec = spec_of(assignment);
  if (spec == nullptr || !spec->http.has_value()) {
    return without_definition(assignment);
  }
  return outcome_of(run_http(*spec->http, assignment.input.view(),
                             {{"Idempotency-Key", assignment.idempotency_key.str()}}, credential,
                             stop));
}

}  // namespace

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
                        "there is no time zone " + cron->timezone.str()});
    }
  }
  return faults.empty() ? Result<void>() : invalid_definition(faults);
}

}  // namespace holdfast
