#include <fmt/format.h>

#include "workflow/planning.h"
#include "workflow/search_attributes.h"

namespace holdfast {

namespace {

SharedText trigger_of(const StartRun& command) {
  return command.trigger.empty() ? SharedText("manual") : command.trigger;
}

Payload what_was_asked(const StartRun& command) {
  JsonWriter writer;
  writer.begin_object();
  writer.member("workflow", command.definition->workflow().view());
  writer.member("trigger", trigger_of(command).view());
  if (!command.replayed_from.empty()) {
    writer.member("run_id", to_string(command.replayed_from));
  }
  writer.end_object();
  return std::move(writer).take_text();
}

// Empty when the commands are the same, else what differs.
std::string_view difference(const RunStarted& started, const StartRun& command) {
  if (started.workflow != command.definition->workflow()) {
    return "workflow";
  }
  if (started.definition_fingerprint != command.definition->fingerprint()) {
    return "definition";
  }
  if (started.trigger != trigger_of(command)) {
    return "trigger";
  }
  return started.input == or_empty(command.input) ? "" : "input";
}

Result<void> check_command(const RunProjection& run, const StartRun& command) {
  if (command.run_id != run.run_id()) {
    return refusal(run, ErrorCode::wrong_run, "the command is for " + to_string(command.run_id));
  }
  if (!or_empty(command.input).is_object()) {
    return refusal(run, ErrorCode::invalid_argument, "the input is no JSON object")
        .with("field", "input");
  }
  if (!or_empty(command.context).is_object()) {
    return refusal(run, ErrorCode::invalid_argument, "the context is no JSON object")
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

RunStarted started_fact(const StartRun& command) {
  RunStarted fact;
  fact.run_id = command.run_id;
  fact.workflow = command.definition->workflow();
  fact.queue = command.queue;
  fact.trigger = trigger_of(command);
  fact.input = or_empty(command.input);
  fact.context = command.context;
  fact.replayed_from_run_id = command.replayed_from;
  fact.definition_version = command.definition->version();
  fact.definition_fingerprint = command.definition->fingerprint();
  fact.search_attributes = command.search_attributes;
  fact.trace = command.source.trace;
  return fact;
}

}  // namespace

Result<RunFacts> decide_start(const RunProjection& run, const StartRun& command, TimeMs now) {
  HOLDFAST_ASSERT(command.definition != nullptr);
  HOLDFAST_CHECK(check_command(run, command));
  if (run.started().has_value()) {
    const std::string_view other = difference(*run.started(), command);
    if (other.empty()) {
      return RunFacts();
    }
    return refusal(run, ErrorCode::run_exists,
                   fmt::format("a run with this id was started with another {}", other))
        .with("field", other)
        .with("workflow", run.started()->workflow.view());
  }
  RunFacts facts;
  const SignalType type =
      command.replayed_from.empty() ? SignalType::start_run : SignalType::replay_run;
  facts.emplace_back(receipt(command.run_id, type, command.source, what_was_asked(command)));
  RunStarted started = started_fact(command);
  const Payload input = started.input;
  facts.emplace_back(std::move(started));
  if (command.continued_from.has_value()) {
    facts.emplace_back(*command.continued_from);
  }
  RunnablesPlanned planned;
  planned.run_id = command.run_id;
  planned.runnables.reserve(command.definition->roots().size());
  for (const StepIndex root : command.definition->roots()) {
    planned.runnables.push_back(first_attempt(command.run_id, command.queue,
                                              command.definition->steps()[root], input, now));
  }
  facts.emplace_back(std::move(planned));
  return facts;
}

}  // namespace holdfast
