#include "apps/client/work_messages.h"

#include "runs/facts/execution_opts.h"

namespace holdfast::client {

namespace {

void set_outcome(Report& report, const Completion& completion) {
  const ExecutionOpts opts = execution_opts(completion.execution_opts);
  if (opts.continue_as_new.has_value()) {
    report.outcome = ReportedOutcome::continue_as_new;
    report.key = opts.continue_as_new->key.str();
    report.input = opts.continue_as_new->input;
    return;
  }
  if (opts.defer.has_value()) {
    report.outcome = ReportedOutcome::defer;
    report.reason = opts.defer->reason.str();
    report.schedule_in_ms = opts.defer->schedule_in_ms;
    return;
  }
  report.result = completion.result;
  report.schedule_in_ms = opts.schedule_in_ms;
  report.graph = opts.graph;
  report.details = completion.details;
}

// Members of a failure besides code and message are its details.
void set_outcome(Report& report, const Failure& failure) {
  report.outcome = failure.retryable ? ReportedOutcome::retry : ReportedOutcome::fail;
  report.retry_after_ms = failure.retry_after_ms;
  std::string others;
  JsonSlicer slicer(failure.error.view());
  while (const auto member = slicer.next()) {
    if (member->name == "code") {
      report.code = json_string_value(member->value).value_or("");
    } else if (member->name == "message") {
      report.message = json_string_value(member->value).value_or("");
    } else if (member->name == "details") {
      report.details = Payload::trusted(member->value);
    } else if (member->name != "retryable") {
      others += others.empty() ? "{" : ",";
      others += "\"" + std::string(member->name) + "\":" + std::string(member->value);
    }
  }
  if (report.details.empty() && !others.empty()) {
    report.details = Payload::trusted(others + "}");
  }
}

}  // namespace

StepInfo info_of(const ClaimedAttempt& attempt) {
  StepInfo info;
  info.run_id = to_string(attempt.run_id);
  info.workflow = attempt.workflow;
  info.step = attempt.step;
  info.queue = attempt.queue;
  info.runnable_key = attempt.runnable_key.str();
  info.idempotency_key = attempt.idempotency_key;
  info.attempt = attempt.attempt;
  info.visit = attempt.visit_number;
  info.item = attempt.item;
  return info;
}

Report report_of(const ClaimedAttempt& attempt, const AttemptOutcome& outcome) {
  Report report;
  static_cast<ClaimReference&>(report) = attempt.reference();
  std::visit([&](const auto& how) { set_outcome(report, how); }, outcome);
  return report;
}

std::size_t bytes_of(const Report& report) {
  return kUsualBytes + report.result.view().size() + report.input.view().size() +
         report.details.view().size() + report.graph.view().size() + report.message.size();
}

}  // namespace holdfast::client
