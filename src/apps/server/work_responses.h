// The responses to remote workers as JSON, and the outcomes of their reports.
#pragma once

#include <string>
#include <vector>

#include "apps/server/work_requests.h"
#include "runs/api/run_requests.h"
#include "runs/engine/claim_request.h"
#include "runs/engine/consequences.h"
#include "runs/engine/worker_pool.h"

namespace holdfast {

// The outcome that the engine stores. A report that is not allowed becomes a failure of the step.
AttemptOutcome outcome_of(const Report& report);

// {"results":[…],"attempts":[…],"draining":…}. results: of results_text, or empty.
std::string claim_answer(std::string_view results, const std::vector<Assignment>& attempts,
                         bool draining);
// [{"claim_id","counted":true} or {"claim_id","counted":false,"problem"}]
std::string results_text(const std::vector<Report>& reports,
                         const std::vector<std::optional<Error>>& judged);

struct HeartbeatReply {
  TimeMs lease_until;
  bool stop = false;  // the run is being compensated
  std::optional<Error> lost;
};
std::string heartbeat_answer(const std::vector<HeartbeatClaim>& claims,
                             const std::vector<HeartbeatReply>& answers, bool draining);

std::string started_text(const Started& started);

}  // namespace holdfast
