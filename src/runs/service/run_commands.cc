#include "runs/service/run_commands.h"

#include "runs/run/run_migration.h"

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
                 "the definition of run " + to_string(run) + " is not known to this process"};
  }
  return known;
}

// Decides a command on a run that exists. All its facts are one commit.
using Decision = std::function<Result<RunFacts>(RunProjection& run, Turn& turn)>;
TurnFunction<Done> decision_on(const RunId& run, Decision decision) {
  return [run, decision = std::move(decision)](Turn& turn) -> Result<Done> {
    HOLDFAST_TRY(RunProjection * known, known_run(turn, run));
    HOLDFAST_TRY(const RunFacts facts, decision(*known, turn));
    HOLDFAST_CHECK(emit_with_attempts(turn, run, facts));
    return Done{};
  };
}

// The run that was started under the key, on whichever definition.
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
                 "the idempotency key was used for a run with a different input or trigger"}
        .with("run_id", to_string(command.run_id));
  }
  return std::optional(Started{command.run_id, true});
}

// newest: what new runs of the workflow use; otherwise what the fingerprint names.
Result<std::shared_ptr<const Definition>> named_definition(Turn& turn, std::string_view workflow,
                                                           const std::string& name) {
  if (name == "newest") {
    return current_definition(turn, workflow);
  }
  auto definition = turn.definitions().pinned(SharedText(name));
  if (!definition.ok() && definition.error().code() == ErrorCode::unknown_workflow) {
    return Error{ErrorCode::unknown_workflow, "no definition has the fingerprint \"" + name +
                                                  "\"; use newest, or one that the "
                                                  "versions of the workflow list"}
        .with("fingerprint", name);
  }
  return definition;
}

Payload object_or_empty(const ObjectPayload& object) {
  return object.empty() ? Payload::trusted("{}") : Payload(object);
}

}  // namespace

std::string RunCommands::key_or_new(const std::string& key) {
  return key.empty() ? to_string(make_uuid(clock_.now(), random_)) : key;
}

Result<RunCommands::Start> RunCommands::start(const StartRequest& request, const Payload& trace) {
  StartRun command;
  command.input = object_or_empty(request.input);
  command.search_attributes = request.search_attributes;
  command.queue = request.queue;
  command.trigger = request.trigger;
  command.source.source = source_;
  command.source.actor = request.actor;
  command.source.comment = request.comment;
  command.source.idempotency_key = request.idempotency_key;
  command.source.trace = trace;
  const bool by_key = !request.idempotency_key.empty();
  IdOrigin origin = IdOrigin::given;
  if (!request.run_id.empty()) {
    if (by_key) {
      return Error{ErrorCode::invalid_argument,
                   "run_id and idempotency_key exclude each other; give one of them"}
          .with("field", "idempotency_key");
    }
    HOLDFAST_TRY(command.run_id, parse_run_id(request.run_id));
  } else if (by_key) {
    command.run_id = derive_run_id({"start", request.workflow, request.idempotency_key});
  } else {
    command.run_id = RunId{make_uuid(clock_.now(), random_)};
    origin = IdOrigin::fresh;
  }
  return Start{command.run_id,
               [command, origin, by_key,
                workflow = request.workflow](Turn& turn) mutable -> Result<Started> {
                 HOLDFAST_TRY(command.definition, current_definition(turn, workflow));
                 if (by_key) {
                   HOLDFAST_TRY(const auto known, find_by_key(turn, command));
                   if (known.has_value()) {
                     return *known;
                   }
                 }
                 return start_run(turn, command, origin);
               }};
}

TurnFunction<Done> RunCommands::cancel(const RunId& run, const CancelRequest& request) {
  CommandSource source;
  source.source = source_;
  source.actor = request.actor;
  source.comment = request.comment;
  source.idempotency_key = request.idempotency_key;
  return decision_on(
      run, [source, how = on_cancel(request.mode)](RunProjection& known, Turn& turn) {
        return decide_cancel(known, source, how, EngineSurroundings(turn), turn.now());
      });
}

TurnFunction<Done> RunCommands::resolve(const RunId& run, ManualAction action,
                                        const DecisionRequest& request) {
  ResolveStep command;
  command.action = action;
  command.step = request.step;
  command.source.source = source_;
  command.source.actor = request.actor;
  command.source.comment = request.comment;
  command.source.idempotency_key = request.idempotency_key;
  command.source.metadata = request.metadata;
  return decision_on(run, [command](RunProjection& known, Turn& turn) {
    return decide_resolve(known, command, EngineSurroundings(turn), turn.now());
  });
}

namespace {

TurnFunction<Done> resolution_of(const RunId& run, const ResolveStep& command) {
  return decision_on(run, [command](RunProjection& known, Turn& turn) {
    return decide_resolve(known, command, EngineSurroundings(turn), turn.now());
  });
}

// What the commands on parked steps have in common.
template <typename Request>
ResolveStep parked_step(ManualAction action, const Request& request, const SharedText& source) {
  ResolveStep command;
  command.action = action;
  command.step = request.step;
  command.runnable_key = request.runnable_key;
  command.source.source = source;
  command.source.actor = request.actor;
  command.source.comment = request.comment;
  command.source.idempotency_key = request.idempotency_key;
  return command;
}

}  // namespace

