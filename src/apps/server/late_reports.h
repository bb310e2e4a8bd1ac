// Reports that come again after their run has ended and left memory: whether they counted the first
// time is in the journal.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "apps/server/server_call.h"
#include "apps/server/work_requests.h"

namespace holdfast {

// What became of reports, in the same order; empty: it counted.
using Judgements = std::vector<std::optional<Error>>;

// Calls `then` with the judgements, those that only came again corrected; at once when there is
// nothing to look up.
void with_late_reports(const CallPtr& call,
                       const std::shared_ptr<const std::vector<Report>>& reports, Judgements judged,
                       std::function<void(const Judgements&)> then);

}  // namespace holdfast
