#include "runs/service/run_commands.h"

#include "runs/api/json_object.h"

namespace holdfast {

namespace {

OnCancel on_cancel(CancelMode mode) {
  switch (mode) {
    case CancelMode::as_defined:
      return OnCancel::as_defined;
    case CancelMode::compensate:
      return OnCancel::compensate;
    case CancelMode::stop:
      return OnCancel::stop;
  }
  return OnCancel::as_defined;
}

Result<RunProjection*> known_run(Turn& turn, const RunId& run) {
  HOLDFAST_TRY(RunProjection * known, turn.state().runs().get(run));
  if (known->definition() == nullptr) {
    return Error{ErrorCode::unknown_workflow,
                 "the definition of run " + to_string(run) + " is not known here"};
  }
  return known;
}

// Decides something about a run that exists; everything it means is one commit.
using Decision = std::function<Result<RunFacts>(RunProjection& run, Turn& turn)>;
Question<Done> decision_on(const RunId& run, Decision decision) {
  return [run, decision = std::move(decision)](Turn& turn) -> Result<Done> {
    HOLDFAST_TRY(RunProjection * known, known_run(turn, run));
    HOLDFAST_TRY(const RunFacts facts, decision(*known, turn));
    HOLDFAST_CHECK(emit_with_attempts(turn, run, facts));
    return Done{};
  };
}

// The key stands for the run whatever definition it was started on.
Result<std::optional<Started>> find_by_key(Turn& turn, const StartRun& command) {
  HOLDFAST_TRY(const bool exists, turn.state().runs().exists(command.run_id));
  if (!exists) {
    return std::optional<Started>();
  }
  HOLDFAST_TRY(RunProjection * known, turn.state().runs().get(command.run_id));
  if (!known->started().has_value()) {
    return std::optional<Started>();
  }
  StartRun same = command;
  if (known->definition() != nullptr) {
    same.definition = known->definition();
  }
  const auto facts = decide_start(*known, same, EngineSurroundings(turn), turn.now());
  if (!facts.ok()) {
    return Error{ErrorCode::idempotency_conflict,
                 "a run was started under this key with another input or trigger"}
        .with("run_id", to_string(command.run_id));
  }
  return std::optional(Started{command.run_id, true});
}

}  // namespace

std::string RunQuestions::new_key() { return to_string(make_uuid(clock_.now(), random_)); }

Result<RunQuestions::Start> RunQuestions::start(std::string_view workflow, std::string_view input,
                                                const StartOptions& options, const Payload& trace) {
  StartRun command;
  HOLDFAST_TRY(command.input, object_of("input", input));
  if (!options.search_attributes.empty()) {
    HOLDFAST_TRY(command.search_attributes,
                 object_of("search_attributes", options.search_attributes));
  }
  command.queue = options.queue;
  command.trigger = options.trigger;
  command.source.source = source_;
  command.source.actor = options.actor;
  command.source.comment = options.comment;
  command.source.idempotency_key = options.idempotency_key;
  command.source.trace = trace;
  const bool by_key = !options.idempotency_key.empty();
  IdOrigin origin = IdOrigin::given;
  if (!options.run_id.empty()) {
    if (by_key) {
      return Error{ErrorCode::invalid_argument,
                   "a run id and an idempotency key exclude each other"}
          .with("field", "idempotency_key");
    }
    HOLDFAST_TRY(command.run_id, parse_run_id(options.run_id));
  } else if (by_key) {
    command.run_id = derive_run_id({"start", workflow, options.idempotency_key});
  } else {
    command.run_id = RunId{make_uuid(clock_.now(), random_)};
    origin = IdOrigin::fresh;
  }
  return Start{command.run_id,
               [command, origin, by_key,
                name = std::string(workflow)](Turn& turn) mutable -> Result<Started> {
                 HOLDFAST_TRY(command.definition, current_definition(turn, name));
                 if (by_key) {
                   HOLDFAST_TRY(const auto known, find_by_key(turn, command));
                   if (known.has_value()) {
                     return *known;
                   }
                 }
                 return start_run(turn, command, origin);
               }};
}

Question<Done> RunQuestions::cancel(const RunId& run, const CancelOptions& options) {
  CommandSource source;
  source.source = source_;
  source.actor = options.actor;
  source.comment = options.comment;
  source.idempotency_key = options.idempotency_key;
  return decision_on(
      run, [source, how = on_cancel(options.mode)](RunProjection& known, Turn& turn) {
        return decide_cancel(known, source, how, EngineSurroundings(turn), turn.now());
      });
}

Result<Question<Done>> RunQuestions::resolve(const RunId& run, ManualAction action,
                                             const DecisionOptions& options) {
  ResolveStep command;
  command.action = action;
  command.step = options.step;
  command.source.source = source_;
  command.source.actor = options.actor;
  command.source.comment = options.comment;
  command.source.idempotency_key = options.idempotency_key;
  if (!options.metadata.empty()) {
    HOLDFAST_TRY(command.source.metadata, object_of("metadata", options.metadata));
  }
  return decision_on(run, [command](RunProjection& known, Turn& turn) {
    return decide_resolve(known, command, EngineSurroundings(turn), turn.now());
  });
}

Result<Question<Done>> RunQuestions::signal(const RunId& run, std::string_view event,
                                            std::string_view payload,
                                            const SignalOptions& options) {
  SendEvent command;
  command.event = event;
  command.correlation = options.correlation;
  HOLDFAST_TRY(command.payload, object_of("payload", payload));
  command.source.source = source_;
  command.source.actor = options.actor;
  command.source.idempotency_key =
      options.idempotency_key.empty() ? new_key() : options.idempotency_key;
  return decision_on(run, [command](RunProjection& known, Turn& turn) {
    return decide_receive_event(known, command, EngineSurroundings(turn), turn.now());
  });
}

Result<RunQuestions::Start> RunQuestions::replay(const RunId& run, const ReplayOptions& options) {
  ReplayRun command;
  command.from_step = options.from_step;
  command.allow_irreversible = options.allow_irreversible;
  if (!options.input.empty()) {
    HOLDFAST_TRY(command.input, object_of("input", options.input));
  }
  command.source.actor = options.actor;
  command.source.comment = options.comment;
  IdOrigin origin = IdOrigin::fresh;
  if (options.run_id.empty()) {
    command.run_id = RunId{make_uuid(clock_.now(), random_)};
  } else {
    HOLDFAST_TRY(command.run_id, parse_run_id(options.run_id));
    origin = IdOrigin::given;
  }
  return Start{command.run_id, [run, command, origin](Turn& turn) -> Result<Started> {
                 HOLDFAST_TRY(const RunProjection* source, known_run(turn, run));
                 HOLDFAST_TRY(const StartRun start, plan_replay(*source, command));
                 return start_run(turn, start, origin);
               }};
}

Result<Question<Done>> RunQuestions::continue_as_new(const RunId& run, std::string_view input,
                                                     std::string_view key) {
  ContinueRun command;
  command.continuation_key = key;
  HOLDFAST_TRY(command.input, object_of("input", input));
  return decision_on(run, [command](RunProjection& known, Turn& turn) {
    return decide_continue(known, command, turn.now());
  });
}

Result<Question<Done>> RunQuestions::set_search_attributes(const RunId& run,
                                                           std::string_view changes,
                                                           std::string_view idempotency_key) {
  HOLDFAST_TRY(const Payload wanted, object_of("changes", changes));
  const SharedText key =
      idempotency_key.empty() ? SharedText(new_key()) : SharedText(idempotency_key);
  return decision_on(run, [wanted, key](RunProjection& known, Turn& turn) {
    return decide_update_attributes(known, wanted, key, turn.now());
  });
}

Question<Done> RunQuestions::archive(const RunId& run, std::string_view reason) {
  return decision_on(run, [why = SharedText(reason)](RunProjection& known, Turn& turn) {
    return decide_archive(known, why, turn.now());
  });
}

Question<Done> RunQuestions::unarchive(const RunId& run) {
  return decision_on(
      run, [](RunProjection& known, Turn& turn) { return decide_unarchive(known, turn.now()); });
}

}  // namespace holdfast
