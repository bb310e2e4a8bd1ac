// Executes http and exec steps for a worker.
#pragma once

#include <stop_token>
#include <string>
#include <string_view>

#include "holdfast/step.h"
#include "runs/facts/attempt_outcome.h"
#include "runs/steps/http_step.h"

namespace holdfast {

// One attempt of such a step.
struct BuiltInCall {
  StepInfo info;
  std::string_view input;
  Payload trace;  // {"traceparent","tracestate"}, sent by http steps
};
AttemptOutcome execute(const ExecSpec& spec, const BuiltInCall& call, const std::stop_token& stop);
AttemptOutcome execute(const HttpSpec& spec, const BuiltInCall& call,
                       const CredentialSource& credential, const std::stop_token& stop);
// The failure of an attempt whose definition is unknown to the worker.
Failure without_definition(std::string_view step);

// The traceparent of a trace context; empty when it has none.
std::string traceparent_of(const Payload& trace);

}  // namespace holdfast
