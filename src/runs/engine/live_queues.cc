#include "runs/engine/live_queues.h"

#include <algorithm>

#include "runs/dispatch/dispatch_effects.h"
#include "runs/engine/stored_payloads.h"

namespace holdfast {

namespace {

// The run whose id the key begins with, as those of this engine do.
std::optional<RunId> run_of_key(std::string_view runnable_key) {
  const auto run = parse_run_id(runnable_key.substr(0, runnable_key.find(':')));
  return run.ok() ? std::optional(run.value()) : std::nullopt;
}

}  // namespace

DispatchProjection& LiveQueues::get(const SharedText& name) {
  auto& known = queues_[name];
  if (known == nullptr) {
    known = std::make_unique<DispatchProjection>(name);
    watch(*known);
  }
  return *known;
}

void LiveQueues::watch(DispatchProjection& queue) {
  queue.set_undo(&undo_);
  queue.set_changed_list(changed_);
}

const QueueIndex& LiveQueues::index() const {
  for (DispatchProjection* queue : changed_) {
    queue->take_from_list();
    const bool carried = !carried_.empty() && carried_.contains(queue->queue());
    index_.update(*queue, carried ? QueueIndex::Ready::none : QueueIndex::Ready::all);
  }
  changed_.clear();
  return index_;
}

DispatchProjection* LiveQueues::find_in(const RunId& run, std::string_view runnable_key) const {
  DispatchProjection* found = nullptr;
  for_each_of(run, [&](DispatchProjection& queue) {
    HOLDFAST_ASSERT(queue.find_run(run) != nullptr);  // E5
    // Always the same one, should another writer have put the key into two queues.
    if (queue.find(runnable_key) != nullptr &&
        (found == nullptr || queue.queue() < found->queue())) {
      found = &queue;
    }
  });
  return found;
}

DispatchProjection* LiveQueues::find(const RunId& run, std::string_view runnable_key) const {
  DispatchProjection* found = find_in(run, runnable_key);
  return found != nullptr ? found : find(runnable_key);
}

DispatchProjection* LiveQueues::find(std::string_view runnable_key) const {
  DispatchProjection* found = nullptr;
  if (const auto run = run_of_key(runnable_key)) {
    found = find_in(*run, runnable_key);
  }
  const auto [first, last] = by_key_.equal_range(runnable_key);
  for (auto known = first; known != last; ++known) {
    DispatchProjection* queue = known->second;
    if (queue->find(runnable_key) != nullptr &&
        (found == nullptr || queue->queue() < found->queue())) {
      found = queue;
    }
  }
  return found;
}

std::vector<const DispatchProjection*> LiveQueues::about(const RunId& run) const {
  std::map<SharedText, const DispatchProjection*> found(anomalous_.begin(), anomalous_.end());
  for_each_of(run, [&](const DispatchProjection& queue) { found.emplace(queue.queue(), &queue); });
  std::vector<const DispatchProjection*> queues;
  for (const auto& [name, queue] : found) {
    queues.push_back(queue);
  }
  return queues;
}

void LiveQueues::advance(TimeMs now) {
  for (auto lease = index().first_lease(); lease.has_value() && lease->at <= now;
       lease = index().first_lease()) {
    lease->queue->advance(now);
  }
}

DispatchProjection* LiveQueues::find_claimable_in(const std::vector<SharedText>& names,
                                                  const std::vector<SharedText>& handlers,
                                                  TimeMs now) {
  for (const SharedText& name : names) {
    const auto known = queues_.find(name);
    if (known == queues_.end()) {
      continue;
    }
    known->second->advance(now);
    if (known->second->next_claimable(handlers, now) != nullptr) {
      return known->second.get();
    }
  }
  return nullptr;
}

DispatchProjection* LiveQueues::find_claimable(const ServedQueues& served,
                                               const std::vector<SharedText>& handlers,
                                               TimeMs now) {
  if (served.has_value()) {
    return find_claimable_in(*served, handlers, now);
  }
  advance(now);
  for (auto first = index().first_ready(handlers); first.has_value() && first->at <= now;
       first = index().first_ready(handlers)) {
    // If the clock was set back, a claim that had expired holds again: then the queue has changed.
    first->queue->advance(now);
    if (first->queue->next_claimable(handlers, now) != nullptr) {
      return first->queue;
    }
  }
  return nullptr;
}

std::optional<TimeMs> LiveQueues::next_claimable_at(const ServedQueues& served,
                                                    const std::vector<SharedText>& handlers,
                                                    TimeMs now) const {
  std::optional<TimeMs> next;
  const auto consider = [&](const std::optional<TimeMs>& at) {
    if (at.has_value() && (!next.has_value() || *at < *next)) {
      next = at;
    }
  };
  if (!served.has_value()) {
    const auto ready = index().first_ready(handlers);
    const auto lease = index().first_lease();
    consider(ready.has_value() ? std::optional(ready->at) : std::nullopt);
    consider(lease.has_value() ? std::optional(lease->at) : std::nullopt);
    return next;
  }
  for (const SharedText& name : *served) {
    if (const auto queue = queues_.find(name); queue != queues_.end()) {
      consider(queue->second->next_change(handlers, now));
    }
  }
  return next;
}

DispatchProjection* LiveQueues::find_due_timer(TimeMs now) {
  static const std::vector<SharedText> timers{SharedText(kTimerHandler)};
  advance(now);
  for (auto first = index().first_timer(); first.has_value() && first->at <= now;
       first = index().first_timer()) {
    first->queue->advance(now);  // as in find_claimable
    if (first->queue->next_claimable(timers, now) != nullptr) {
      return first->queue;
    }
  }
  return nullptr;
}

DispatchProjection* LiveQueues::find_timed_out(TimeMs now) const {
  const auto first = index().first_timeout();
  return first.has_value() && first->at <= now ? first->queue : nullptr;
}

std::optional<TimeMs> LiveQueues::next_time() const {
  std::optional<TimeMs> next;
  const auto consider = [&](const std::optional<QueueIndex::Due>& due) {
    if (due.has_value() && (!next.has_value() || due->at < *next)) {
      next = due->at;
    }
  };
  consider(index().first_timer());
  consider(index().first_lease());
  consider(index().first_timeout());
  return next;
}

void LiveQueues::put_off_timeout(DispatchProjection& queue, const SharedText& runnable_key) {
  queue.put_off_timeout(runnable_key);
  put_off_.push_back(&queue);
}

void LiveQueues::resume_timeouts() {
  for (DispatchProjection* queue : std::exchange(put_off_, {})) {
    queue->resume_timeouts();
  }
}

void LiveQueues::add(const RunId& run, DispatchProjection& queue) {
  const auto [first, last] = by_run_.equal_range(run);
  if (std::any_of(first, last, [&](const auto& known) { return known.second == &queue; })) {
    return;
  }
  by_run_.emplace(run, &queue);
  undo_.add([this, run, &queue] { remove(run, queue); });
}

void LiveQueues::remove(const RunId& run, const DispatchProjection& queue) {
  const auto [first, last] = by_run_.equal_range(run);
  const auto known =
      std::find_if(first, last, [&](const auto& entry) { return entry.second == &queue; });
  if (known != last) {
    by_run_.erase(known);
  }
}

// Keys of runs that have ended are dropped when there are as many again.
void LiveQueues::add_key(const SharedText& runnable_key, DispatchProjection& queue) {
  constexpr std::size_t kFew = 64;
  const auto [first, last] = by_key_.equal_range(runnable_key);
  if (std::any_of(first, last, [&](const auto& known) { return known.second == &queue; })) {
    return;
  }
  if (by_key_.size() >= 2 * kept_keys_ + kFew) {
    std::erase_if(by_key_, [](const auto& known) {
      return known.second->find(known.first.view()) == nullptr;
    });
    kept_keys_ = by_key_.size();
  }
  by_key_.emplace(runnable_key, &queue);
}

// What an accepted fact means for the index and for payloads that are too large for memory. The
// notes are undone together with the fact: the mark that follows belongs to both.
class LiveQueues::TakeFact : public DispatchEffects {
 public:
  TakeFact(LiveQueues& queues, DispatchProjection& queue, Revision seq)
      : queues_(queues), queue_(queue), seq_(seq) {}

