// The responses to remote workers.
#pragma once

#include <string>
#include <vector>

#include "runs/api/run_requests.h"
#include "runs/api/work_requests.h"
#include "runs/engine/claim_request.h"
#include "runs/engine/consequences.h"
#include "runs/engine/worker_pool.h"
#include "runs/service/work_outcomes.h"

namespace holdfast {

std::vector<ClaimedAttempt> claimed_attempts(const std::vector<Assignment>& given);
std::vector<ReportResult> report_results(const std::vector<Report>& reports,
                                         const std::vector<std::optional<Error>>& judged);
HeartbeatResult lost_claim(const HeartbeatClaim& claim, const Error& why);

std::string started_text(const Started& started);

}  // namespace holdfast
