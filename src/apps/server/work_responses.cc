#include "apps/server/work_responses.h"

#include "apps/server/server_problem.h"
#include "runs/language/data/path.h"
#include "runs/service/engine_handlers.h"
#include "runs/steps/step_outcome.h"

namespace holdfast {

namespace {

AttemptOutcome completion_of(const Report& report) {
  if (report.result.view().size() > kMaxResultBytes) {
    return step_failure("result_too_large",
                        "the result has " + std::to_string(report.result.view().size()) +
                            " bytes; the limit is " + std::to_string(kMaxResultBytes),
                        false);
  }
  Completion completion;
  completion.result = report.result.empty() ? Payload::trusted("{}") : report.result;
  completion.details = report.details;
  completion.execution_opts = completion_opts(report.schedule_in_ms, report.graph);
  return completion;
}

AttemptOutcome continuation_of(const Report& report) {
  if (!report.input.empty() && !report.input.is_object()) {
    return step_failure("invalid_result", "the input of the next run is not a JSON object", false);
  }
  return step_continuation(report.key.empty() ? "next" : report.key,
                           report.input.empty() ? Payload::trusted("{}") : report.input);
}

// The JSON of the step in the definition.
std::optional<std::string_view> spec_of(const Definition& definition, std::string_view step) {
  const auto steps = ObjectView(definition.spec().view()).member("steps");
  if (!steps.has_value()) {
    return std::nullopt;
  }
  JsonSlicer slicer(*steps);
  while (const auto item = slicer.next()) {
    const auto name = ObjectView(item->value).member("name");
    if (name.has_value() && json_string_value(*name) == step) {
      return item->value;
    }
  }
  return std::nullopt;
}

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
  if (given.definition != nullptr) {
    if (const auto spec = spec_of(*given.definition, attempt.step)) {
      attempt.spec = Payload::trusted(*spec);
    }
  }
  return attempt;
}

bool is_cancellation(ErrorCode code) {
  return code == ErrorCode::terminal_run || code == ErrorCode::invalid_transition;
}

}  // namespace

AttemptOutcome outcome_of(const Report& report) {
  switch (report.outcome) {
    case ReportedOutcome::ok:
      return completion_of(report);
    case ReportedOutcome::defer:
      return step_deferral(report.reason, report.schedule_in_ms);
    case ReportedOutcome::continue_as_new:
      return continuation_of(report);
    case ReportedOutcome::retry:
    case ReportedOutcome::fail:
      break;
  }
  Failure failure = step_failure(report.code.empty() ? "step_failed" : report.code, report.message,
                                 report.outcome == ReportedOutcome::retry, report.details);
  failure.retry_after_ms = report.retry_after_ms;
  return failure;
}

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
