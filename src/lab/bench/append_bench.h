// How fast entries become durable, by the number of entries in a commit.
#pragma once

#include "lab/bench/bench_run.h"

namespace holdfast {

Result<void> bench_appends(BenchRun& run);

}  // namespace holdfast
