#include "runs/engine/live_state.h"

#include "runs/dispatch/dispatch_effects.h"
#include "runs/run/run_effects.h"
#include "storage/journal/journal_history.h"

namespace holdfast {

namespace {

constexpr std::string_view kRunPrefix = "run:";
constexpr std::string_view kDispatchPrefix = "dispatch:";

// The run of a fact that schedules an attempt; empty for every other fact.
struct ScheduledRun : DispatchEffects {
  void scheduled(const AttemptScheduled& fact) { run = fact.run_id; }

  std::optional<RunId> run = std::nullopt;
};

}  // namespace

ThreadId live_checkpoint_name() {
  auto thread = ThreadId::parse("engine:live");
  return std::move(thread).value();
}

LiveState::LiveState(Journal& journal, Definitions& definitions, const MemoryLimits& limits)
    : journal_(journal),
      runs_(journal, definitions, undo_, limits.cached_bytes),
      queues_(journal, undo_, limits.payload_bytes),
      registry_(undo_) {}

void LiveState::set_position(Position position) {
  HOLDFAST_ASSERT(position == position_.next());  // E2
  position_ = position;
}

void LiveState::trim(const LiveRuns::Evicted& evicted) {
  queues_.trim();
  runs_.trim(evicted);
}

void LiveState::forget(const RunId& run) {
  queues_.forget_run(run);
  runs_.forget(run);
}

void LiveState::note(TimeMs at, const RunFact& fact) {
  observe(at, fact, Origin::own);
  runs_.touch(std::visit([](const auto& known) { return known.run_id; }, fact));
}

// What a fact of a run means for the runs, the queues and recovery.
class LiveState::TakeRunFact : public RunEffects {
 public:
  TakeRunFact(LiveState& state, TimeMs at, Origin origin)
      : state_(state), pending_(state.pending_recovery_), at_(at), origin_(origin) {}

  void started(const RunStarted& fact) {
    state_.runs_.start(fact.run_id);
    erase(&state_.undo_, pending_.children, fact.run_id);
  }
  void attempt_closed(const ResultApplied& closed) {
    if (DispatchProjection* queue =
            state_.queues_.find(closed.run_id, closed.runnable_key.view())) {
      close_attempt(*queue, at_, closed);
    }
    if (closed.withdrawn) {
      pending_.withdraw(state_.undo_, closed.runnable_key);
    } else {
      pending_.settle(state_.undo_, closed.runnable_key);
    }
  }
  void planned(const RunnablesPlanned& fact) {
    for (const Runnable& runnable : fact.runnables) {
      if (origin_ == Origin::stored && !runnable.is_internal() &&
          state_.queues_.find(fact.run_id, runnable.runnable_key.view()) == nullptr) {
        pending_.unscheduled.emplace(runnable.runnable_key, fact.run_id);
      }
      pending_.retry(state_.undo_, fact.run_id, runnable);
    }
  }
  // This process starts a child in the commit that links it.
  void child_linked(const ChildRunStarted& fact) {
    if (origin_ == Origin::stored) {
      pending_.children.emplace(fact.child_run_id, fact);
    }
  }
  void manual_wait_opened(const ManualStepPaused& fact) {
    if (fact.kind == ManualKind::parked) {
      pending_.settle(state_.undo_, fact.runnable_key);
      state_.runs_.add_letter({fact.queue, at_, fact.run_id, fact.step}, {fact.runnable_key});
      return;
    }
    state_.runs_.open_manual_wait(fact.run_id, fact.step, at_);
  }
  void manual_wait_closed(const ManualStepResolved& fact) {
    state_.runs_.close_manual_wait(fact.run_id, fact.step);
    state_.runs_.remove_letter(fact.run_id, fact.step);
  }
  void dead_letter_resolved(const DeadLetterResolved& fact) {
    state_.runs_.remove_exhausted(fact.run_id, fact.runnable_key);
  }
  void ended(const RunTerminal& fact) {
    state_.end_run(at_, fact);
    if (origin_ == Origin::stored) {
      state_.ended_.insert(fact.run_id);
    }
  }

