#include "runs/lease_backends/lease_messages.h"

#include "base/json_slice.h"

namespace holdfast {

template <>
inline constexpr std::string_view kEnumNames<SignalKind>[] = {
    "claim", "heartbeat", "complete", "fail", "retry", "yield", "dead_letter"};
template <>
inline constexpr std::string_view kEnumNames<EnqueueMode>[] = {"ensure", "redeliver", "replace"};
template <>
inline constexpr std::string_view kEnumNames<LeaseAnswer::Verdict>[] = {"granted", "refused",
                                                                        "lost", "stop"};

namespace {

struct StoredItem {
  std::string id;
  std::string idempotency_key;
  std::string handler;
  std::int64_t visible_at_ms = 0;
  Payload payload;

  static void visit(auto& self, auto& v) {
    v.required("id", self.id);
    v.optional("idempotency_key", self.idempotency_key);
    v.optional("handler", self.handler);
    v.optional("visible_at_ms", self.visible_at_ms);
    v.optional("payload", self.payload);
  }
};

struct StoredAnswer {
  LeaseAnswer::Verdict verdict = LeaseAnswer::Verdict::refused;
  std::uint64_t lease_ms = 0;
  Payload progress;

  static void visit(auto& self, auto& v) {
    v.required("verdict", self.verdict);
    v.optional("lease_ms", self.lease_ms);
    v.optional("progress", self.progress);
  }
};

Report invalid_report(const std::string& why) {
  Report report;
  report.outcome = ReportedOutcome::fail;
  report.code = "invalid_report";
  report.message = "the report of the worker cannot be read: " + why;
  return report;
}

// White space between tokens is allowed in what other programs write.
Result<LeaseReport> read_report(const std::string& body) {
  if (body.empty()) {
    return LeaseReport();
  }
  HOLDFAST_TRY(const JsonText compact, JsonText::parse(body));
  return from_json<LeaseReport>(compact.view());
}

}  // namespace

ClaimedAttempt claimed_attempt(const OfferedAttempt& offered, const LeaseClaim& claim,
                               const LeaseAnswer& granted) {
  ClaimedAttempt attempt;
  attempt.run_id = offered.run_id;
  attempt.workflow = offered.workflow;
  attempt.step = offered.step;
  attempt.handler = offered.handler;
  attempt.queue = offered.queue;
  attempt.runnable_key = offered.runnable_key;
  attempt.idempotency_key = offered.idempotency_key;
  attempt.attempt = offered.attempt;
  attempt.visit_number = offered.visit_number;
  attempt.item = offered.item;
  attempt.input = offered.input;
  attempt.trace = offered.trace;
  attempt.spec = offered.spec;
  attempt.claim_id = claim.claim_id;
  attempt.token = claim.token;
  attempt.lease_ms = granted.lease_ms;
  if (const auto progress = JsonText::parse(granted.progress); progress.ok()) {
    attempt.progress = Payload(progress.value());
  }
  return attempt;
}

SignalKind end_of(const Report& report) {
  switch (report.outcome) {
    case ReportedOutcome::ok:
    case ReportedOutcome::defer:
    case ReportedOutcome::continue_as_new:
      break;
    case ReportedOutcome::retry:
      return SignalKind::retry;
    case ReportedOutcome::fail:
      return SignalKind::fail;
  }
  return SignalKind::complete;
}

std::string body_of(const Report& report) {
  LeaseReport body;
  body.outcome = report.outcome;
  body.result = report.result;
  body.code = report.code;
  body.message = report.message;
  body.reason = report.reason;
  body.key = report.key;
  body.input = report.input;
  body.details = report.details;
  body.schedule_in_ms = report.schedule_in_ms;
  body.retry_after_ms = report.retry_after_ms;
  const auto json = to_json(body);
  HOLDFAST_ASSERT(json.ok());  // no field is required
  return std::string(json.value().view());
}

Report report_of(const LeaseSignal& signal, const RunId& run) {
  const auto body = read_report(signal.body);
  Report report;
  if (!body.ok()) {
    report = invalid_report(body.error().text());
  } else {
    const LeaseReport& given = body.value();
    const bool completes = signal.kind == SignalKind::complete;
    const bool is_failure =
        given.outcome == ReportedOutcome::fail || given.outcome == ReportedOutcome::retry;
    report.outcome = signal.kind == SignalKind::retry ? ReportedOutcome::retry
                     : !completes                     ? ReportedOutcome::fail
                     : is_failure                     ? ReportedOutcome::ok
                                                      : given.outcome;
    report.result = given.result;
    report.code = given.code;
    report.message = given.message;
    report.reason = given.reason;
    report.key = given.key;
    report.input = given.input;
    report.details = given.details;
    report.schedule_in_ms = given.schedule_in_ms;
    report.retry_after_ms = given.retry_after_ms;
  }
  report.run_id = run;
  report.runnable_key = signal.item_id;
  report.claim_id = signal.claim_id;
  report.token = signal.token;
  return report;
}

std::string_view signal_name(SignalKind kind) { return to_text(kind); }
std::optional<SignalKind> signal_kind(std::string_view name) { return enum_from<SignalKind>(name); }
std::string_view mode_name(EnqueueMode mode) { return to_text(mode); }

Result<std::string> stored_item(const WorkItem& item) {
  HOLDFAST_TRY(const JsonText payload, JsonText::parse(item.payload));
  HOLDFAST_TRY(const JsonText text, to_json(StoredItem{item.id, item.idempotency_key, item.handler,
                                                       item.visible_at_ms, Payload(payload)}));
  return std::string(text.view());
}

Result<WorkItem> read_stored_item(std::string_view text) {
  HOLDFAST_TRY(StoredItem stored, from_json<StoredItem>(text));
  return WorkItem{std::move(stored.id), std::move(stored.idempotency_key),
                  std::move(stored.handler), std::string(stored.payload.view()),
                  stored.visible_at_ms};
}

std::string answer_json(const LeaseAnswer& answer) {
  StoredAnswer stored{answer.verdict, answer.lease_ms, {}};
  if (const auto progress = JsonText::parse(answer.progress); progress.ok()) {
    stored.progress = Payload(progress.value());
  }
  const auto json = to_json(stored);
  HOLDFAST_ASSERT(json.ok());  // the verdict is always there
  return std::string(json.value().view());
}

Result<LeaseAnswer> read_answer(std::string_view text) {
  HOLDFAST_TRY(const StoredAnswer stored, from_json<StoredAnswer>(text));
  LeaseAnswer answer;
  answer.verdict = stored.verdict;
  answer.lease_ms = stored.lease_ms;
  answer.progress = stored.progress.view();
  return answer;
}

}  // namespace holdfast
