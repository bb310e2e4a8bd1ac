#include "runs/run/run_rules.h"

#include <set>

#include "runs/run/search_attributes.h"

namespace holdfast {

namespace {

using Reason = RunReason;

// Finds required fields without a value, at any depth, in a fact that was not read from JSON.
class Completeness {
 public:
  template <typename T>
  void required(std::string_view /*name*/, const T& value) {
    if constexpr (!IsList<T>) {
      complete_ = complete_ && !is_absent(value);
    }
    look_into(value);
  }
  template <typename T>
  void optional(std::string_view /*name*/, const T& value) {
    look_into(value);
  }
  [[nodiscard]] bool complete() const { return complete_; }

 private:
  template <typename T>
  void look_into(const T& value) {
    if constexpr (HasFields<T>) {
      T::visit(value, *this);
    } else if constexpr (requires { value.has_value(); }) {
      if (value.has_value()) {
        look_into(*value);
      }
    } else if constexpr (IsList<T>) {
      for (const auto& item : value) {
        look_into(item);
      }
    }
  }

  bool complete_ = true;
};

template <typename Fact>
bool is_complete(const Fact& fact) {
  Completeness visitor;
  Fact::visit(fact, visitor);
  return visitor.complete();
}

RunVerdict malformed(std::string_view detail) {
  return RunVerdict::refuse(Reason::malformed_entry, detail);
}

// For facts that occur once: the same again is a repeat, another one a conflict.
template <typename Known, typename Fact>
RunVerdict once(const Known* known, const Fact& fact, Reason conflict) {
  if (known == nullptr) {
    return RunVerdict::accept();
  }
  return *known == fact ? RunVerdict::repeat() : RunVerdict::refuse(conflict);
}

template <typename Map, typename Key>
const typename Map::mapped_type* find_in(const Map& map, const Key& key) {
  const auto found = map.find(key);
  return found == map.end() ? nullptr : &found->second;
}

template <typename T>
const T* address(const std::optional<T>& value) {
  return value.has_value() ? &*value : nullptr;
}

// Rules that the fields alone cannot express, one overload for each fact with such a rule.
template <typename Fact>
std::string_view fault_of(const Fact& /*fact*/) {
  return {};
}

std::string_view fault_of(const RunStarted& fact) {
  const bool fit = fact.search_attributes.empty() || with_changes({}, fact.search_attributes).ok();
  return fit ? "" : "the search attributes break a limit";
}

std::string_view fault_of(const RunnablesPlanned& fact) {
  for (const Runnable& runnable : fact.runnables) {
    if (runnable.run_id != fact.run_id) {
      return "a runnable belongs to another run";
    }
    if (runnable.attempt_number == 0) {
      return "attempts are numbered from 1";
    }
  }
  return {};
}

std::string_view fault_of(const ManualStepPaused& fact) {
  const bool whole = !fact.runnable_key.empty() && !fact.queue.empty() && !fact.error.empty();
  return whole || fact.kind != ManualKind::parked
             ? ""
             : "a parked step has an attempt, a queue and an error";
}

std::string_view fault_of(const DeadLetterResolved& fact) {
  const bool replayed = fact.replay_run_id != RunId{};
  return replayed == (fact.action == DeadLetterEnd::redriven)
             ? ""
             : "a redrive, and nothing else, names the run that it started";
}

std::string_view fault_of(const ExternalEventWaitOpened& fact) {
  const bool fit = !fact.timeout.has_value() ||
                   (fact.timeout->wait_id == fact.wait_id && fact.timeout->event == fact.event &&
                    fact.timeout->correlation == fact.correlation);
  return fit ? "" : "the timeout belongs to another wait";
}

std::string_view fault_of(const ExternalEventBuffered& fact) {
  return fact.payload.is_object() ? "" : "the payload is not an object";
}

std::string_view fault_of(const ExternalEventReceived& fact) {
  return fact.payload.is_object() ? "" : "the payload is not an object";
}

std::string_view fault_of(const SearchAttributesUpdated& fact) {
  return fact.changes.is_object() ? "" : "the changes are not an object";
}

std::string_view fault_of(const RunDefinitionMigrated& fact) {
  if (fact.context.empty() && fact.manual_state.empty()) {
    return {};
  }
  if (!fact.context.is_object()) {
    return "the context is not an object";
  }
  const auto state = from_json<ManualState>(fact.manual_state.view());
  const bool fit = state.ok() && state.value().kind != BoundaryKind::event_wait;
  return fit ? "" : "the manual state is not a pause or an approval";
}

std::string_view fault_of(const DynamicGraphMutated& fact) {
  const bool by_step = fact.origin.is_step() && !fact.origin.step.empty() &&
                       fact.origin.attempt > 0 && fact.origin.source.empty();
  const bool by_command = !fact.origin.is_step() && !fact.origin.source.empty();
  return by_step || by_command ? "" : "the origin is neither a step nor a command";
}

bool is_whole(const GraphAddition& item) {
  switch (item.kind) {
    case GraphItem::node:
      return !item.handler.empty();
    case GraphItem::edge:
      return !item.from.empty() && !item.to.empty();
  }
  return false;
}

// Whether the operations make sense by themselves.
bool are_operations_whole(const DynamicGraphMutated& fact) {
  std::set<std::string_view> ids;
  for (const GraphAddition& addition : fact.additions) {
    if (!is_whole(addition) || !ids.insert(addition.id.view()).second) {
      return false;
    }
  }
  for (const GraphRemoval& removal : fact.removals) {
    if (!ids.insert(removal.id.view()).second) {
      return false;
    }
  }
  return !ids.empty();
}

// Whether they fit the graph. Removed ids stay taken.
bool do_operations_fit(const GraphState& graph, const DynamicGraphMutated& fact) {
  for (const GraphAddition& addition : fact.additions) {
    const std::string id = addition.id.str();
    if (graph.active.contains(id) || graph.tombstones.contains(id)) {
      return false;
    }
  }
  for (const GraphRemoval& removal : fact.removals) {
    const GraphAddition* active = find_in(graph.active, removal.id.str());
    if (active == nullptr || active->kind != removal.kind) {
      return false;
    }
  }
  return true;
}

bool is_intended(const RunProjection& run, const GraphIntent& intent) {
  const DynamicGraphMutated* mutation = find_in(run.graph_mutations(), intent.mutation_id.str());
  const SharedText* fingerprint =
      mutation == nullptr ? nullptr
                          : find_in(mutation->runnable_intent_fingerprints, intent.node_id.str());
  return fingerprint != nullptr && *fingerprint == intent.intent_fingerprint;
}

bool is_pause(const ManualState* state) {
  return state != nullptr && state->kind != BoundaryKind::event_wait;
}

template <typename Fact>
bool matches(const EventWait& wait, const Fact& fact) {
  return wait.opened.awaits(fact.event, fact.correlation);
}

// Judges a fact that is complete, of this run and not fenced by its end.
class Judge {
 public:
  explicit Judge(const RunProjection& run) : run_(run) {}

