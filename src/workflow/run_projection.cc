#include "workflow/run_projection.h"

#include <algorithm>
#include <map>

#include "base/sorted.h"
#include "workflow/rules.h"
#include "workflow/search_attributes.h"

namespace holdfast {

namespace {

constexpr std::string_view kEventWait = "event_wait";

// What an anomaly says about the fact that caused it, as far as the fact has it.
template <typename Fact>
Anomaly describe(TimeMs at, const Fact& fact, const RunVerdict& verdict) {
  Anomaly anomaly;
  anomaly.reason = to_text(verdict.reason);
  anomaly.entry_type = Fact::kKind;
  anomaly.at = at;
  anomaly.run_id = fact.run_id;
  anomaly.detail = verdict.detail;
  if constexpr (requires { fact.step; }) {
    anomaly.step = fact.step;
  }
  if constexpr (requires { fact.runnable_key; }) {
    anomaly.runnable_key = fact.runnable_key;
  } else if constexpr (requires { fact.wait_id; }) {
    anomaly.runnable_key = fact.wait_id;
  }
  if constexpr (requires { fact.idempotency_key; }) {
    anomaly.idempotency_key = fact.idempotency_key;
  }
  if constexpr (requires { fact.child_run_id; }) {
    anomaly.child_run_id = to_string(fact.child_run_id);
  }
  if constexpr (requires { fact.mutation_id; }) {
    anomaly.mutation_id = fact.mutation_id;
  }
  return anomaly;
}

// One spelling for each name, so that equal names are equal however they were escaped.
std::string spelling(std::string_view name) {
  if (name.find('\\') == std::string_view::npos) {
    return std::string(name);
  }
  const auto text = json_string_value('"' + std::string(name) + '"');
  if (!text.has_value()) {
    return std::string(name);
  }
  std::string quoted;
  append_json_string(quoted, *text);
  return quoted.substr(1, quoted.size() - 2);
}

template <typename Visit>
void each_member(const Payload& payload, Visit visit) {
  if (!payload.is_object()) {
    return;
  }
  JsonSlicer slicer(payload.view());
  while (const auto member = slicer.next()) {
    visit(spelling(member->name), member->value);
  }
}

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

RunStatus status_of(TerminalStatus status) {
  switch (status) {
    case TerminalStatus::completed:
      return RunStatus::completed;
    case TerminalStatus::failed:
      return RunStatus::failed;
    case TerminalStatus::cancelled:
      return RunStatus::cancelled;
    case TerminalStatus::continued:
      return RunStatus::continued;
  }
  return RunStatus::completed;
}

}  // namespace

// Applies facts that were accepted.
class RunFold {
 public:
  RunFold(RunProjection& run, TimeMs at) : run_(run), undo_(run.undo_), at_(at) {}

  void operator()(const RunSignalReceived& fact) const {
    push_back(undo_, run_.receipts_, {fact, at_});
  }