 private:
  LiveState& state_;
  PendingRecovery& pending_;
  TimeMs at_;
  Origin origin_;
};

void LiveState::observe(TimeMs at, const RunFact& fact, Origin origin) {
  TakeRunFact take(*this, at, origin);
  visit_effects(fact, take);
}

// From now on nothing of the run can be claimed or reported, and nothing has to be scheduled.
void LiveState::end_run(TimeMs at, const RunTerminal& fact) {
  const RunId& run = fact.run_id;
  runs_.end(run, fact.status, at, fact.exhausted);
  pending_recovery_.end_run(undo_, run);
  queues_.for_each_of(run, [&](DispatchProjection& queue) {
    queue.end_run(run);
    if (!pending_recovery_.empty()) {
      for (const Attempt* attempt : queue.attempts_of(run)) {
        pending_recovery_.settle(undo_, attempt->runnable_key);
      }
    }
  });
}

Result<void> LiveState::restore() {
  HOLDFAST_TRY(const auto stored,
               journal_.find_checkpoint(live_checkpoint_name(), kLiveCheckpointVersion));
  // One that is damaged or of another history is ignored: it is only a cache.
  return stored.has_value() ? decode(stored->data) : Result<void>();
}

Result<std::size_t> LiveState::read_up_to(Position last) {
  std::size_t entries = 0;
  History history(journal_.log(), position_.next());
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
  HOLDFAST_ASSERT(batch.position == position_.next());  // E2
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
  queues_.trim();
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
  if (entry.thread.starts_with(kRunPrefix)) {
    // A thread whose name is not a run id is not one of the engine's.
    const auto run = parse_run_id(entry.thread.substr(kRunPrefix.size()));
    return run.ok() ? fold_run_entry(run.value(), entry, location) : Result<void>();
  }
  registry_.fold(entry);
  return {};
}

// Whether the run had ended when an entry was written. Live runs have not. Of the others only the
// entries before that location count, so that every process that folds the log gets the same
// answer.
Result<bool> LiveState::had_ended(const RunId& run, const EntryLocation& location) {
  if (ended_.contains(run)) {
    return true;
  }
  if (runs_.is_live(run)) {
    return false;
  }
  HOLDFAST_TRY(const auto entries, journal_.load(run_thread(run)));
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
  runs_.fold(run, entry);
  const auto fact = run_fact(entry.kind, entry.data);
  const bool about_this_run =
      fact.ok() && std::visit([&](const auto& known) { return known.run_id == run; }, fact.value());
  // Of a run that has ended; the index knows whether it is about its dead letter.
  if (about_this_run && std::holds_alternative<DeadLetterResolved>(fact.value())) {
    observe(entry.at, fact.value(), Origin::stored);
    return {};
  }
  // A run begins with its first two entries; a later entry of a run that is not live is one of a
  // run that has ended.
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

// What a stored dispatch fact leaves to recovery.
class LiveState::TakeDispatchFact : public DispatchEffects {
 public:
  TakeDispatchFact(PendingRecovery& pending, const SharedText& queue)
      : pending_(pending), queue_(queue) {}

  void attempt_added(const SharedText& runnable_key) { pending_.unscheduled.erase(runnable_key); }
  void completed(const AttemptCompleted& fact) {
    pending_.unapplied.emplace(fact.runnable_key, queue_);
  }
  void failed(const AttemptFailed& fact) {
    pending_.unprogressed.emplace(fact.runnable_key, queue_);
  }

 private:
  PendingRecovery& pending_;
  const SharedText& queue_;
};

Result<void> LiveState::fold_dispatch_entry(const SharedText& name, const EntryView& entry,
                                            const EntryLocation& location) {
  DispatchProjection& queue = queues_.get(name);
  queue.set_revision(entry.seq);
  const auto fact = dispatch_fact(entry.kind, entry.data);
  if (!fact.ok()) {
    queue.fold(entry);
    HOLDFAST_ASSERT(queue.revision() == entry.seq.next());  // E9
    return {};
  }
  ScheduledRun scheduled;
  visit_effects(fact.value(), scheduled);
  if (scheduled.run.has_value() && !runs_.is_live(*scheduled.run)) {
    HOLDFAST_TRY(const bool ended, had_ended(*scheduled.run, location));
    if (ended) {
      queues_.end_run(queue, *scheduled.run);
      ended_.insert(*scheduled.run);
    }
  }
  if (queues_.evolve(name, entry.at, fact.value())) {
    TakeDispatchFact take(pending_recovery_, name);
    visit_effects(fact.value(), take);
  }
  HOLDFAST_ASSERT(queue.revision() == entry.seq.next());  // E9
  return {};
}

}  // namespace holdfast
