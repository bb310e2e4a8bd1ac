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
  if (report.schedule_in_ms > 0) {
    completion.execution_opts = schedule_in(report.schedule_in_ms);
  }
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

void write_payload(JsonWriter& json, std::string_view name, const Payload& payload) {
  if (!payload.empty()) {
    json.key(name).raw(JsonText::trusted(std::string(payload.view())));
  }
}

void write_attempt(JsonWriter& json, const Assignment& given) {
  const StepInfo info = info_of(given);
  json.begin_object().member("run_id", info.run_id).member("workflow", info.workflow);
  json.member("step", info.step).member("handler", given.handler.view());
  json.member("queue", info.queue).member("runnable_key", info.runnable_key);
  json.member("idempotency_key", info.idempotency_key);
  json.member("attempt", static_cast<std::uint64_t>(info.attempt));
  json.member("visit", static_cast<std::uint64_t>(info.visit)).member("item", info.item);
  write_payload(json, "input", given.input);
  write_payload(json, "trace", given.trace);
  write_payload(json, "progress", given.progress);
  json.member("claim_id", given.claim_id.view()).member("token", given.token.view());
  json.member("lease_ms", given.lease_ms).member("lease_until", given.lease_until.value);
  if (given.definition != nullptr) {
    if (const auto spec = spec_of(*given.definition, info.step)) {
      json.key("spec").raw(JsonText::trusted(std::string(*spec)));
    }
  }
  json.end_object();
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

std::string claim_answer(std::string_view results, const std::vector<Assignment>& attempts,
                         bool draining) {
  JsonWriter json;
  json.begin_object();
  if (!results.empty()) {
    json.key("results").raw(JsonText::trusted(std::string(results)));
  }
  json.key("attempts").begin_array();
  for (const Assignment& given : attempts) {
    write_attempt(json, given);
  }
  json.end_array().member("draining", draining).end_object();
  return std::move(json).take();
}

std::string results_text(const std::vector<Report>& reports,
                         const std::vector<std::optional<Error>>& judged) {
  JsonWriter json;
  json.begin_array();
  for (std::size_t i = 0; i < reports.size(); ++i) {
    json.begin_object().member("claim_id", reports[i].claim_id.view());
    json.member("counted", !judged[i].has_value());
    if (judged[i].has_value()) {
      json.member("problem", problem_json(*judged[i]));
    }
    json.end_object();
  }
  json.end_array();
  return std::move(json).take();
}

std::string heartbeat_answer(const std::vector<HeartbeatClaim>& claims,
                             const std::vector<HeartbeatReply>& answers, bool draining) {
  JsonWriter json;
  json.begin_object().key("results").begin_array();
  for (std::size_t i = 0; i < claims.size(); ++i) {
    const HeartbeatReply& answer = answers[i];
    json.begin_object().member("claim_id", claims[i].claim_id.view());
    json.member("lost", answer.lost.has_value());
    if (answer.lost.has_value()) {
      json.member("cancelled", is_cancellation(answer.lost->code()));
      json.member("problem", problem_json(*answer.lost));
    } else {
      json.member("lease_until", answer.lease_until.value).member("stop", answer.stop);
    }
    json.end_object();
  }
  json.end_array().member("draining", draining).end_object();
  return std::move(json).take();
}

std::string started_text(const Started& started) {
  return response_json(StartResponse{to_string(started.run_id), started.existed});
}

}  // namespace holdfast
