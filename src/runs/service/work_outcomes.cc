#include "runs/service/work_outcomes.h"

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

Payload step_spec(const Assignment& assignment) {
  if (assignment.definition == nullptr) {
    return {};
  }
  const auto spec = spec_of(*assignment.definition, info_of(assignment).step);
  return spec.has_value() ? Payload::trusted(*spec) : Payload();
}

}  // namespace holdfast
