// The handlers of a worker: those of the program, and http and exec steps of workflows.
#pragma once

#include <functional>
#include <map>
#include <stop_token>
#include <string>

#include "apps/client/work_messages.h"
#include "holdfast/step.h"
#include "runs/steps/http_step.h"

namespace holdfast::client {

// The arguments of a handler, valid during the call.
struct AttemptCall {
  const ClaimedAttempt& attempt;
  std::stop_token stop;
  std::function<void(std::string json)> progress;
  ChildStarter start_child;
};

using AttemptHandler = std::function<AttemptOutcome(const AttemptCall& call)>;
using AttemptHandlers = std::map<SharedText, AttemptHandler>;

AttemptHandler handler_of(StepHandler handler);
// For http and exec steps of workflows.
AttemptHandler exec_handler();
AttemptHandler http_handler(CredentialSource credential);
// For handlers of a handlers file.
AttemptHandler handler_of(ExecSpec spec);
AttemptHandler handler_of(HttpSpec spec, CredentialSource credential);

// An exception becomes a failure that names it.
AttemptOutcome call_handler(const AttemptHandler& handler, const AttemptCall& call);

}  // namespace holdfast::client
