// Verifies a whole journal: every batch by its hash and the chain, sealed batches rebuilt from
// their segments; every thread without gaps; every stored revision.
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

// The first damage found, as an error that names the location.
Result<VerifyReport> verify_journal(Log& log, const Progress& progress = {});

}  // namespace holdfast
