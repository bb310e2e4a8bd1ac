// How fast a journal is decoded, opened and sealed, and how large it is.
#pragma once

#include "lab/bench/bench_run.h"

namespace holdfast {

// Decodes entries in memory, without a store.
Result<void> bench_decode(BenchRun& run);
// Fills the journal up to that many entries, then measures opening, size and sealing.
Result<void> bench_whole_journal(BenchRun& run, std::uint64_t entries);

}  // namespace holdfast
