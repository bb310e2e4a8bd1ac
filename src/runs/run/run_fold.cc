#include "runs/run/run_fold.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/hash.h"
#include "holdfast/assert.h"
#include "runs/facts/activation.h"
#include "runs/facts/execution_opts.h"
#include "runs/language/data/canonical_json.h"
#include "runs/run/context_text.h"
#include "runs/run/search_attributes.h"

namespace holdfast {

namespace {

PlannedRunnable unapplied(const Runnable& plan, std::uint64_t order) {
  PlannedRunnable planned;
  planned.plan = plan;
  planned.order = order;
  return planned;
}

bool is_open(WaitStatus status) {
  return status == WaitStatus::waiting || status == WaitStatus::received ||
         status == WaitStatus::timeout_selected;
}

WaitStatus ended_as(TerminalStatus status) {
  switch (status) {
    case TerminalStatus::completed:
      return WaitStatus::completed;
    case TerminalStatus::failed:
      return WaitStatus::failed;
    case TerminalStatus::cancelled:
      return WaitStatus::cancelled;
    case TerminalStatus::continued:
      return WaitStatus::continued;
  }
  return WaitStatus::completed;
}

}  // namespace

SharedText event_digest(const SharedText& event, const SharedText& correlation,
                        const Payload& payload) {
  return to_hex(sha256(
      fmt::format("{}\n{}\n{}", event.view(), correlation.view(), canonical_json(payload.view()))));
}

// Applies facts that were accepted.
class RunFold::Visitor {
 public:
  Visitor(RunProjection& run, TimeMs at) : run_(run), undo_(run.undo_), at_(at) {}

  void operator()(const RunSignalReceived& fact) const {
    push_back(undo_, run_.receipts_, {fact, at_});
  }

  void operator()(const RunStarted& fact) const {
    HOLDFAST_ASSERT(!run_.started_.has_value());  // R1
    save(undo_, run_.started_);
    save(undo_, run_.started_at_);
    run_.started_ = fact;
    run_.started_at_ = at_;
    merge(fact.input);
    each_member(fact.context, [&](const std::string& name, std::string_view value) {
      if (name == kScheduleKey) {
        merge_member(name, value);
      }
    });
    if (!fact.search_attributes.empty()) {
      edit_optional_state().attributes = with_changes({}, fact.search_attributes).value();
    }
  }

  void operator()(const RunnablesPlanned& fact) const {
    for (const Runnable& runnable : fact.runnables) {
      if (run_.find(runnable.runnable_key.view()) == nullptr) {
        plan(runnable);
      }
    }
  }

  void operator()(const RunnableApplied& fact) const {
    PlannedRunnable& planned = run_.runnables_.find(fact.runnable_key)->second;
    note_progress_undo(planned.plan);
    close(planned);
    if (run_.latest(planned.plan.step.view()) == &planned) {
      unpark(planned.plan.step);
    }
    planned.applied_at = fact.applied_at.value_or(at_);
    planned.result = fact.result;
    planned.output_key = fact.output_key;
    planned.transition = fact.transition;
    planned.execution_opts = fact.execution_opts;
    if (run_.progress_ != nullptr) {
      run_.progress_->apply(*run_.definition_, planned);
    }
    const std::string_view step = planned.plan.step.view();
    if (is_item(step)) {
      count_item(planned);
    } else if (!is_compensation(step)) {
      merge_output(fact.output_key, fact.result);
    }
  }

  void operator()(const RunnablesWithdrawn& fact) const {
    for (const SharedText& key : fact.runnable_keys) {
      const auto found = run_.runnables_.find(key);
      if (found == run_.runnables_.end() || found->second.applied) {
        continue;
      }
      PlannedRunnable& planned = found->second;
      close(planned);
      planned.withdrawn = true;
      planned.applied_at = at_;
      end_boundary(planned.plan.step);
      if (run_.waits().contains(key.str())) {
        edit_wait(key).status = WaitStatus::cancelled;
      }
    }
  }

  void operator()(const ChildRunStarted& fact) const {
    insert(undo_, run_.children_, fact.child_run_id, fact);
  }

  void operator()(const ManualStepPaused& fact) const {
    open_boundary(ManualState{fact.step, boundary_kind(fact.kind), fact.paused_at.value_or(at_),
                              fact.reason, fact.metadata, fact.deadline, fact.runnable_key,
                              fact.error});
  }

  void operator()(const ManualStepResolved& fact) const {
    if (!fact.transition.empty()) {
      decide(*run_.latest(fact.step.view()), fact.transition);
    }
    end_boundary(fact.step);
    merge(fact.result);
  }

