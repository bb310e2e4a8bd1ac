// Proves a whole journal: every batch by its hash and the chain, sealed ones made again from
// their segments; every thread without gaps; every stored revision right.
#pragma once

#include "holdfast/result.h"
#include "storage/journal/transfer_progress.h"
#include "storage/log/log.h"

namespace holdfast {

struct VerifyReport {
  std::uint64_t batches = 0;
  std::uint64_t sealed_batches = 0;
  std::uint64_t entries = 0;
  std::uint64_t threads = 0;
  Position head;
  Digest chain{};
};

// The first damage found, as an error that names the place.
Result<VerifyReport> verify_journal(Log& log, const Progress& progress = {});

}  // namespace holdfast