  RunVerdict operator()(const RunSignalReceived& /*fact*/) const { return RunVerdict::accept(); }

  RunVerdict operator()(const RunStarted& fact) const {
    return once(address(run_.started()), fact, Reason::conflicting_run_start);
  }

  RunVerdict operator()(const RunnablesPlanned& fact) const {
    bool fresh = false;
    for (const Runnable& runnable : fact.runnables) {
      if (run_.find(runnable.runnable_key.view()) != nullptr) {
        continue;
      }
      fresh = true;
      if (runnable.graph_mutation.has_value() && !is_intended(run_, *runnable.graph_mutation)) {
        return RunVerdict::refuse(Reason::runnable_intent_fingerprint_mismatch);
      }
    }
    return fresh ? RunVerdict::accept() : RunVerdict::repeat();
  }

  RunVerdict operator()(const RunnableApplied& fact) const {
    const PlannedRunnable* planned = run_.find(fact.runnable_key.view());
    if (planned == nullptr) {
      return RunVerdict::refuse(Reason::unknown_runnable_intent);
    }
    return planned->applied ? RunVerdict::repeat() : RunVerdict::accept();
  }

  RunVerdict operator()(const ChildRunStarted& fact) const {
    return once(find_in(run_.children(), fact.child_run_id), fact, Reason::conflicting_child_run);
  }