  void operator()(const RunTerminal& fact) const {
    HOLDFAST_ASSERT(run_.started_.has_value() && !run_.terminal_.has_value());  // R2
    save(undo_, run_.terminal_);
    save(undo_, run_.terminal_at_);
    run_.terminal_ = fact;
    run_.terminal_at_ = at_;
    end_all_boundaries();
    if (run_.optional_state_ && !run_.optional_state_->waits.empty()) {
      for (auto& [id, wait] : edit_optional_state().waits) {
        wait.status = is_open(wait.status) ? ended_as(fact.status) : wait.status;
      }
    }
  }

  void raise_graph_version() const { ++edit_optional_state().graph.version; }

  void operator()(const DynamicGraphMutated& fact) const {
    OptionalRunState& state = edit_optional_state();
    state.mutations.emplace(fact.mutation_id.str(), fact);
    HOLDFAST_ASSERT(fact.result_version == state.graph.version + 1);  // R7
    state.graph.version = fact.result_version;
    for (const GraphRemoval& removal : fact.removals) {
      state.graph.active.erase(removal.id.str());
      state.graph.tombstones.emplace(removal.id.str(), removal);
    }
    for (const GraphAddition& addition : fact.additions) {
      state.graph.active.emplace(addition.id.str(), addition);
    }
  }

  void operator()(const RunContinuationRequested& fact) const {
    edit_optional_state().continuation = fact;
  }
  void operator()(const RunContinuedFrom& fact) const {
    edit_optional_state().continued_from = fact;
  }

  void operator()(const ExternalEventWaitOpened& fact) const {
    edit_optional_state().waits[fact.wait_id.str()].opened = fact;
    open_boundary(ManualState{fact.step, BoundaryKind::event_wait, fact.opened_at, {}, {}, {}});
  }

  void operator()(const ExternalEventBuffered& fact) const {
    OptionalRunState& state = edit_optional_state();
    state.buffered.push_back(fact);
    state.received_keys.emplace(fact.idempotency_key.str(),
                                event_digest(fact.event, fact.correlation, fact.payload));
  }

  void operator()(const ExternalEventReceived& fact) const {
    OptionalRunState& state = edit_optional_state();
    std::erase_if(state.buffered, [&](const ExternalEventBuffered& buffered) {
      return buffered.idempotency_key == fact.idempotency_key;
    });
    state.received_keys.emplace(fact.idempotency_key.str(),
                                event_digest(fact.event, fact.correlation, fact.payload));
    EventWait& wait = state.waits.find(fact.wait_id.str())->second;
    HOLDFAST_ASSERT(wait.status == WaitStatus::waiting);  // R8
    wait.status = WaitStatus::received;
    wait.payload = fact.payload;
    wait.idempotency_key = fact.idempotency_key;
  }

  void operator()(const ExternalEventWaitTimeoutSelected& fact) const {
    EventWait& wait = edit_wait(fact.wait_id);
    HOLDFAST_ASSERT(wait.status == WaitStatus::waiting);  // R8
    wait.status = WaitStatus::timeout_selected;
  }

  void operator()(const ExternalEventWaitResolved& fact) const {
    EventWait& wait = edit_wait(fact.wait_id);
    const bool by_event = fact.action == WaitAction::received;
    HOLDFAST_ASSERT(wait.status ==
                    (by_event ? WaitStatus::received : WaitStatus::timeout_selected));  // R8
    wait.status = by_event ? WaitStatus::resolved : WaitStatus::timed_out;
    wait.result = fact.result;
    end_boundary(fact.step);
    merge(fact.result);
  }

  void operator()(const CompensationStarted& fact) const {
    HOLDFAST_ASSERT(!run_.compensation().has_value() && !run_.terminal_.has_value());  // R10
    edit_optional_state().compensation = fact;
    // What is open is withdrawn. A step that has a result waits for nothing more.
    std::vector<SharedText> undecided;
    for (const auto& [step, state] : run_.manual_) {
      const PlannedRunnable* planned = run_.find(state.runnable_key.view());
      if (planned != nullptr && planned->is_undecided()) {
        undecided.push_back(step);
      }
    }
    for (const SharedText& step : undecided) {
      end_boundary(step);
    }
  }

  void operator()(const StepsAdopted& fact) const {
    // Undone last, when the run is what it was.
    if (undo_ != nullptr) {
      undo_->add([&run = run_] {
        if (run.definition_ != nullptr) {
          rebuild_progress(run);
        }
      });
    }
    edit_optional_state().adopted = fact;
    merge(fact.context);
    if (run_.definition_ != nullptr) {
      rebuild_progress(run_);
    }
  }

