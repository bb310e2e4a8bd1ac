#include "apps/client/attempt_handlers.h"

#include "runs/language/definition/spec.h"
#include "runs/steps/built_in.h"
#include "runs/steps/step_outcome.h"

namespace holdfast::client {

namespace {

BuiltInCall built_in_call(const AttemptCall& call) {
  return {info_of(call.attempt), call.attempt.input.view(), call.attempt.trace};
}

// The definition of the step from the server; empty if it is not valid.
std::optional<StepSpec> spec_of(const ClaimedAttempt& attempt) {
  if (!attempt.spec.is_object()) {
    return std::nullopt;
  }
  auto spec = from_json<StepSpec>(attempt.spec.view());
  return spec.ok() ? std::optional(std::move(spec).value()) : std::nullopt;
}

}  // namespace

AttemptHandler handler_of(StepHandler handler) {
  return [handler = std::move(handler)](const AttemptCall& call) -> AttemptOutcome {
    const ClaimedAttempt& attempt = call.attempt;
    StepContext context(info_of(attempt), call.stop, call.start_child,
                        StepExtras{traceparent_of(attempt.trace),
                                   std::string(attempt.progress.view()), call.progress});
    return outcome_of(handler(context, attempt.input.view()));
  };
}

AttemptHandler exec_handler() {
  return [](const AttemptCall& call) -> AttemptOutcome {
    const auto spec = spec_of(call.attempt);
    if (!spec.has_value() || !spec->exec.has_value()) {
      return without_definition(call.attempt.step);
    }
    return execute(*spec->exec, built_in_call(call), call.stop);
  };
}

AttemptHandler http_handler(CredentialSource credential) {
  return [credential = std::move(credential)](const AttemptCall& call) -> AttemptOutcome {
    const auto spec = spec_of(call.attempt);
    if (!spec.has_value() || !spec->http.has_value()) {
      return without_definition(call.attempt.step);
    }
    return execute(*spec->http, built_in_call(call), credential, call.stop);
  };
}

AttemptHandler handler_of(ExecSpec spec) {
  return [spec = std::move(spec)](const AttemptCall& call) {
    return execute(spec, built_in_call(call), call.stop);
  };
}

AttemptHandler handler_of(HttpSpec spec, CredentialSource credential) {
  return [spec = std::move(spec), credential = std::move(credential)](const AttemptCall& call) {
    return execute(spec, built_in_call(call), credential, call.stop);
  };
}

AttemptOutcome call_handler(const AttemptHandler& handler, const AttemptCall& call) {
  try {
    return handler(call);
  } catch (...) {
    return failure_of_exception();
  }
}

}  // namespace holdfast::client
