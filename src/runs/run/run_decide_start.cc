#include <fmt/format.h>

#include "base/hash.h"
#include "base/names.h"
#include "runs/language/data/canonical_json.h"
#include "runs/run/run_planning.h"
#include "runs/run/search_attributes.h"

namespace holdfast {

namespace {

SharedText trigger_of(const StartRun& command) {
  return command.trigger.empty() ? command.definition->triggers().front().spec.name
                                 : command.trigger;
}

// The request in canonical form. Defaults depend on the time, so they are not part of it.
std::string input_digest(const Payload& input) {
  return to_hex(sha256(canonical_json(or_empty(input).view())));
}

Payload request_payload(const StartRun& command) {
  JsonWriter writer;
  writer.begin_object();
  writer.member("workflow", command.definition->workflow().view());
  writer.member("trigger", trigger_of(command).view());
  if (!command.replayed_from.empty()) {
    writer.member("run_id", to_string(command.replayed_from));
  }
  // Without a contract the input is stored as it was given.
  const Trigger* trigger = command.definition->find_trigger(trigger_of(command).view());
  if (trigger != nullptr && trigger->contract.has_value()) {
    writer.member("input_digest", input_digest(command.input));
  }
  writer.end_object();
  return std::move(writer).take_text();
}

struct ReceiptPayload {
  SharedText input_digest;

  HOLDFAST_FIELDS(optional(input_digest));
};

bool same_input(const RunProjection& run, const StartRun& command) {
  const std::string digest = input_digest(command.input);
  const auto request =
      run.receipts().empty()
          ? Result<ReceiptPayload>(ReceiptPayload{})
          : from_json<ReceiptPayload>(run.receipts().front().signal.payload.view());
  if (request.ok() && !request.value().input_digest.empty()) {
    return request.value().input_digest.view() == digest;
  }
  return input_digest(run.started()->input) == digest;
}

// Empty when the commands are the same, else what differs.
std::string_view difference(const RunProjection& run, const StartRun& command) {
  const RunStarted& started = *run.started();
  if (started.workflow != command.definition->workflow()) {
    return "workflow";
  }
  if (started.definition_fingerprint != command.definition->fingerprint()) {
    return "definition";
  }
  if (started.trigger != trigger_of(command)) {
    return "trigger";
  }
  return same_input(run, command) ? "" : "input";
}

Result<void> check_command(const RunProjection& run, const StartRun& command) {
  if (command.run_id != run.run_id()) {
    return refusal(run, ErrorCode::wrong_run, "the command is for " + to_string(command.run_id));
  }
  if (!or_empty(command.input).is_object()) {
    return refusal(run, ErrorCode::invalid_argument, "the input is not a JSON object")
        .with("field", "input");
  }
  if (!or_empty(command.context).is_object()) {
    return refusal(run, ErrorCode::invalid_argument, "the context is not a JSON object")
        .with("field", "context");
  }
  if (!command.queue.empty()) {
    HOLDFAST_CHECK(check_name("queue", command.queue.view()));
  }
  if (!command.search_attributes.empty()) {
    HOLDFAST_CHECK(with_changes({}, command.search_attributes));
  }
  return {};
}

SignalType signal_of(StartedBy started_by) {
  switch (started_by) {
    case StartedBy::schedule:
    case StartedBy::scheduler:
      return SignalType::start_cron;
    case StartedBy::replay:
      return SignalType::replay_run;
    case StartedBy::caller:
    case StartedBy::parent_run:
    case StartedBy::continuation:
      break;
  }
  return SignalType::start_run;
}

RunStarted started_fact(const StartRun& command, const Payload& input) {
  RunStarted fact;
  fact.run_id = command.run_id;
  fact.workflow = command.definition->workflow();
  fact.queue = command.queue;
  fact.trigger = trigger_of(command);
  fact.input = input;
  fact.context = command.context;
  fact.replayed_from_run_id = command.replayed_from;
  fact.definition_version = command.definition->version();
  fact.definition_fingerprint = command.definition->fingerprint();
  fact.search_attributes = command.search_attributes;
  fact.trace = command.source.trace;
  return fact;
}

// A child is started by its parent's step and a successor by its predecessor: whatever their
// trigger is called, any object will do.
Result<Payload> input_of(const StartRun& command, TimeMs now) {
  const SharedText trigger = trigger_of(command);
  const bool by_run =
      command.started_by == StartedBy::parent_run || command.started_by == StartedBy::continuation;
  if (by_run && command.definition->find_trigger(trigger.view()) == nullptr) {
    return or_empty(command.input);
  }
  return checked_input(*command.definition, trigger.view(), command.input, now);
}

}  // namespace

Result<RunFacts> decide_start(RunProjection& run, const StartRun& command,
                              const Surroundings& around, TimeMs now) {
  HOLDFAST_ASSERT(command.definition != nullptr);
  HOLDFAST_CHECK(check_command(run, command));
  if (run.started().has_value()) {
    const std::string_view other = difference(run, command);
    if (other.empty()) {
      return RunFacts();
    }
    return refusal(run, ErrorCode::run_exists,
                   fmt::format("a run with this id was started with another {}", other))
        .with("field", other)
        .with("workflow", run.started()->workflow.view());
  }
  HOLDFAST_TRY(const Payload input, input_of(command, now));
  RunDraft draft(run, around, now);
  CommandSource source = command.source;
  if (command.started_by != StartedBy::caller) {
    source.source = to_text(command.started_by);
  }
  draft.add(
      receipt(command.run_id, signal_of(command.started_by), source, request_payload(command)));
  draft.add(started_fact(command, input));
  run.attach(command.definition);
  if (command.continued_from.has_value()) {
    draft.add(*command.continued_from);
  }
  if (command.adopted.has_value()) {
    draft.add(*command.adopted);
    draft.begin_adopted();
  } else {
    draft.begin_run();
  }
  return draft.finish();
}

}  // namespace holdfast
