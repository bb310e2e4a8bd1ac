// The cases of the engine benchmark that measure memory: sleeping runs, and runs with large
// payloads.
#pragma once

#include "lab/bench/engine_run.h"

namespace holdfast {

Result<void> bench_sleeping(EngineRun& run);
// How much the process grows with live runs that have large inputs and results: while they are
// started and continued, after a restart from a checkpoint, and after one without.
Result<void> bench_payloads(EngineRun& run);

}  // namespace holdfast
