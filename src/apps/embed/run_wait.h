// Waiting for the end of a run, whichever process writes it.
#pragma once

#include <chrono>

#include "runs/engine/engine_loop.h"

namespace holdfast {

// Returns when the run has ended, or after the timeout. run_not_found; engine_stopped.
Result<void> wait_for_end(Loop& loop, const RunId& run, std::chrono::milliseconds timeout);

}  // namespace holdfast
