// How fast a journal is decoded, opened and sealed, and how large it is.
#pragma once

#include "lab/bench/bench_run.h"

namespace holdfast {

// Entries in memory, without a store.
Result<void> bench_decode(BenchRun& run);
// Fills the journal up to that many entries, then measures it whole: opening, size, sealing.
Result<void> bench_whole_journal(BenchRun& run, std::uint64_t entries);

}  // namespace holdfast
