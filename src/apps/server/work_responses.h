// What workers are told, as JSON, and what their reports mean.
#pragma once

#include <string>
#include <vector>

#include "apps/server/work_requests.h"
#include "runs/engine/claim_request.h"
#include "runs/engine/consequences.h"
#include "runs/engine/worker_pool.h"

namespace holdfast {

// How the engine stores what was reported. What a step cannot say is a failure of it.
AttemptOutcome outcome_of(const Report& report);

// {"results":[…],"attempts":[…],"draining":…}; results: what results_text gives, or nothing.
std::string claim_answer(std::string_view results, const std::vector<Assignment>& attempts,
                         bool draining);
// [{"claim_id","counted":true} or {"claim_id","counted":false,"problem"}]
std::string results_text(const std::vector<Report>& reports,
                         const std::vector<std::optional<Error>>& judged);

struct HeartbeatReply {
  TimeMs lease_until;
  bool stop = false;  // the run goes back
  std::optional<Error> lost;
};
std::string heartbeat_answer(const std::vector<HeartbeatClaim>& claims, const std::vector<HeartbeatReply>& answers,
                             bool draining);

std::string started_text(const Started& started);

}  // namespace holdfast