  RunVerdict operator()(const ManualStepPaused& fact) const {
    const ManualState* active = boundary(fact.step);
    if (active == nullptr) {
      return fact.kind != ManualKind::parked || can_park(fact.step, fact.runnable_key)
                 ? RunVerdict::accept()
                 : RunVerdict::refuse(Reason::unknown_runnable_intent);
    }
    const ManualState same{fact.step,
                           boundary_kind(fact.kind),
                           fact.paused_at.value_or(active->paused_at),
                           fact.reason,
                           fact.metadata,
                           fact.deadline,
                           fact.runnable_key,
                           fact.error};
    return *active == same ? RunVerdict::repeat() : RunVerdict::refuse(Reason::active_manual_step);
  }

  RunVerdict operator()(const ManualStepResolved& fact) const {
    const ManualState* active = boundary(fact.step);
    const bool fits = is_pause(active) && (active->kind == BoundaryKind::parked) ==
                                              (boundary_for(fact.action) == BoundaryKind::parked);
    return fits && fits_transition(fact, *active)
               ? RunVerdict::accept()
               : RunVerdict::refuse(Reason::stale_manual_resolution);
  }

  RunVerdict operator()(const RunTerminal& fact) const {
    if (!run_.is_terminal()) {
      return RunVerdict::accept();
    }
    const RunTerminal& known = *run_.terminal();
    return known.status == fact.status && known.error == fact.error
               ? RunVerdict::repeat()
               : RunVerdict::refuse(Reason::conflicting_terminal);
  }

  RunVerdict operator()(const DynamicGraphMutated& fact) const {
    if (!are_operations_whole(fact)) {
      return RunVerdict::refuse(Reason::malformed_graph_operations);
    }
    if (const auto* known = find_in(run_.graph_mutations(), fact.mutation_id.str())) {
      return once(known, fact, Reason::conflicting_graph_mutation);
    }
    if (fact.expected_version != run_.graph().version ||
        fact.result_version != fact.expected_version + 1) {
      return RunVerdict::refuse(Reason::discontinuous_graph_version);
    }
    return do_operations_fit(run_.graph(), fact)
               ? RunVerdict::accept()
               : RunVerdict::refuse(Reason::malformed_graph_operations);
  }

  RunVerdict operator()(const RunContinuationRequested& fact) const {
    return once(address(run_.continuation()), fact, Reason::conflicting_continuation);
  }
  RunVerdict operator()(const RunContinuedFrom& fact) const {
    return once(address(run_.continued_from()), fact, Reason::conflicting_continuation);
  }

  RunVerdict operator()(const ExternalEventWaitOpened& fact) const {
    const EventWait* known = wait(fact.wait_id);
    if (known != nullptr && known->opened == fact) {
      return RunVerdict::repeat();
    }
    if (boundary(fact.step) != nullptr) {
      return RunVerdict::refuse(Reason::active_manual_step);
    }
    return known == nullptr ? RunVerdict::accept() : RunVerdict::refuse(Reason::stale_event_wait);
  }

  RunVerdict operator()(const ExternalEventReceived& fact) const {
    const EventWait* known = wait(fact.wait_id);
    if (known == nullptr || !matches(*known, fact)) {
      return RunVerdict::refuse(Reason::stale_event_wait);
    }
    if (known->status == WaitStatus::waiting) {
      return RunVerdict::accept();
    }
    const bool same =
        known->payload == fact.payload && known->idempotency_key == fact.idempotency_key;
    return same ? RunVerdict::repeat() : RunVerdict::refuse(Reason::stale_event_wait);
  }

