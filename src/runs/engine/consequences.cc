#include "runs/engine/consequences.h"

#include "runs/dispatch/dispatch_decide.h"
#include "runs/run/run_effects.h"

namespace holdfast {

namespace {

// Who the parent of a run is, as its context says it.
struct ParentRef {
  RunId run_id;
  SharedText runnable_key;

  HOLDFAST_FIELDS(required(run_id), required(runnable_key));
};
struct ParentContext {
  std::optional<ParentRef> parent;

  HOLDFAST_FIELDS(optional(parent));
};

std::optional<ParentRef> parent_ref(const RunProjection& run) {
  if (!run.started().has_value() || run.started()->context.empty()) {
    return std::nullopt;
  }
  auto context = from_json<ParentContext>(run.started()->context.view());
  return context.ok() ? std::move(context).value().parent : std::nullopt;
}

ChildEnd end_of(const RunProjection& run) {
  ChildEnd end;
  end.run_id = run.run_id();
  end.status = run.terminal()->status;
  end.error = run.terminal()->error;
  if (end.status == TerminalStatus::completed) {
    end.result = run.terminal()->result.empty() ? run.context() : run.terminal()->result;
  }
  return end;
}

}  // namespace

Result<std::shared_ptr<const Definition>> current_definition(Turn& turn,
                                                             std::string_view workflow) {
  auto registered = turn.definitions().current(workflow);
  if (registered.ok()) {
    return registered;
  }
  const SharedText stored = turn.state().registry().current(SharedText(workflow));
  return stored.empty() ? std::move(registered) : turn.definitions().pinned(stored);
}

std::shared_ptr<const Definition> EngineSurroundings::current(std::string_view workflow) const {
  auto definition = current_definition(turn_, workflow);
  return definition.ok() ? std::move(definition).value() : nullptr;
}

bool EngineSurroundings::is_claimed(std::string_view runnable_key) const {
  const DispatchProjection* queue = turn_.state().queues().find(runnable_key);
  return queue != nullptr && queue->find(runnable_key)->status == AttemptStatus::claimed;
}

Result<void> Consequences::schedule(const Runnable& runnable) {
  if (runnable.is_internal()) {
    return {};
  }
  const SharedText workflow = turn_.state().runs().held(runnable.run_id).started()->workflow;
  const AttemptScheduled intent = intent_of(runnable, workflow);
  DispatchProjection& queue = turn_.state().queues().get(intent.queue);
  HOLDFAST_TRY(const auto fact, decide_schedule(queue, intent, turn_.now()));
  return fact.has_value() ? turn_.emit(intent.queue, *fact) : Result<void>();
}

Result<void> Consequences::record(const RunId& run, const RunFacts& facts) {
  for (const RunFact& fact : facts) {
    HOLDFAST_CHECK(turn_.record(fact));
    HOLDFAST_CHECK(note(run, fact));
  }
  return {};
}

// What a recorded fact means for other runs and for the queues.
class Consequences::TakeFact : public RunEffects {
 public:
  TakeFact(Consequences& consequences, const RunId& run) : to_(consequences), run_(run) {}
  Result<void> take(const RunFact& fact) {
    visit_effects(fact, *this);
    return scheduled_;
  }

  void planned(const RunnablesPlanned& fact) {
    for (const Runnable& runnable : fact.runnables) {
      if (scheduled_.ok()) {
        scheduled_ = to_.schedule(runnable);
      }
    }
  }
  void child_linked(const ChildRunStarted& fact) { add(Effect::Kind::start_child, fact); }
  void continuation_requested(const RunContinuationRequested& /*fact*/) {
    add(Effect::Kind::continue_run);
  }
  void compensation_started(const CompensationStarted& /*fact*/) {
    add(Effect::Kind::close_children);
  }
  // A step that takes an error route may not have waited to the end. A worker's step never waits.
  void applied(const RunnableApplied& fact) {
    if (!fact.transition.empty() && run().find(fact.runnable_key.view())->plan.is_internal()) {
      to_.release_children(run_, {fact.runnable_key});
    }
  }
  void withdrawn(const RunnablesWithdrawn& fact) {
    to_.release_children(run_, {fact.runnable_keys.begin(), fact.runnable_keys.end()});
  }
  void ended(const RunTerminal& fact) {
    if (fact.status == TerminalStatus::continued) {
      return;
    }
    if (!run().children().empty()) {
      add(Effect::Kind::close_children);
    }
    if (!run().started()->context.empty()) {
      add(Effect::Kind::notify_parent);
    }
  }

 private:
  [[nodiscard]] const RunProjection& run() const { return to_.turn_.state().runs().held(run_); }
  void add(Effect::Kind kind, std::optional<ChildRunStarted> link = std::nullopt) {
    to_.effects_.push_back({kind, run_, std::move(link)});
  }