  void operator()(const SearchAttributesUpdated& fact) const {
    OptionalRunState& state = edit_optional_state();
    state.attribute_updates.emplace(fact.idempotency_key.str(), fact.fingerprint);
    state.attributes = with_changes(state.attributes, fact.changes).value();
  }

  void operator()(const RunDefinitionMigrated& fact) const {
    OptionalRunState& state = edit_optional_state();
    state.migrations.emplace(fact.migration_key.str(), fact);
    state.migrated_to = PinnedDefinition{fact.target_version, fact.target_fingerprint};
    if (fact.manual_state.empty()) {
      return;
    }
    // From here on the run has exactly the context the migration gave it.
    end_all_boundaries();
    open_boundary(from_json<ManualState>(fact.manual_state.view()).value());
    // Moved, not copied: earlier steps of the undo log point into it.
    auto old = std::make_shared<RunProjection::Context>(std::move(run_.context_));
    run_.context_ = {};
    if (undo_ != nullptr) {
      undo_->add([&run = run_, old] { run.context_ = std::move(*old); });
    }
    merge(fact.context);
  }

  void operator()(const RunArchived& fact) const {
    HOLDFAST_ASSERT(run_.terminal_.has_value() && !run_.archived().has_value());  // R9
    OptionalRunState& state = edit_optional_state();
    state.archived = fact;
    state.archived_at = at_;
  }
  void operator()(const DeadLetterResolved& fact) const {
    HOLDFAST_ASSERT(run_.terminal_.has_value());
    edit_optional_state().dead_letter = fact;
  }
  void operator()(const RunUnarchived& /*fact*/) const {
    OptionalRunState& state = edit_optional_state();
    state.archived.reset();
    state.archived_at = TimeMs{};
  }

  // Its step, visit or item was begun.
  void note_begun(const Runnable& plan) const {
    const bool has_items = plan.is_internal() && plan.input.view().starts_with(kItems);
    if (has_items && !run_.each_.contains(plan.step)) {
      EachProgress progress;
      progress.items = items_of(plan);
      insert(undo_, run_.each_, plan.step, std::move(progress));
    }
    note_visit(plan.step.view());
  }
  // An item that was applied. One that put itself off comes back, and a timer is none.
  void count_item(const PlannedRunnable& item) const {
    const auto each = run_.each_.find(SharedText(without_item(item.plan.step.view())));
    if (each != run_.each_.end() && !item.plan.is_timer() &&
        !execution_opts(item.execution_opts).defer.has_value()) {
      save(undo_, each->second.done);
      ++each->second.done;
    }
  }

 private:
  static constexpr std::string_view kItems = R"({"items":[)";

  static std::vector<std::string_view> items_of(const Runnable& plan) {
    std::vector<std::string_view> items;
    JsonSlicer members(plan.input.view());
    JsonSlicer list(members.next()->value);
    while (const auto item = list.next()) {
      items.push_back(item->value);
    }
    return items;
  }

  void open_boundary(ManualState state) const {
    const SharedText step = state.step;
    HOLDFAST_ASSERT(!run_.terminal_.has_value() && !run_.manual_.contains(step));  // R6
    insert(undo_, run_.manual_, step, std::move(state));
  }
  void end_boundary(const SharedText& step) const { erase(undo_, run_.manual_, step); }
  void end_all_boundaries() const {
    while (!run_.manual_.empty()) {
      end_boundary(SharedText(run_.manual_.begin()->first));
    }
  }

  // Another writer gave the step a result or a newer plan: nothing is left to decide.
  void unpark(const SharedText& step) const {
    if (run_.parked(step) != nullptr) {
      end_boundary(step);
    }
  }

  // A transition fits a result at last.
  void decide(const PlannedRunnable& undecided, const Payload& transition) const {
    HOLDFAST_ASSERT(undecided.is_undecided());  // R12
    PlannedRunnable& planned = run_.runnables_.find(undecided.plan.runnable_key)->second;
    note_progress_undo(planned.plan);
    save(undo_, planned.transition);
    planned.transition = transition;
    if (run_.progress_ != nullptr) {
      run_.progress_->apply(*run_.definition_, planned);
    }
  }

  // Nothing more is expected of the runnable.
  void close(PlannedRunnable& planned) const {
    if (undo_ != nullptr) {
      undo_->add([&planned] { planned = unapplied(planned.plan, planned.order); });
    }
    HOLDFAST_ASSERT(!planned.applied);  // R4
    save(undo_, run_.applied_count_);
    planned.applied = true;
    planned.applied_order = ++run_.applied_count_;
    if (run_.latest(planned.plan.step.view()) == &planned) {
      HOLDFAST_ASSERT(run_.open_count_ > 0);  // R5
      save(undo_, run_.open_count_);
      --run_.open_count_;
    }
  }

