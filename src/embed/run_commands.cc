// The commands on runs that exist.
#include "embed/engine_impl.h"
#include "embed/objects.h"

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

}  // namespace

Result<void> Engine::Impl::decide(const RunId& run, Decision decision) {
  HOLDFAST_TRY(const Done done,
               loop_->ask<Done>([run, decision = std::move(decision)](Turn& turn) -> Result<Done> {
                 HOLDFAST_TRY(RunProjection * known, turn.state().run(run));
                 if (known->definition() == nullptr) {
                   return Error{ErrorCode::unknown_workflow,
                                "the definition of run " + to_string(run) + " is not known here"};
                 }
                 HOLDFAST_TRY(const RunFacts facts, decision(*known, turn));
                 HOLDFAST_CHECK(emit_with_attempts(turn, run, facts));
                 return Done{};
               }));
  static_cast<void>(done);
  return {};
}

Result<void> Engine::Impl::cancel(const RunId& run, const CancelOptions& options) {
  CommandSource source;
  source.source = source_;
  source.actor = options.actor;
  source.comment = options.comment;
  source.idempotency_key = options.idempotency_key;
  return decide(run, [source, how = on_cancel(options.mode)](RunProjection& known, Turn& turn) {
    return decide_cancel(known, source, how, EngineSurroundings(turn), turn.now());
  });
}

Result<void> Engine::Impl::resolve(const RunId& run, ManualAction action,
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
  return decide(run, [command](RunProjection& known, Turn& turn) {
    return decide_resolve(known, command, EngineSurroundings(turn), turn.now());
  });
}

Result<void> Engine::Impl::signal(const RunId& run, std::string_view event,
                                  std::string_view payload, const SignalOptions& options) {
  SendEvent command;
  command.event = event;
  command.correlation = options.correlation;
  HOLDFAST_TRY(command.payload, object_of("payload", payload));
  command.source.source = source_;
  command.source.actor = options.actor;
  command.source.idempotency_key = options.idempotency_key.empty()
                                       ? to_string(make_uuid(clock_.now(), random_))
                                       : options.idempotency_key;
  return decide(run, [command](RunProjection& known, Turn& turn) {
    return decide_receive_event(known, command, EngineSurroundings(turn), turn.now());
  });
}

Result<StartedRun> Engine::Impl::replay(const RunId& run, const ReplayOptions& options) {
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
  HOLDFAST_TRY(const Started started,
               loop_->ask<Started>([run, command, origin](Turn& turn) -> Result<Started> {
                 HOLDFAST_TRY(const RunProjection* source, turn.state().run(run));
                 if (source->definition() == nullptr) {
                   return Error{ErrorCode::unknown_workflow,
                                "the definition of run " + to_string(run) + " is not known here"};
                 }
                 HOLDFAST_TRY(const StartRun start, plan_replay(*source, command));
                 return start_run(turn, start, origin);
               }));
  return StartedRun{to_string(started.run_id), started.existed};
}

Result<StartedRun> Engine::Impl::continue_as_new(const RunId& run, std::string_view input,
                                                 std::string_view key) {
  ContinueRun command;
  command.continuation_key = key;
  HOLDFAST_TRY(command.input, object_of("input", input));
  HOLDFAST_CHECK(decide(run, [command](RunProjection& known, Turn& turn) {
    return decide_continue(known, command, turn.now());
  }));
  return StartedRun{to_string(successor_run_id(run, key)), false};
}

Result<void> Engine::Impl::set_search_attributes(const RunId& run, std::string_view changes,
                                                 std::string_view idempotency_key) {
  HOLDFAST_TRY(const Payload wanted, object_of("changes", changes));
  const SharedText key = idempotency_key.empty()
                             ? SharedText(to_string(make_uuid(clock_.now(), random_)))
                             : SharedText(idempotency_key);
  return decide(run, [wanted, key](RunProjection& known, Turn& turn) {
    return decide_update_attributes(known, wanted, key, turn.now());
  });
}

Result<void> Engine::Impl::archive(const RunId& run, std::string_view reason) {
  return decide(run, [why = SharedText(reason)](RunProjection& known, Turn& turn) {
    return decide_archive(known, why, turn.now());
  });
}

Result<void> Engine::Impl::unarchive(const RunId& run) {
  return decide(
      run, [](RunProjection& known, Turn& turn) { return decide_unarchive(known, turn.now()); });
}

}  // namespace holdfast
