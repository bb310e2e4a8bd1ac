#include "runs/engine/live_state.h"

#include "runs/engine/stored_payloads.h"
#include "storage/journal/journal_history.h"

namespace holdfast {

namespace {

constexpr std::string_view kRunPrefix = "run:";
constexpr std::string_view kDispatchPrefix = "dispatch:";
constexpr std::string_view kDefinitionPrefix = "definition:";
constexpr std::string_view kWorkflowPrefix = "workflow:";
constexpr std::string_view kTokensThread = "access:tokens";

}  // namespace

ThreadId live_checkpoint_name() {
  auto thread = ThreadId::parse("engine:live");
  return std::move(thread).value();
}

SharedText schedule_name(std::string_view workflow, std::string_view trigger) {
  return SharedText(std::string(workflow) + "/" + std::string(trigger));
}

std::uint64_t& EndedCounts::of(TerminalStatus status) {
  switch (status) {
    case TerminalStatus::completed:
      return completed;
    case TerminalStatus::failed:
      return failed;
    case TerminalStatus::cancelled:
      return cancelled;
    case TerminalStatus::continued:
      break;
  }
  return continued;
}

LiveState::LiveState(Journal& journal, Definitions& definitions, const MemoryLimits& limits)
    : journal_(&journal), known_(&definitions), limits_(limits) {}

DispatchProjection& LiveState::queue(const SharedText& name) {
  auto& known = queues_[name];
  if (known == nullptr) {
    known = std::make_unique<DispatchProjection>(name);
    known->set_undo(&undo_);
    queue_names_.push_back(name);
  }
  return *known;
}

DispatchProjection* LiveState::queue_of(std::string_view runnable_key) {
  for (const auto& [name, queue] : queues_) {
    if (queue->find(runnable_key) != nullptr) {
      return queue.get();
    }
  }
  return nullptr;
}

const RunProjection* LiveState::find_durable(const RunId& id) const {
  const auto cached = cache_.find(id);
  const bool durable = cached != cache_.end() && cached->second.touched <= undo_.oldest();
  return durable ? cached->second.projection.get() : nullptr;
}

Result<bool> LiveState::run_exists(const RunId& id) {
  const auto cached = cache_.find(id);
  if (live_.contains(id) ||
      (cached != cache_.end() && cached->second.projection->revision() > Revision{0})) {
    return true;
  }
  HOLDFAST_TRY(const Revision revision, journal_->revision(run_thread(id)));
  return revision > Revision{0};
}

Result<std::unique_ptr<RunProjection>> LiveState::load(const RunId& id) {
  auto projection = std::make_unique<RunProjection>(id);
  HOLDFAST_TRY(const auto entries, journal_->load(run_thread(id)));
  for (const Entry& entry : entries) {
    if (!horizon_.has_value() || entry.position <= *horizon_) {
      projection->fold(entry);
    }
  }
  if (projection->revision() == Revision{0}) {
    return Error{ErrorCode::run_not_found, "there is no run " + to_string(id)}.with("run_id",
                                                                                    to_string(id));
  }
  HOLDFAST_CHECK(attach_definition(*projection));
  return projection;
}

// As far as the definition is known here.
Result<void> LiveState::attach_definition(RunProjection& projection) {
  const auto& started = projection.started();
  if (projection.definition() != nullptr || !started.has_value() ||
      started->definition_fingerprint.empty()) {
    return {};
  }
  auto definition = known_->pinned(started->definition_fingerprint);
  if (definition.ok()) {
    projection.attach(std::move(definition).value());
    return {};
  }
  return definition.error().code() == ErrorCode::unknown_workflow
             ? Result<void>()
             : Result<void>(std::move(definition).error());
}

RunProjection& LiveState::keep(const RunId& id, std::unique_ptr<RunProjection> projection) {
  projection->set_undo(&undo_);
  Cached& cached = cache_[id];
  cached.projection = std::move(projection);
  cached.used = true;
  weigh(cached);
  cache_order_.push_back(id);
  return *cached.projection;
}

// What the facts say is kept about twice: as it was said, and in the context or in the indexes.
void LiveState::weigh(Cached& cached) {
  constexpr std::size_t kEmptyRun = 1024;
  constexpr std::size_t kRunnable = 512;
  const RunProjection& run = *cached.projection;
  const std::size_t weight = kEmptyRun + kRunnable * run.runnable_count() + 2 * run.fact_bytes();
  cached_weight_ += weight - cached.weight;
  cached.weight = weight;
}

void LiveState::uncache(const RunId& id) {
  const auto found = cache_.find(id);
  if (found != cache_.end()) {
    cached_weight_ -= found->second.weight;
    cache_.erase(found);
  }
}

Result<RunProjection*> LiveState::run(const RunId& id) {
  const auto found = cache_.find(id);
  // Without entries it is what is left of a start that was taken back.
  if (found != cache_.end() && found->second.projection->revision() > Revision{0}) {
    found->second.used = true;
    HOLDFAST_CHECK(attach_definition(*found->second.projection));
    return found->second.projection.get();
  }
  HOLDFAST_TRY(auto projection, load(id));
  return &keep(id, std::move(projection));
}

// What is left of a start that was taken back knows a definition that may not be the one.
RunProjection& LiveState::new_run(const RunId& id) {
  uncache(id);
  return keep(id, std::make_unique<RunProjection>(id));
}

void LiveState::trim() {
  drop_durable_payloads();
  trim_cache();
}

void LiveState::drop_durable_payloads() {
  while (!large_.empty() && large_.front().mark <= undo_.oldest()) {
    const LargePayload& large = large_.front();
    DispatchProjection& known = queue(large.queue);
    if (large.part == LargePayload::Part::input) {
      known.drop_input(large.runnable_key.view(), large.seq);
    } else {
      known.drop_outcome(large.runnable_key.view(), large.seq);
    }
    large_.pop_front();
  }
}

// Undone with the fact: the next mark is that of both.
void LiveState::note_large(const SharedText& queue, Revision seq, const DispatchFact& fact) {
  const auto is_large = [&](const Payload& payload) {
    return payload.view().size() > limits_.payload_bytes;
  };
  const auto note = [&](const SharedText& key, LargePayload::Part part) {
    push_back(&undo_, large_, LargePayload{queue, key, part, seq, undo_.mark() + 1});
  };
  if (const auto* scheduled = std::get_if<AttemptScheduled>(&fact)) {
    if (is_large(scheduled->input)) {
      note(scheduled->runnable_key, LargePayload::Part::input);
    }
  } else if (const auto* completed = std::get_if<AttemptCompleted>(&fact)) {
    if (is_large(completed->result) || is_large(completed->execution_opts) ||
        is_large(completed->details)) {
      note(completed->runnable_key, LargePayload::Part::outcome);
    }
  } else if (const auto* failed = std::get_if<AttemptFailed>(&fact)) {
    if (is_large(failed->error)) {
      note(failed->runnable_key, LargePayload::Part::outcome);
    }
  }
}

Result<void> LiveState::read_outcome(const SharedText& queue, Outcome& outcome) {
  return holdfast::read_outcome(*journal_, queue, outcome);
}

void LiveState::trim_cache() {
  std::size_t looks = cache_order_.size();
  while (cached_weight_ > limits_.cached_bytes && looks-- > 0) {
    const RunId id = cache_order_.front();
    cache_order_.pop_front();
    const auto found = cache_.find(id);
    if (found == cache_.end()) {
      continue;
    }
    if (found->second.used || found->second.touched > undo_.oldest()) {
      found->second.used = false;
      cache_order_.push_back(id);
      continue;
    }
    uncache(id);
  }
}

void LiveState::note(TimeMs at, const RunFact& fact) {
  const RunId id = std::visit([](const auto& known) { return known.run_id; }, fact);
  Cached& cached = cache_.find(id)->second;
  cached.used = true;
  observe(at, fact, Origin::own);
  cached.touched = undo_.mark();
  weigh(cached);
}

void LiveState::evolve(const SharedText& name, TimeMs at, const DispatchFact& fact) {
  DispatchProjection& known = queue(name);
  const std::size_t anomalies = known.anomalies().size();
  const Revision seq = known.revision();
  known.evolve(at, fact);
  if (known.anomalies().size() == anomalies) {
    note_large(name, seq, fact);
  }
}

void LiveState::note_definition(const SharedText& fingerprint) {
  if (definitions_stored_.insert(fingerprint).second) {
    undo_.add([this, fingerprint] { definitions_stored_.erase(fingerprint); });
  }
}

SharedText LiveState::current_workflow(const SharedText& workflow) const {
  const auto found = workflows_.find(workflow);
  return found == workflows_.end() ? SharedText() : found->second.fingerprint;
}

void LiveState::set_current_workflow(const SharedText& workflow,
                                     const RegisteredWorkflow& registered) {
  undo_.add([this] { ++workflow_changes_; });
  ++workflow_changes_;
  erase(&undo_, workflows_, workflow);
  insert(&undo_, workflows_, workflow, registered);
}

void LiveState::set_schedule(const SharedText& name, const ScheduleState& schedule) {
  undo_.add([this] { ++workflow_changes_; });
  ++workflow_changes_;
  erase(&undo_, schedules_, name);
  insert(&undo_, schedules_, name, schedule);
}

void LiveState::start(const RunId& run) {
  if (live_.insert(run).second) {
    undo_.add([this, run] { live_.erase(run); });
  }
}

template <typename Map>
void LiveState::erase_with_prefix(Map& pending, std::string_view prefix) {
  for (auto entry = pending.lower_bound(SharedText(prefix));
       entry != pending.end() && entry->first.view().starts_with(prefix);) {
    const SharedText key = entry->first;
    ++entry;
    erase(&undo_, pending, key);
  }
}

// From now on nothing of the run can be claimed or reported, and nothing has to be scheduled.
void LiveState::end(const RunId& run) {
  erase_with_prefix(pending_recovery_.unscheduled, to_string(run) + ":");
  for (auto wait = manual_waits_.lower_bound({run, SharedText()});
       wait != manual_waits_.end() && wait->first.first == run;) {
    const auto key = wait->first;
    ++wait;
    erase(&undo_, manual_waits_, key);
  }
  for (const auto& [name, queue] : queues_) {
    if (queue->find_run(run) == nullptr) {
      continue;
    }
    queue->end_run(run);
    if (!pending_recovery_.empty()) {
      for (const Attempt* attempt : queue->attempts_of(run)) {
        erase(&undo_, pending_recovery_.unapplied, attempt->runnable_key);
        erase(&undo_, pending_recovery_.unprogressed, attempt->runnable_key);
      }
    }
  }
}

void LiveState::forget(const RunId& run) {
  for (const auto& [name, queue] : queues_) {
    queue->set_undo(nullptr);
    queue->forget_run(run);
    queue->set_undo(&undo_);
  }
  live_.erase(run);
  // The next group may have changed it again, which can still be undone.
  if (find_durable(run) != nullptr) {
    uncache(run);
  }
}

void LiveState::observe(TimeMs at, const RunFact& fact, Origin origin) {
  if (const auto* started = std::get_if<RunStarted>(&fact)) {
    start(started->run_id);
    erase(&undo_, pending_recovery_.children, started->run_id);
  } else if (const auto* applied = std::get_if<RunnableApplied>(&fact)) {
    if (DispatchProjection* queue = queue_of(applied->runnable_key.view())) {
      queue->evolve(at, ResultApplied{applied->run_id, applied->runnable_key,
                                      !applied->transition.empty(), false});
    }
    erase(&undo_, pending_recovery_.unapplied, applied->runnable_key);
    erase(&undo_, pending_recovery_.unprogressed, applied->runnable_key);
  } else if (const auto* withdrawn = std::get_if<RunnablesWithdrawn>(&fact)) {
    for (const SharedText& key : withdrawn->runnable_keys) {
      withdraw(at, withdrawn->run_id, key);
    }
  } else if (const auto* terminal = std::get_if<RunTerminal>(&fact)) {
    std::uint64_t& count = ended_counts_.of(terminal->status);
    save(&undo_, count);
    ++count;
    end(terminal->run_id);
    if (origin == Origin::stored) {
      ended_.insert(terminal->run_id);
    }
  } else if (const auto* paused = std::get_if<ManualStepPaused>(&fact)) {
    erase(&undo_, manual_waits_, {paused->run_id, paused->step});
    insert(&undo_, manual_waits_, {paused->run_id, paused->step}, at);
  } else if (const auto* resolved = std::get_if<ManualStepResolved>(&fact)) {
    erase(&undo_, manual_waits_, {resolved->run_id, resolved->step});
  } else if (const auto* child = std::get_if<ChildRunStarted>(&fact)) {
    // Recovery looks whether the child is there; this process starts both in one commit.
    if (origin == Origin::stored) {
      pending_recovery_.children.emplace(child->child_run_id, *child);
    }
  } else if (const auto* planned = std::get_if<RunnablesPlanned>(&fact)) {
    for (const Runnable& runnable : planned->runnables) {
      if (origin == Origin::stored && !runnable.is_internal() &&
          queue_of(runnable.runnable_key.view()) == nullptr) {
        pending_recovery_.unscheduled.emplace(runnable.runnable_key, planned->run_id);
      }
      if (runnable.attempt_number > 1) {
        // Also when it was put off before it failed: <key>:deferred, <key>:deferred:2, ...
        const SharedText failed =
            runnable_key(planned->run_id, runnable.step.view(), runnable.attempt_number - 1);
        erase(&undo_, pending_recovery_.unprogressed, failed);
        erase_with_prefix(pending_recovery_.unprogressed, failed.str() + ":");
      }
    }
  }
}

// Nobody claims it any more, and what is reported about it does not count.
void LiveState::withdraw(TimeMs at, const RunId& run, const SharedText& key) {
  DispatchProjection* queue = queue_of(key.view());
  if (queue != nullptr && !queue->find(key.view())->ended()) {
    queue->evolve(at, ResultApplied{run, key, false, true});
  }
  erase(&undo_, pending_recovery_.unscheduled, key);
  erase(&undo_, pending_recovery_.unapplied, key);
  erase(&undo_, pending_recovery_.unprogressed, key);
}

void LiveState::observe(const SharedText& queue, const DispatchFact& fact) {
  if (const auto* scheduled = std::get_if<AttemptScheduled>(&fact)) {
    pending_recovery_.unscheduled.erase(scheduled->runnable_key);
  } else if (const auto* completed = std::get_if<AttemptCompleted>(&fact)) {
    pending_recovery_.unapplied.emplace(completed->runnable_key, queue);
  } else if (const auto* failed = std::get_if<AttemptFailed>(&fact)) {
    pending_recovery_.unprogressed.emplace(failed->runnable_key, queue);
    pending_recovery_.unscheduled.erase(failed->retry_runnable_key);
  }
}

Result<void> LiveState::restore() {
  HOLDFAST_TRY(const auto stored,
               journal_->find_checkpoint(live_checkpoint_name(), kLiveCheckpointVersion));
  // Damaged, or of another history: it is only a cache.
  return stored.has_value() ? decode(stored->data) : Result<void>();
}

Result<std::size_t> LiveState::read_up_to(Position last) {
  std::size_t entries = 0;
  History history(journal_->log(), position_.next());
  while (position_ < last) {
    HOLDFAST_TRY(const auto batches, history.next());
    HOLDFAST_ASSERT(!batches.empty());
    for (const Batch& batch : batches) {
      if (batch.position <= last) {
        HOLDFAST_TRY(const std::size_t folded, fold(batch));
        entries += folded;
      }
    }
  }
  return entries;
}

Result<std::size_t> LiveState::fold(const Batch& batch) {
  HOLDFAST_ASSERT(batch.position == position_.next());
  BodyScanner scanner(batch.position, batch.body);
  for (;;) {
    HOLDFAST_TRY(const auto entry, scanner.next());
    if (!entry.has_value()) {
      break;
    }
    HOLDFAST_CHECK(fold_entry(*entry, EntryLocation{batch.position, scanner.count() - 1}));
  }
  position_ = batch.position;
  undo_.keep_until(undo_.mark());
  drop_durable_payloads();
  for (const RunId& run : std::exchange(ended_, {})) {
    forget(run);
  }
  return scanner.count();
}

Result<void> LiveState::fold_entry(const EntryView& entry, const EntryLocation& location) {
  if (entry.thread.starts_with(kDispatchPrefix)) {
    return fold_dispatch_entry(SharedText(entry.thread.substr(kDispatchPrefix.size())), entry,
                               location);
  }
  if (entry.thread.starts_with(kDefinitionPrefix)) {
    definitions_stored_.insert(SharedText(entry.thread.substr(kDefinitionPrefix.size())));
    return {};
  }
  if (entry.thread.starts_with(kWorkflowPrefix)) {
    fold_workflow_entry(entry);
    return {};
  }
  if (entry.thread == kTokensThread) {
    tokens_.fold(entry);
    return {};
  }
  if (entry.thread.starts_with(kRunPrefix)) {
    const auto run = parse_run_id(entry.thread.substr(kRunPrefix.size()));
    // Threads that only look like runs belong to somebody else.
    return run.ok() ? fold_run_entry(run.value(), entry, location) : Result<void>();
  }
  return {};
}

void LiveState::fold_workflow_entry(const EntryView& entry) {
  if (entry.kind == WorkflowRegistered::kKind) {
    const auto fact = from_json<WorkflowRegistered>(entry.data);
    if (fact.ok()) {
      workflows_[fact.value().workflow] = {fact.value().fingerprint, entry.at};
      ++workflow_changes_;
    }
    return;
  }
  const bool paused = entry.kind == SchedulePaused::kKind;
  if (paused || entry.kind == ScheduleResumed::kKind) {
    const auto fact = from_json<ScheduleChange>(entry.data);
    if (fact.ok()) {
      const ScheduleChange& change = fact.value();
      schedules_[schedule_name(change.workflow.view(), change.trigger.view())] = {paused, entry.at,
                                                                                  change.actor};
      ++workflow_changes_;
    }
  }
}

// Whether the run had ended when an entry was written. Live runs have not; of the others only the
// entries before that location count, so that everybody who folds the log comes to the same answer.
Result<bool> LiveState::had_ended(const RunId& run, const EntryLocation& location) {
  if (ended_.contains(run)) {
    return true;
  }
  if (live_.contains(run)) {
    return false;
  }
  HOLDFAST_TRY(const auto entries, journal_->load(run_thread(run)));
  RunProjection before(run);
  for (const Entry& entry : entries) {
    if (std::pair(entry.position, entry.index) < std::pair(location.position, location.index)) {
      before.fold(entry);
    }
  }
  return before.is_terminal();
}

Result<void> LiveState::fold_run_entry(const RunId& run, const EntryView& entry,
                                       const EntryLocation& location) {
  // Somebody else has started it: see new_run.
  if (entry.seq == Revision{0}) {
    uncache(run);
  }
  const auto cached = cache_.find(run);
  // The journal may have known more than this fold when the run was loaded.
  if (cached != cache_.end() && cached->second.projection->revision() == entry.seq) {
    cached->second.projection->fold(entry);
  }
  const auto fact = run_fact(entry.kind, entry.data);
  const bool about_this_run =
      fact.ok() && std::visit([&](const auto& known) { return known.run_id == run; }, fact.value());
  // A run begins with its first two entries; what comes later to a run that is not live comes to
  // one that has ended.
  if (about_this_run && entry.seq > Revision{1}) {
    HOLDFAST_TRY(const bool ended, had_ended(run, location));
    if (ended) {
      return {};
    }
  }
  if (about_this_run) {
    observe(entry.at, fact.value(), Origin::stored);
  }
  return {};
}

Result<void> LiveState::fold_dispatch_entry(const SharedText& name, const EntryView& entry,
                                            const EntryLocation& location) {
  DispatchProjection& known = queue(name);
  known.set_revision(entry.seq);
  const auto fact = dispatch_fact(entry.kind, entry.data);
  if (!fact.ok()) {
    known.fold(entry);
    return {};
  }
  const auto* scheduled = std::get_if<AttemptScheduled>(&fact.value());
  if (scheduled != nullptr && !live_.contains(scheduled->run_id)) {
    HOLDFAST_TRY(const bool ended, had_ended(scheduled->run_id, location));
    if (ended) {
      known.end_run(scheduled->run_id);
      ended_.insert(scheduled->run_id);
    }
  }
  const std::size_t anomalies = known.anomalies().size();
  evolve(name, entry.at, fact.value());
  if (known.anomalies().size() == anomalies) {
    observe(name, fact.value());
  }
  return {};
}

}  // namespace holdfast