  Consequences& to_;
  const RunId& run_;
  Result<void> scheduled_;
};

Result<void> Consequences::note(const RunId& run, const RunFact& fact) {
  return TakeFact(*this, run).take(fact);
}

Result<Started> Consequences::start(const StartRun& command, IdOrigin id) {
  LiveState& state = turn_.state();
  bool exists = false;
  if (id == IdOrigin::given) {
    HOLDFAST_TRY(exists, state.runs().exists(command.run_id));
  }
  RunProjection* run = nullptr;
  if (exists) {
    HOLDFAST_TRY(run, state.runs().get(command.run_id));
  } else {
    run = &state.runs().create(command.run_id);
  }
  HOLDFAST_TRY(const RunFacts facts, decide_start(*run, command, around_, turn_.now()));
  if (facts.empty()) {
    return Started{command.run_id, true};
  }
  HOLDFAST_CHECK(turn_.emit_definition(*command.definition));
  const SharedText workflow = command.definition->workflow();
  const SharedText queue = command.queue.empty() ? SharedText(kDefaultQueue) : command.queue;
  for (const RunFact& fact : facts) {
    HOLDFAST_CHECK(turn_.record(fact));
  }
  HOLDFAST_CHECK(
      turn_.emit_listing({command.run_id, workflow, queue}, {command.run_id, workflow, queue}));
  // A run may be over at once, when the engine does all of it.
  if (!run->is_terminal()) {
    HOLDFAST_CHECK(turn_.emit(queue, RunQueued{command.run_id, queue}));
  }
  for (const RunFact& fact : facts) {
    if (!run->is_terminal() || !std::holds_alternative<RunnablesPlanned>(fact)) {
      HOLDFAST_CHECK(note(command.run_id, fact));
    }
  }
  return Started{command.run_id, false};
}

Result<void> Consequences::settle() {
  for (std::size_t next = 0; next < effects_.size(); ++next) {
    const Effect effect = std::move(effects_[next]);
    HOLDFAST_CHECK(carry_out(effect));
  }
  effects_.clear();
  return {};
}

Result<void> Consequences::carry_out(const Effect& effect) {
  switch (effect.kind) {
    case Effect::Kind::start_child:
      return start_child(*effect.link);
    case Effect::Kind::continue_run:
      return continue_run(effect.run);
    case Effect::Kind::close_children:
      return close_children(effect.run, effect.released);
    case Effect::Kind::notify_parent:
      return notify_parent(effect.run);
  }
  return {};
}

Result<void> Consequences::start_child(const ChildRunStarted& link) {
  HOLDFAST_TRY(const auto definition,
               link.child_definition_fingerprint.empty()
                   ? current_definition(turn_, link.child_workflow.view())
                   : turn_.definitions().pinned(link.child_definition_fingerprint));
  HOLDFAST_TRY(const Started started, start(start_of_child(link, definition), IdOrigin::given));
  static_cast<void>(started);
  return {};
}

Result<void> Consequences::continue_run(const RunId& id) {
  HOLDFAST_TRY(const RunProjection* run, turn_.state().runs().get(id));
  const RunContinuationRequested request = *run->continuation();
  const auto current = current_definition(turn_, request.workflow.view());
  // The successor of an unregistered workflow uses the definition of this run.
  const bool unregistered = !current.ok() && current.error().code() == ErrorCode::unknown_workflow;
  std::shared_ptr<const Definition> definition = run->definition();
  if (!unregistered || definition == nullptr) {
    HOLDFAST_TRY(definition, current);
  }
  HOLDFAST_TRY(const Started started,
               start(start_of_successor(request, *run->started(), definition), IdOrigin::given));
  static_cast<void>(started);
  return {};
}

void Consequences::release_children(const RunId& run, std::set<SharedText> runnables) {
  if (!runnables.empty() && !turn_.state().runs().held(run).children().empty()) {
    effects_.push_back({Effect::Kind::close_children, run, {}, std::move(runnables)});
  }
}

Result<void> Consequences::close_children(const RunId& id, const std::set<SharedText>& released) {
  HOLDFAST_TRY(const RunProjection* run, turn_.state().runs().get(id));
  CommandSource source;
  source.source = to_text(StartedBy::parent_run);
  source.comment = "the parent " + to_string(id) + " does not wait for it any more";
  // Closing a child changes nothing of its parent yet, so the links stay where they are.
  for (const auto& [child, link] : run->children()) {
    const bool meant =
        released.empty() || (link.awaited && released.contains(link.origin.runnable_key));
    if (meant && link.on_parent_close.view() == to_text(ParentClose::cancel)) {
      HOLDFAST_CHECK(close_child(child, source));
    }
  }
  return {};
}

// Children that were continued live on in their successors.
Result<void> Consequences::close_child(const RunId& id, const CommandSource& source) {
  RunId newest = id;
  HOLDFAST_TRY(const bool exists, turn_.state().runs().exists(newest));
  if (!exists) {
    return {};
  }
  HOLDFAST_TRY(RunProjection * child, turn_.state().runs().get(newest));
  while (child->is_terminal() && child->continuation().has_value()) {
    newest = child->continuation()->successor_run_id;
    HOLDFAST_TRY(child, turn_.state().runs().get(newest));
  }
  if (child->is_terminal() || child->is_compensating()) {
    return {};
  }
  HOLDFAST_TRY(const RunFacts facts,
               decide_cancel(*child, source, OnCancel::as_defined, around_, turn_.now()));
  return record(newest, facts);
}

Result<void> Consequences::notify_parent(const RunId& id) {
  HOLDFAST_TRY(const RunProjection* run, turn_.state().runs().get(id));
  const auto parent = parent_ref(*run);
  if (!parent.has_value() || !turn_.state().runs().is_live(parent->run_id)) {
    return {};
  }
  const ChildEnd end = end_of(*run);
  HOLDFAST_TRY(RunProjection * waiting, turn_.state().runs().get(parent->run_id));
  if (waiting->definition() == nullptr) {
    return {};
  }
  HOLDFAST_TRY(const RunFacts facts, decide_child_ended(*waiting, parent->runnable_key.view(), end,
                                                        around_, turn_.now()));
  return record(parent->run_id, facts);
}

}  // namespace holdfast
