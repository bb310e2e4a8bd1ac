// The handlers of http and exec steps for workers inside the engine's process.
#pragma once

#include "holdfast/step.h"
#include "runs/engine/worker_pool.h"
#include "runs/steps/http_step.h"

namespace holdfast {

// credential: may be empty; then no step can use one.
HandlerTable built_in_handlers(const CredentialSource& credential);

StepInfo info_of(const Assignment& assignment);

}  // namespace holdfast