  void run_known(const RunId& run) { queues_.add(run, queue_); }
  void attempt_added(const SharedText& runnable_key) {
    const Attempt* attempt = queue_.find(runnable_key.view());
    HOLDFAST_ASSERT(attempt != nullptr);
    if (run_of_key(runnable_key.view()) != attempt->run_id) {
      queues_.add_key(runnable_key, queue_);
    }
  }
  void scheduled(const AttemptScheduled& fact) {
    note(fact.runnable_key, LargePayload::Part::input, is_large(fact.input));
  }
  void completed(const AttemptCompleted& fact) {
    note(fact.runnable_key, LargePayload::Part::outcome,
         is_large(fact.result) || is_large(fact.execution_opts) || is_large(fact.details));
  }
  void failed(const AttemptFailed& fact) {
    note(fact.runnable_key, LargePayload::Part::outcome, is_large(fact.error));
  }

 private:
  [[nodiscard]] bool is_large(const Payload& payload) const {
    return payload.view().size() > queues_.payload_bytes_;
  }
  void note(const SharedText& key, LargePayload::Part part, bool large) {
    if (large) {
      UndoLog& undo = queues_.undo_;
      push_back(&undo, queues_.large_,
                LargePayload{queue_.queue(), key, part, seq_, undo.mark() + 1});
    }
  }