  // Few runs have it, so the whole is kept for undoing.
  OptionalRunState& edit_optional_state() const {
    save(undo_, run_.optional_state_);
    return run_.optional_state_ ? *run_.optional_state_ : run_.optional_state_.emplace();
  }
  EventWait& edit_wait(const SharedText& id) const {
    return edit_optional_state().waits.find(id.str())->second;
  }

  void plan(const Runnable& runnable) const {
    HOLDFAST_ASSERT(runnable.run_id == run_.run_id_ && !run_.terminal_.has_value());  // R3
    save(undo_, run_.next_order_);
    const PlannedRunnable& planned = insert(undo_, run_.runnables_, runnable.runnable_key,
                                            unapplied(runnable, run_.next_order_));
    ++run_.next_order_;
    if (!runnable.is_timer()) {
      track(planned);
    }
    note_begun(planned.plan);
  }

  void note_visit(std::string_view step) const {
    const Activation activation = parse_activation(step);
    if (activation.item.has_value()) {
      const auto each = run_.each_.find(SharedText(without_item(step)));
      if (each != run_.each_.end() && each->second.next <= *activation.item) {
        save(undo_, each->second.next);
        each->second.next = *activation.item + 1;
      }
    } else if (activation.visit > 1 && !activation.compensation) {
      const SharedText name(activation.step);
      const auto known = run_.visits_.find(name);
      if (known == run_.visits_.end()) {
        insert(undo_, run_.visits_, name, activation.visit);
      } else {
        save(undo_, known->second);
        known->second = std::max(known->second, activation.visit);
      }
    }
  }

  // The runnable is the newest of its step from here on.
  void track(const PlannedRunnable& planned) const {
    unpark(planned.plan.step);
    const auto known = run_.latest_.find(planned.plan.step);
    if (known == run_.latest_.end() || known->second->applied) {
      save(undo_, run_.open_count_);
      ++run_.open_count_;
    }
    if (known == run_.latest_.end()) {
      insert(undo_, run_.latest_, planned.plan.step, &planned);
    } else {
      save(undo_, known->second);
      known->second = &planned;
    }
  }

  void merge(const Payload& payload) const {
    each_member(payload, [&](const std::string& name, std::string_view value) {
      merge_member(name, value);
    });
  }
  void merge_member(const std::string& name, std::string_view value) const {
    const auto known = run_.context_.find(name);
    if (known == run_.context_.end()) {
      insert(undo_, run_.context_, name, {run_.context_.size(), Payload::trusted(value)});
    } else {
      save(undo_, known->second);
      known->second.second = Payload::trusted(value);
    }
  }
  void merge_output(const SharedText& key, const Payload& result) const {
    if (key.empty()) {
      merge(result);
    } else if (!result.empty()) {
      merge_member(escaped(key.view()), result.view());
    }
  }

  // Undone last of all that the fact changes: by then the runnable is what it was.
  void note_progress_undo(const Runnable& plan) const {
    StepProgress::Before before;
    if (run_.progress_ != nullptr && undo_ != nullptr) {
      before = run_.progress_->before(*run_.definition_, plan);
    }
    if (undo_ != nullptr) {
      undo_->add([&run = run_, attachments = run_.attachments_, before = std::move(before)] {
        if (attachments != run.attachments_) {
          rebuild_progress(run);  // the definition came later than the fact
        } else if (run.progress_ != nullptr) {
          run.progress_->restore(before);
        }
      });
    }
  }

  RunProjection& run_;
  UndoLog* undo_;
  TimeMs at_;
};

void RunFold::raise_graph_version(RunProjection& run) { Visitor(run, {}).raise_graph_version(); }

void RunFold::apply(RunProjection& run, TimeMs at, const RunFact& fact) {
  std::visit(Visitor(run, at), fact);
}

void RunFold::rebuild_progress(RunProjection& run) {
  run.progress_ = std::make_unique<StepProgress>(*run.definition_);
  if (run.adopted_steps().has_value()) {
    for (const SharedText& step : run.adopted_steps()->done) {
      run.progress_->adopt(*run.definition_, step.view());
    }
  }
  for (const PlannedRunnable* planned : run.runnables()) {
    if (planned->applied) {
      run.progress_->apply(*run.definition_, *planned);
    }
  }
}

void RunFold::restore_counts(RunProjection& run, const PlannedRunnable& planned) {
  const Visitor visitor(run, TimeMs{});
  visitor.note_begun(planned.plan);
  const std::string_view step = planned.plan.step.view();
  if (planned.applied && !planned.withdrawn && is_item(step)) {
    visitor.count_item(planned);
  }
}

}  // namespace holdfast