  RunVerdict operator()(const ExternalEventWaitTimeoutSelected& fact) const {
    const EventWait* known = wait(fact.wait_id);
    if (known == nullptr || !matches(*known, fact) || known->opened.step != fact.step ||
        !known->opened.timeout.has_value() ||
        known->opened.timeout->timeout_runnable_key != fact.timeout_runnable_key ||
        known->opened.timeout->target != fact.target) {
      return RunVerdict::refuse(Reason::stale_event_wait);
    }
    return reached(
        known->status, WaitStatus::waiting,
        known->status == WaitStatus::timeout_selected || known->status == WaitStatus::timed_out);
  }

  RunVerdict operator()(const ExternalEventWaitResolved& fact) const {
    const EventWait* known = wait(fact.wait_id);
    if (known == nullptr || !matches(*known, fact) || known->opened.step != fact.step) {
      return RunVerdict::refuse(Reason::stale_event_wait);
    }
    const bool by_event = fact.action == WaitAction::received;
    const WaitStatus after = by_event ? WaitStatus::resolved : WaitStatus::timed_out;
    return reached(known->status, by_event ? WaitStatus::received : WaitStatus::timeout_selected,
                   known->status == after && known->result == fact.result);
  }

  RunVerdict operator()(const SearchAttributesUpdated& fact) const {
    if (const auto* known = find_in(run_.attribute_updates(), fact.idempotency_key.str())) {
      return once(known, fact.fingerprint, Reason::idempotency_conflict);
    }
    return with_changes(run_.attributes(), fact.changes).ok()
               ? RunVerdict::accept()
               : malformed("the search attributes break a limit");
  }

  RunVerdict operator()(const RunDefinitionMigrated& fact) const {
    if (const auto* known = find_in(run_.migrations(), fact.migration_key.str())) {
      return once(known, fact, Reason::conflicting_definition_migration);
    }
    const PinnedDefinition source{fact.source_version, fact.source_fingerprint};
    const bool current = source == run_.pinned_definition() && is_boundary_of(fact);
    return current ? RunVerdict::accept() : RunVerdict::refuse(Reason::stale_definition_migration);
  }

  RunVerdict operator()(const RunArchived& /*fact*/) const {
    return run_.is_terminal() && !run_.archived().has_value()
               ? RunVerdict::accept()
               : RunVerdict::refuse(Reason::invalid_archive_transition);
  }
  RunVerdict operator()(const RunUnarchived& /*fact*/) const {
    return run_.archived().has_value() ? RunVerdict::accept()
                                       : RunVerdict::refuse(Reason::invalid_archive_transition);
  }

  RunVerdict operator()(const RunnablesWithdrawn& fact) const {
    bool fresh = false;
    for (const SharedText& key : fact.runnable_keys) {
      const PlannedRunnable* planned = run_.find(key.view());
      if (planned == nullptr) {
        return RunVerdict::refuse(Reason::unknown_runnable_intent);
      }
      fresh = fresh || !planned->applied;
    }
    return fresh ? RunVerdict::accept() : RunVerdict::repeat();
  }

  RunVerdict operator()(const ExternalEventBuffered& fact) const {
    return run_.received_event_keys().contains(fact.idempotency_key.str())
               ? RunVerdict::refuse(Reason::idempotency_conflict)
               : RunVerdict::accept();
  }

  RunVerdict operator()(const CompensationStarted& fact) const {
    return once(address(run_.compensation()), fact, Reason::conflicting_compensation);
  }
  RunVerdict operator()(const DeadLetterResolved& fact) const {
    if (const DeadLetterResolved* known = address(run_.dead_letter())) {
      return once(known, fact, Reason::stale_dead_letter);
    }
    const bool fits = run_.is_terminal() && run_.terminal()->exhausted.has_value() &&
                      run_.terminal()->exhausted->runnable_key == fact.runnable_key;
    return fits ? RunVerdict::accept() : RunVerdict::refuse(Reason::stale_dead_letter);
  }
  RunVerdict operator()(const StepsAdopted& fact) const {
    return once(address(run_.adopted_steps()), fact, Reason::conflicting_run_start);
  }

