// How fast entries become durable: by group size, and by number of concurrent appenders.
#pragma once

#include "lab/bench/bench_run.h"

namespace holdfast {

Result<void> bench_appends(BenchRun& run);

}  // namespace holdfast
