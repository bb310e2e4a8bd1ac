// Which runs of a workflow could continue on a definition, and why others could not. Reads only.
#pragma once

#include <vector>

#include "runs/api/store_requests.h"
#include "runs/engine/turn.h"

namespace holdfast {

// Of the runs of its workflow that have not ended, in the order of their ids, at most
// kMaxMigrationChecks; `more` is set when there are others.
inline constexpr std::size_t kMaxMigrationChecks = 1000;
struct MigrationReport {
  std::vector<MigrationCheck> runs;
  bool more = false;
};
Result<MigrationReport> migration_report(Turn& turn, const Definition& target);

// The response to registering a definition.
RegisterResponse registration(const Definition& definition);

}  // namespace holdfast