 private:
  [[nodiscard]] const ManualState* boundary(const SharedText& step) const {
    return find_in(run_.boundaries(), step);
  }
  [[nodiscard]] const EventWait* wait(const SharedText& id) const {
    return find_in(run_.waits(), id.str());
  }
  // The key is that of the newest plan of the step, which has no result yet.
  [[nodiscard]] bool is_open(const SharedText& step, const SharedText& runnable_key) const {
    const PlannedRunnable* planned = run_.find(runnable_key.view());
    return planned != nullptr && !planned->applied && run_.latest(step.view()) == planned;
  }
  // The same, or it has a result that no transition fits.
  [[nodiscard]] bool can_park(const SharedText& step, const SharedText& runnable_key) const {
    const PlannedRunnable* planned = run_.find(runnable_key.view());
    return is_open(step, runnable_key) ||
           (planned != nullptr && planned->is_undecided() && run_.latest(step.view()) == planned);
  }
  // Only the retry of a step that no transition followed takes one.
  [[nodiscard]] bool fits_transition(const ManualStepResolved& fact,
                                     const ManualState& active) const {
    if (fact.transition.empty()) {
      return true;
    }
    const PlannedRunnable* planned = run_.find(active.runnable_key.view());
    return fact.action == ManualAction::retried && planned != nullptr && planned->is_undecided();
  }
  // The run waits where the migration found it, and can wait where it moves to.
  [[nodiscard]] bool is_boundary_of(const RunDefinitionMigrated& fact) const {
    if (fact.manual_state.empty()) {
      return true;
    }
    const auto target = from_json<ManualState>(fact.manual_state.view());
    const bool can_wait =
        target.ok() && (target.value().kind != BoundaryKind::parked ||
                        is_open(target.value().step, target.value().runnable_key));
    return can_wait && run_.boundaries().size() == 1 &&
           is_pause(&run_.boundaries().begin()->second) &&
           (fact.source_manual_step.empty() || boundary(fact.source_manual_step) != nullptr);
  }
  static RunVerdict reached(WaitStatus status, WaitStatus before, bool repeated) {
    if (status == before) {
      return RunVerdict::accept();
    }
    return repeated ? RunVerdict::repeat() : RunVerdict::refuse(Reason::stale_event_wait);
  }

  const RunProjection& run_;
};

// Facts that are still judged by their own rules when the run has ended.
template <typename Fact>
constexpr bool kOutlivesRun =
    std::same_as<Fact, RunTerminal> || std::same_as<Fact, RunArchived> ||
    std::same_as<Fact, RunUnarchived> || std::same_as<Fact, SearchAttributesUpdated> ||
    std::same_as<Fact, DeadLetterResolved>;
// Facts that may come before the run has started.
template <typename Fact>
constexpr bool kPrecedesStart =
    std::same_as<Fact, RunSignalReceived> || std::same_as<Fact, RunStarted>;

template <typename Fact>
RunVerdict judge_fact(const RunProjection& run, const Fact& fact) {
  if (fact.run_id != run.run_id()) {
    return malformed("the fact belongs to another run");
  }
  if (!is_complete(fact)) {
    return malformed("a required field has no value");
  }
  if (const std::string_view fault = fault_of(fact); !fault.empty()) {
    return malformed(fault);
  }
  if (!kPrecedesStart<Fact> && !run.started().has_value()) {
    return malformed("the run has not started");
  }
  if (!kOutlivesRun<Fact> && run.is_terminal()) {
    return RunVerdict::refuse(Reason::terminal_run);
  }
  return Judge(run)(fact);
}

}  // namespace

RunVerdict judge(const RunProjection& run, TimeMs /*at*/, const RunFact& fact) {
  return std::visit([&](const auto& known) { return judge_fact(run, known); }, fact);
}

}  // namespace holdfast
