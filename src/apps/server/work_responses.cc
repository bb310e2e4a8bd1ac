#include "apps/server/work_responses.h"

#include "apps/server/server_problem.h"
#include "runs/service/engine_handlers.h"

namespace holdfast {

namespace {

ClaimedAttempt claimed_attempt(const Assignment& given) {
  StepInfo info = info_of(given);
  ClaimedAttempt attempt;
  attempt.run_id = given.run_id;
  attempt.workflow = std::move(info.workflow);
  attempt.step = std::move(info.step);
  attempt.handler = given.handler;
  attempt.queue = std::move(info.queue);
  attempt.runnable_key = given.runnable_key;
  attempt.idempotency_key = std::move(info.idempotency_key);
  attempt.attempt = info.attempt;
  attempt.visit_number = info.visit;
  attempt.item = info.item;
  attempt.input = given.input;
  attempt.trace = given.trace;
  attempt.progress = given.progress;
  attempt.claim_id = given.claim_id;
  attempt.token = given.token;
  attempt.lease_ms = given.lease_ms;
  attempt.lease_until = given.lease_until;
  attempt.spec = step_spec(given);
  return attempt;
}

bool is_cancellation(ErrorCode code) {
  return code == ErrorCode::terminal_run || code == ErrorCode::invalid_transition;
}

}  // namespace

std::vector<ClaimedAttempt> claimed_attempts(const std::vector<Assignment>& given) {
  std::vector<ClaimedAttempt> attempts;
  attempts.reserve(given.size());
  for (const Assignment& one : given) {
    attempts.push_back(claimed_attempt(one));
  }
  return attempts;
}

std::vector<ReportResult> report_results(const std::vector<Report>& reports,
                                         const std::vector<std::optional<Error>>& judged) {
  std::vector<ReportResult> results;
  results.reserve(reports.size());
  for (std::size_t i = 0; i < reports.size(); ++i) {
    ReportResult& result = results.emplace_back();
    result.claim_id = reports[i].claim_id;
    result.counted = !judged[i].has_value();
    if (judged[i].has_value()) {
      result.problem = problem_json(*judged[i]);
    }
  }
  return results;
}

HeartbeatResult lost_claim(const HeartbeatClaim& claim, const Error& why) {
  HeartbeatResult result;
  result.claim_id = claim.claim_id;
  result.lost = true;
  result.cancelled = is_cancellation(why.code());
  result.problem = problem_json(why);
  return result;
}

std::string started_text(const Started& started) {
  return response_json(StartResponse{to_string(started.run_id), started.existed});
}

}  // namespace holdfast
