// Pages of runs, out of the index thread of a workflow or the catalog of all. A cursor is the
// revision of the thread where the next page begins.
#pragma once

#include "engine/loop.h"
#include "holdfast/run.h"

namespace holdfast {

inline constexpr std::size_t kMaxListed = 1000;

// invalid_argument when the workflow, the limit or the cursor are not valid.
Result<RunPage> list_runs(Loop& loop, const ListOptions& options);

}  // namespace holdfast