  void operator()(const RunStarted& fact) const {
    save(undo_, run_.started_);
    save(undo_, run_.started_at_);
    run_.started_ = fact;
    run_.started_at_ = at_;
    merge(fact.input);
    if (!fact.search_attributes.empty()) {
      edit_rare().attributes = with_changes({}, fact.search_attributes).value();
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
    const TimeMs applied_at = fact.applied_at.value_or(at_);
    add_progress(planned.plan, applied_at, fact.execution_opts);
    if (undo_ != nullptr) {
      undo_->add([&planned] { planned = unapplied(planned.plan, planned.order); });
    }
    planned.applied = true;
    planned.applied_at = applied_at;
    planned.result = fact.result;
    planned.transition = fact.transition;
    planned.execution_opts = fact.execution_opts;
    if (run_.latest(planned.plan.step.view()) == &planned) {
      save(undo_, run_.open_count_);
      --run_.open_count_;
    }
    merge(fact.result);
  }

  void operator()(const ChildRunStarted& fact) const {
    insert(undo_, run_.children_, fact.child_run_id, fact);
  }

  void operator()(const ManualStepPaused& fact) const {
    set_manual(ManualState{fact.step, to_text(fact.kind), fact.paused_at.value_or(at_), fact.reason,
                           fact.metadata, fact.deadline});
  }

  void operator()(const ManualStepResolved& fact) const {
    set_manual(std::nullopt);
    merge(fact.result);
  }

  void operator()(const RunTerminal& fact) const {
    save(undo_, run_.terminal_);
    save(undo_, run_.terminal_at_);
    run_.terminal_ = fact;
    run_.terminal_at_ = at_;
    set_manual(std::nullopt);
    if (run_.rare_ && !run_.rare_->waits.empty()) {
      for (auto& [id, wait] : edit_rare().waits) {
        wait.status = is_open(wait.status) ? ended_as(fact.status) : wait.status;
      }
    }
  }

  // Recorded work counts as a version of the graph.
  void operator()(const DynamicWorkRecorded& fact) const {
    RareState& rare = edit_rare();
    rare.dynamic_work.emplace(fact.dynamic_key.str(), fact);
    ++rare.graph.version;
  }

  void operator()(const DynamicGraphMutated& fact) const {
    RareState& rare = edit_rare();
    rare.mutations.emplace(fact.mutation_id.str(), fact);
    rare.graph.version = fact.result_version;
    for (const GraphRemoval& removal : fact.removals) {
      rare.graph.active.erase(removal.id.str());
      rare.graph.tombstones.emplace(removal.id.str(), removal);
    }
    for (const GraphAddition& addition : fact.additions) {
      rare.graph.active.emplace(addition.id.str(), addition);
    }
  }

  void operator()(const RunContinuationRequested& fact) const { edit_rare().continuation = fact; }
  void operator()(const RunContinuedFrom& fact) const { edit_rare().continued_from = fact; }

  void operator()(const ExternalEventWaitOpened& fact) const {
    edit_rare().waits[fact.wait_id.str()].opened = fact;
    set_manual(ManualState{fact.step, kEventWait, fact.opened_at, {}, {}, {}});
  }

  void operator()(const ExternalEventReceived& fact) const {
    EventWait& wait = edit_wait(fact.wait_id);
    wait.status = WaitStatus::received;
    wait.payload = fact.payload;
    wait.idempotency_key = fact.idempotency_key;
  }

  void operator()(const ExternalEventWaitTimeoutSelected& fact) const {
    edit_wait(fact.wait_id).status = WaitStatus::timeout_selected;
  }

  void operator()(const ExternalEventWaitResolved& fact) const {
    EventWait& wait = edit_wait(fact.wait_id);
    const bool by_event = fact.action == WaitAction::received;
    wait.status = by_event ? WaitStatus::resolved : WaitStatus::timed_out;
    wait.result = fact.result;
    set_manual(std::nullopt);
    merge(fact.result);
  }

  void operator()(const SearchAttributesUpdated& fact) const {
    RareState& rare = edit_rare();
    rare.attribute_updates.emplace(fact.idempotency_key.str(), fact.fingerprint);
    rare.attributes = with_changes(rare.attributes, fact.changes).value();
  }

  // From here on the run has exactly the context the migration gave it.
  void operator()(const RunDefinitionMigrated& fact) const {
    RareState& rare = edit_rare();
    rare.migrations.emplace(fact.migration_key.str(), fact);
    rare.migrated_to = PinnedDefinition{fact.target_version, fact.target_fingerprint};
    set_manual(from_json<ManualState>(fact.manual_state.view()).value());
    // Moved, not copied: earlier steps of the undo log point into it.
    auto old = std::make_shared<RunProjection::Context>(std::move(run_.context_));
    run_.context_ = {};
    if (undo_ != nullptr) {
      undo_->add([&run = run_, old] { run.context_ = std::move(*old); });
    }
    merge(fact.context);
  }

  void operator()(const RunArchived& fact) const {
    RareState& rare = edit_rare();
    rare.archived = fact;
    rare.archived_at = at_;
  }
  void operator()(const RunUnarchived& /*fact*/) const {
    RareState& rare = edit_rare();
    rare.archived.reset();
    rare.archived_at = TimeMs{};
  }

  // Makes the progress from all facts the projection has.
  static void rebuild_progress(RunProjection& run) {
    run.progress_ = std::make_unique<StepProgress>(*run.definition_);
    for (const PlannedRunnable* planned : run.runnables()) {
      if (planned->applied) {
        run.progress_->apply(*run.definition_, planned->plan, planned->applied_at,
                             planned->execution_opts);
      }
    }
  }

 private:
  void set_manual(std::optional<ManualState> state) const {
    save(undo_, run_.manual_);
    run_.manual_ = std::move(state);
  }

  // Few runs have it, so the whole is kept for undoing.
  RareState& edit_rare() const {
    save(undo_, run_.rare_);
    return run_.rare_ ? *run_.rare_ : run_.rare_.emplace();
  }
  EventWait& edit_wait(const SharedText& id) const {
    return edit_rare().waits.find(id.str())->second;
  }

  void plan(const Runnable& runnable) const {
    save(undo_, run_.next_order_);
    const PlannedRunnable& planned = insert(undo_, run_.runnables_, runnable.runnable_key,
                                            unapplied(runnable, run_.next_order_));
    ++run_.next_order_;
    if (!runnable.is_timer()) {
      track(planned);
    }
  }

  // The runnable is the newest of its step from here on.
  void track(const PlannedRunnable& planned) const {
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
      const auto known = run_.context_.find(name);
      if (known == run_.context_.end()) {
        insert(undo_, run_.context_, name, {run_.context_.size(), Payload::trusted(value)});
      } else {
        save(undo_, known->second);
        known->second.second = Payload::trusted(value);
      }
    });
  }