  LiveQueues& queues_;
  DispatchProjection& queue_;
  Revision seq_;
};

bool LiveQueues::evolve(const SharedText& name, TimeMs at, const DispatchFact& fact) {
  DispatchProjection& queue = get(name);
  const std::size_t anomalies = queue.anomalies().size();
  const Revision seq = queue.revision();
  queue.evolve(at, fact);
  if (queue.anomalies().size() != anomalies) {
    anomalous_.emplace(name, &queue);
    return false;
  }
  TakeFact take(*this, queue, seq);
  visit_effects(fact, take);
  return true;
}

void LiveQueues::end_run(DispatchProjection& queue, const RunId& run) {
  queue.end_run(run);
  add(run, queue);
}

void LiveQueues::forget_run(const RunId& run) {
  for_each_of(run, [&](DispatchProjection& queue) {
    queue.set_undo(nullptr);
    queue.forget_run(run);
    queue.set_undo(&undo_);
    if (!queue.anomalies().empty()) {
      anomalous_.emplace(queue.queue(), &queue);
    }
  });
  by_run_.erase(run);
}

void LiveQueues::trim() {
  while (!large_.empty() && large_.front().mark <= undo_.oldest()) {
    const LargePayload& large = large_.front();
    DispatchProjection& queue = get(large.queue);
    if (large.part == LargePayload::Part::input) {
      queue.drop_input(large.runnable_key.view(), large.seq);
    } else {
      queue.drop_outcome(large.runnable_key.view(), large.seq);
    }
    large_.pop_front();
  }
}

Result<void> LiveQueues::read_outcome(const SharedText& queue, Outcome& outcome) const {
  return holdfast::read_outcome(journal_, queue, outcome);
}

void LiveQueues::restore(Map queues) {
  HOLDFAST_ASSERT(queues_.empty());
  queues_ = std::move(queues);
  for (const auto& [name, queue] : queues_) {
    watch(*queue);
    for (const auto& [run, known] : queue->known_runs()) {
      by_run_.emplace(run, queue.get());
    }
    for (const Attempt* attempt : queue->attempts()) {
      if (run_of_key(attempt->runnable_key.view()) != attempt->run_id) {
        add_key(attempt->runnable_key, *queue);
      }
    }
    if (!queue->anomalies().empty()) {
      anomalous_.emplace(name, queue.get());
    }
  }
}

}  // namespace holdfast