TurnFunction<Done> RunCommands::retry(const RunId& run, const RetryRequest& request) {
  ResolveStep command = parked_step(ManualAction::retried, request, source_);
  command.input = request.input;
  return resolution_of(run, command);
}

TurnFunction<Done> RunCommands::discard(const RunId& run, const DiscardRequest& request) {
  const ResolveStep parked = parked_step(ManualAction::discarded, request, source_);
  ResolveDeadLetter ended{DeadLetterEnd::discarded, parked.step, parked.runnable_key, RunId{},
                          parked.source};
  return decision_on(run, [parked, ended](RunProjection& known, Turn& turn) {
    const bool exhausted = known.is_terminal() && known.terminal()->exhausted.has_value();
    return exhausted ? decide_resolve_dead_letter(known, ended, turn.now())
                     : decide_resolve(known, parked, EngineSurroundings(turn), turn.now());
  });
}

TurnFunction<Started> RunCommands::redrive(const RunId& run, const RetryRequest& request) {
  const ResolveStep parked = parked_step(ManualAction::retried, request, source_);
  const ResolveDeadLetter command{DeadLetterEnd::redriven, parked.step, parked.runnable_key,
                                  RunId{}, parked.source};
  return [run, command](Turn& turn) { return redrive_dead_letter(turn, run, command); };
}

TurnFunction<Done> RunCommands::signal(const RunId& run, const SignalRequest& request) {
  SendEvent command;
  command.event = request.event;
  command.correlation = request.correlation;
  command.payload = object_or_empty(request.data);
  command.source.source = source_;
  command.source.actor = request.actor;
  command.source.idempotency_key = key_or_new(request.idempotency_key);
  return decision_on(run, [command](RunProjection& known, Turn& turn) {
    return decide_receive_event(known, command, EngineSurroundings(turn), turn.now());
  });
}

TurnFunction<Done> RunCommands::mutate_graph(const RunId& run, const MutateRequest& request) {
  MutateGraph command;
  command.mutation_id = request.mutation_id;
  command.expected_version = request.expected_version;
  command.additions = request.additions;
  command.removals = request.removals;
  command.source.source = source_;
  command.source.actor = request.actor;
  command.source.comment = request.comment;
  return decision_on(run, [command](RunProjection& known, Turn& turn) {
    return decide_mutate_graph(known, command, turn.now());
  });
}

TurnFunction<Done> RunCommands::migrate(const RunId& run, const MigrateRequest& request) {
  CommandSource source;
  source.source = source_;
  source.actor = request.actor;
  source.comment = request.comment;
  return decision_on(
      run,
      [source, to = std::string(request.to)](RunProjection& known, Turn& turn) -> Result<RunFacts> {
        const std::string workflow =
            known.started().has_value() ? known.started()->workflow.str() : "";
        HOLDFAST_TRY(const auto target, named_definition(turn, workflow, to));
        HOLDFAST_CHECK(turn.emit_definition(*target));
        return decide_migrate(known, {target, source}, EngineSurroundings(turn), turn.now());
      });
}

Result<RunCommands::Start> RunCommands::replay(const RunId& run, const ReplayRequest& request) {
  ReplayRun command;
  command.from_step = request.from_step;
  command.allow_irreversible = request.allow_irreversible;
  command.input = request.input;
  command.source.actor = request.actor;
  command.source.comment = request.comment;
  IdOrigin origin = IdOrigin::fresh;
  if (request.run_id.empty()) {
    command.run_id = RunId{make_uuid(clock_.now(), random_)};
  } else {
    HOLDFAST_TRY(command.run_id, parse_run_id(request.run_id));
    origin = IdOrigin::given;
  }
  return Start{
      command.run_id,
      [run, command, origin,
       definition = std::string(request.definition)](Turn& turn) mutable -> Result<Started> {
        HOLDFAST_TRY(const RunProjection* source, known_run(turn, run));
        if (!definition.empty() && source->started().has_value()) {
          HOLDFAST_TRY(command.definition,
                       named_definition(turn, source->started()->workflow.view(), definition));
        }
        HOLDFAST_TRY(const StartRun start, plan_replay(*source, command));
        return start_run(turn, start, origin);
      }};
}

TurnFunction<Done> RunCommands::continue_as_new(const RunId& run, const ContinueRequest& request) {
  ContinueRun command;
  command.continuation_key = request.key;
  command.input = request.input;
  return decision_on(run, [command](RunProjection& known, Turn& turn) {
    return decide_continue(known, command, turn.now());
  });
}

TurnFunction<Done> RunCommands::set_attributes(const RunId& run, const AttributesRequest& request) {
  const SharedText key = key_or_new(request.idempotency_key);
  return decision_on(run, [changes = request.changes, key](RunProjection& known, Turn& turn) {
    return decide_update_attributes(known, changes, key, turn.now());
  });
}

TurnFunction<Done> RunCommands::archive(const RunId& run, const ArchiveRequest& request) {
  return decision_on(run, [reason = SharedText(request.reason)](RunProjection& known, Turn& turn) {
    return decide_archive(known, reason, turn.now());
  });
}

TurnFunction<Done> RunCommands::unarchive(const RunId& run) {
  return decision_on(
      run, [](RunProjection& known, Turn& turn) { return decide_unarchive(known, turn.now()); });
}

}  // namespace holdfast