  // Undone last of all that the fact changes: by then the runnable is what it was.
  void add_progress(const Runnable& plan, TimeMs applied_at, const Payload& opts) const {
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
    if (run_.progress_ != nullptr) {
      run_.progress_->apply(*run_.definition_, plan, applied_at, opts);
    }
  }

  RunProjection& run_;
  UndoLog* undo_;
  TimeMs at_;
};

RunProjection::RunProjection(const RunId& run_id) : run_id_(run_id) {}

void RunProjection::attach(std::shared_ptr<const Definition> definition) {
  definition_ = std::move(definition);
  ++attachments_;
  RunFold::rebuild_progress(*this);
}

void RunProjection::evolve(TimeMs at, const RunFact& fact) {
  save(undo_, revision_);
  revision_ = revision_.next();
  const RunVerdict verdict = judge(*this, at, fact);
  switch (verdict.kind) {
    case RunVerdict::Kind::accept:
      std::visit(RunFold(*this, at), fact);
      return;
    case RunVerdict::Kind::repeat:
      return;
    case RunVerdict::Kind::refuse:
      push_back(undo_, anomalies_,
                std::visit([&](const auto& known) { return describe(at, known, verdict); }, fact));
      return;
  }
}

void RunProjection::fold(const EntryView& entry) {
  const auto fact = run_fact(entry.kind, entry.data);
  if (fact.ok()) {
    evolve(entry.at, fact.value());
    return;
  }
  save(undo_, revision_);
  revision_ = revision_.next();
  Anomaly anomaly;
  anomaly.reason = to_text(RunReason::malformed_entry);
  anomaly.entry_type = entry.kind.empty() ? "none" : entry.kind;
  anomaly.at = entry.at;
  anomaly.detail = fact.error().text();
  push_back(undo_, anomalies_, std::move(anomaly));
}

RunStatus RunProjection::status() const {
  if (terminal_.has_value()) {
    return status_of(terminal_->status);
  }
  if (!started_.has_value()) {
    return RunStatus::created;
  }
  if (manual_.has_value()) {
    return RunStatus::paused;
  }
  if (runnables_.empty()) {
    return RunStatus::started;
  }
  return open_count_ == 0 ? RunStatus::idle : RunStatus::running;
}

const RareState& RunProjection::rare() const {
  static const RareState nothing;
  return rare_ ? *rare_ : nothing;
}

PinnedDefinition RunProjection::pinned_definition() const {
  if (rare().migrated_to.has_value()) {
    return *rare().migrated_to;
  }
  return started_.has_value()
             ? PinnedDefinition{started_->definition_version, started_->definition_fingerprint}
             : PinnedDefinition{};
}

const PlannedRunnable* RunProjection::find(std::string_view runnable_key) const {
  const auto found = runnables_.find(runnable_key);
  return found == runnables_.end() ? nullptr : &found->second;
}

const PlannedRunnable* RunProjection::latest(std::string_view step) const {
  const auto found = latest_.find(step);
  return found == latest_.end() ? nullptr : found->second;
}

std::vector<const PlannedRunnable*> RunProjection::runnables() const {
  std::vector<const PlannedRunnable*> all;
  all.reserve(runnables_.size());
  for (const auto* entry : sorted(runnables_)) {
    all.push_back(&entry->second);
  }
  std::sort(all.begin(), all.end(),
            [](const auto* left, const auto* right) { return left->order < right->order; });
  return all;
}

Payload RunProjection::context_with(const Payload& result) const {
  struct Item {
    std::string_view name;
    std::string_view value;
  };
  std::vector<Item> items(context_.size());
  for (const auto& [name, placed] : context_) {
    items[placed.first] = {name, placed.second.view()};
  }
  std::map<std::string, std::size_t> added;
  each_member(result, [&](const std::string& name, std::string_view value) {
    if (const auto known = context_.find(name); known != context_.end()) {
      items[known->second.first].value = value;
      return;
    }
    const auto [place, fresh] = added.emplace(name, items.size());
    if (fresh) {
      items.push_back({place->first, value});
    } else {
      items[place->second].value = value;
    }
  });
  std::string out = "{";
  for (const Item& item : items) {
    out += out.size() == 1 ? "\"" : ",\"";
    out += item.name;
    out += "\":";
    out += item.value;
  }
  return Payload::trusted(out + "}");
}

}  // namespace holdfast
