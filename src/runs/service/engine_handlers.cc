#include "runs/service/engine_handlers.h"

#include "runs/facts/activation.h"
#include "runs/steps/built_in.h"

namespace holdfast {

namespace {

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

AttemptOutcome call_exec(const Assignment& assignment, const std::stop_token& stop) {
  const StepSpec* spec = spec_of(assignment);
  if (spec == nullptr || !spec->exec.has_value()) {
    return without_definition(assignment.step.view());
  }
  return execute(*spec->exec, call_of(assignment), stop);
}

AttemptOutcome call_http(const Assignment& assignment, const std::stop_token& stop,
                         const CredentialSource& credential) {
  const StepSpec* spec = spec_of(assignment);
  if (spec == nullptr || !spec->http.has_value()) {
    return without_definition(assignment.step.view());
  }
  return execute(*spec->http, call_of(assignment), credential, stop);
}

}  // namespace

HandlerTable built_in_handlers(const CredentialSource& credential) {
  const CredentialSource source =
      credential ? credential
                 : [](std::string_view) -> std::optional<std::string> { return std::nullopt; };
  HandlerTable table;
  table[SharedText(kExecHandler)] = call_exec;
  table[SharedText(kHttpHandler)] = [source](const Assignment& assignment,
                                             const std::stop_token& stop) {
    return call_http(assignment, stop, source);
  };
  return table;
}

StepInfo info_of(const Assignment& assignment) {
  const Activation activation = parse_activation(assignment.step.view());
  StepInfo info;
  info.run_id = to_string(assignment.run_id);
  info.workflow = assignment.workflow.str();
  info.step = activation.compensation ? assignment.step.str() : std::string(activation.step);
  info.queue = assignment.queue.str();
  info.runnable_key = assignment.runnable_key.str();
  info.idempotency_key = assignment.idempotency_key.str();
  info.attempt = assignment.attempt_number;
  info.visit = activation.visit;
  info.item = activation.item.has_value() ? static_cast<std::int64_t>(*activation.item) : -1;
  return info;
}

}  // namespace holdfast
