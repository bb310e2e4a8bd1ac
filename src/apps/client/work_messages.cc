#include "apps/client/work_messages.h"

#include "base/json_writer.h"
#include "runs/facts/execution_opts.h"

namespace holdfast::client {

namespace {

void write_text(std::string& out, std::string_view name, std::string_view value) {
  out += ",\"";
  out += name;
  out += "\":";
  append_json_string(out, value);
}

void write_json(std::string& out, std::string_view name, std::string_view json) {
  out += ",\"";
  out += name;
  out += "\":";
  out += json;
}

// Everything except the closing brace.
std::string begin_proof(const ClaimedAttempt& attempt) {
  std::string out;
  out.reserve(kUsualBytes);
  out += "{\"run_id\":";
  append_json_string(out, attempt.run_id);
  write_text(out, "runnable_key", attempt.runnable_key);
  write_text(out, "claim_id", attempt.claim_id.view());
  write_text(out, "token", attempt.token);
  return out;
}

void write_outcome(std::string& out, const Completion& completion) {
  const ExecutionOpts opts = execution_opts(completion.execution_opts);
  if (opts.continue_as_new.has_value()) {
    write_text(out, "outcome", "continue_as_new");
    write_text(out, "key", opts.continue_as_new->key.view());
    write_json(out, "input", opts.continue_as_new->input.view());
    return;
  }
  if (opts.defer.has_value()) {
    write_text(out, "outcome", "defer");
    write_text(out, "reason", opts.defer->reason.view());
    write_json(out, "schedule_in_ms", std::to_string(opts.defer->schedule_in_ms));
    return;
  }
  write_text(out, "outcome", "ok");
  if (!completion.result.empty()) {
    write_json(out, "result", completion.result.view());
  }
  if (opts.schedule_in_ms > 0) {
    write_json(out, "schedule_in_ms", std::to_string(opts.schedule_in_ms));
  }
  if (!completion.details.empty()) {
    write_json(out, "details", completion.details.view());
  }
}

// Members of a failure besides code and message are its details.
void write_outcome(std::string& out, const Failure& failure) {
  write_text(out, "outcome", failure.retryable ? "retry" : "fail");
  std::string_view details;
  std::string others;
  JsonSlicer slicer(failure.error.view());
  while (const auto member = slicer.next()) {
    if (member->name == "code" || member->name == "message") {
      write_json(out, member->name, member->value);
    } else if (member->name == "details") {
      details = member->value;
    } else if (member->name != "retryable") {
      write_json(others, member->name, member->value);
    }
  }
  if (failure.retry_after_ms.has_value()) {
    write_json(out, "retry_after_ms", std::to_string(*failure.retry_after_ms));
  }
  if (!details.empty()) {
    write_json(out, "details", details);
  } else if (!others.empty()) {
    write_json(out, "details", "{" + others.substr(1) + "}");
  }
}

template <typename Texts>
std::string list_of(const Texts& texts) {
  std::string out = "[";
  for (const auto& text : texts) {
    out += out.size() > 1 ? "," : "";
    append_json_string(out, std::string_view(text));
  }
  return out + "]";
}

template <typename Texts>
std::string joined(const Texts& items) {
  std::size_t bytes = 2;
  for (const std::string_view item : items) {
    bytes += item.size() + 1;
  }
  std::string out;
  out.reserve(bytes);
  out += '[';
  for (const std::string_view item : items) {
    out += out.size() > 1 ? "," : "";
    out += item;
  }
  out += ']';
  return out;
}

}  // namespace

StepInfo ClaimedAttempt::info() const {
  StepInfo info;
  info.run_id = run_id;
  info.workflow = workflow;
  info.step = step;
  info.queue = queue;
  info.runnable_key = runnable_key;
  info.idempotency_key = idempotency_key;
  info.attempt = attempt;
  info.visit = visit_number;
  info.item = item;
  return info;
}

Result<WorkAnswer> read_work_answer(std::string_view body) {
  auto answer = from_json<WorkAnswer>(body);
  if (!answer.ok()) {
    // A proxy may have added white space.
    const auto compact = JsonText::parse(body);
    if (compact.ok()) {
      answer = from_json<WorkAnswer>(compact.value().view());
    }
  }
  if (!answer.ok()) {
    return Error{ErrorCode::io_error,
                 "the response of the server cannot be read: " + answer.error().text()};
  }
  return answer;
}

WorkWriter::WorkWriter(const WorkerIdentity& worker, std::span<const std::string> queues,
                       std::span<const SharedText> handlers) {
  worker_ = "{\"worker\":";
  static_cast<void>(append_json(worker_, worker).ok());
  if (!queues.empty()) {
    write_json(offer_, "queues", list_of(queues));
  }
  std::vector<std::string_view> names;
  for (const SharedText& handler : handlers) {
    names.push_back(handler.view());
  }
  write_json(offer_, "handlers", list_of(names));
}

void WorkWriter::write_claim(std::string& out, const ClaimRequest& request) const {
  write_text(out, "request", request.request);
  write_json(out, "again", request.again ? "true" : "false");
  out += offer_;
  write_json(out, "max", std::to_string(request.max));
}

std::string WorkWriter::claim(const ClaimRequest& request) const {
  std::string out = worker_;
  write_claim(out, request);
  write_json(out, "wait_ms", std::to_string(request.wait.count()));
  out += '}';
  return out;
}

std::string WorkWriter::report(std::span<const std::string_view> reports,
                               const ClaimRequest* request) const {
  std::string out = worker_;
  write_json(out, "reports", joined(reports));
  if (request != nullptr) {
    std::string claim;
    write_claim(claim, *request);
    write_json(out, "claim", "{" + claim.substr(1) + "}");
  }
  out += '}';
  return out;
}

std::string WorkWriter::heartbeat(std::span<const std::string> claims) const {
  std::string out = worker_;
  write_json(out, "claims", joined(claims));
  out += '}';
  return out;
}

std::string WorkWriter::child(const ClaimedAttempt& parent, std::string_view workflow,
                              std::string_view key, std::string_view input,
                              const ChildOptions& options) const {
  std::string out = worker_;
  write_json(out, "parent", write_proof(parent, {}));
  write_text(out, "workflow", workflow);
  write_text(out, "key", key);
  write_json(out, "input", input);
  if (!options.queue.empty()) {
    write_text(out, "queue", options.queue);
  }
  if (!options.trigger.empty()) {
    write_text(out, "trigger", options.trigger);
  }
  if (!options.metadata.empty()) {
    write_json(out, "metadata", options.metadata);
  }
  write_json(out, "cancel_with_parent", options.cancel_with_parent ? "true" : "false");
  out += '}';
  return out;
}

std::string write_proof(const ClaimedAttempt& attempt, const Payload& progress) {
  std::string out = begin_proof(attempt);
  if (!progress.empty()) {
    write_json(out, "progress", progress.view());
  }
  out += '}';
  return out;
}

std::string write_report(const ClaimedAttempt& attempt, const AttemptOutcome& outcome) {
  std::string out = begin_proof(attempt);
  std::visit([&](const auto& how) { write_outcome(out, how); }, outcome);
  out += '}';
  return out;
}

}  // namespace holdfast::client
