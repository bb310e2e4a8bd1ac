// Repeated reports whose run has ended and left memory: the journal records whether the first
// report counted.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "apps/server/server_call.h"
#include "runs/api/work_requests.h"

namespace holdfast {

// The error per report, in the same order; empty: it counted.
using Judgements = std::vector<std::optional<Error>>;

// Calls `then` with the results, corrected for repeated reports; immediately when no result needs
// to be looked up.
void with_late_reports(const CallPtr& call,
                       const std::shared_ptr<const std::vector<Report>>& reports, Judgements judged,
                       std::function<void(const Judgements&)> then);

}  // namespace holdfast
