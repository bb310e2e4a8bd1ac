#include "runs/engine/live_queues.h"

#include <algorithm>

#include "runs/dispatch/dispatch_effects.h"
#include "runs/engine/stored_payloads.h"

namespace holdfast {

DispatchProjection& LiveQueues::get(const SharedText& name) {
  auto& known = queues_[name];
  if (known == nullptr) {
    known = std::make_unique<DispatchProjection>(name);
    known->set_undo(&undo_);
    names_.push_back(name);
  }
  return *known;
}

DispatchProjection* LiveQueues::find(const RunId& run, std::string_view runnable_key) const {
  DispatchProjection* found = nullptr;
  for_each_of(run, [&](DispatchProjection& queue) {
    HOLDFAST_ASSERT(queue.find_run(run) != nullptr);  // E5
    // Always the same one, should another writer have put the key into two queues.
    if (queue.find(runnable_key) != nullptr &&
        (found == nullptr || queue.queue() < found->queue())) {
      found = &queue;
    }
  });
  return found != nullptr ? found : find(runnable_key);
}

DispatchProjection* LiveQueues::find(std::string_view runnable_key) const {
  for (const auto& [name, queue] : queues_) {
    if (queue->find(runnable_key) != nullptr) {
      return queue.get();
    }
  }
  return nullptr;
}

std::size_t LiveQueues::attempt_count() const {
  std::size_t count = 0;
  for (const auto& [name, queue] : queues_) {
    count += queue->attempt_count();
  }
  return count;
}

void LiveQueues::index(const RunId& run, DispatchProjection& queue) {
  const auto [first, last] = by_run_.equal_range(run);
  if (std::any_of(first, last, [&](const auto& known) { return known.second == &queue; })) {
    return;
  }
  by_run_.emplace(run, &queue);
  undo_.add([this, run, &queue] { unindex(run, queue); });
}

void LiveQueues::unindex(const RunId& run, const DispatchProjection& queue) {
  const auto [first, last] = by_run_.equal_range(run);
  const auto known =
      std::find_if(first, last, [&](const auto& entry) { return entry.second == &queue; });
  if (known != last) {
    by_run_.erase(known);
  }
}

// What an accepted fact means for the index and for payloads that are too large for memory. The
// notes are undone together with the fact: the mark that follows belongs to both.
class LiveQueues::TakeFact : public DispatchEffects {
 public:
  TakeFact(LiveQueues& queues, DispatchProjection& queue, Revision seq)
      : queues_(queues), queue_(queue), seq_(seq) {}

  void run_known(const RunId& run) { queues_.index(run, queue_); }
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
    return false;
  }
  TakeFact take(*this, queue, seq);
  visit_effects(fact, take);
  return true;
}

void LiveQueues::end_run(DispatchProjection& queue, const RunId& run) {
  queue.end_run(run);
  index(run, queue);
}

void LiveQueues::forget_run(const RunId& run) {
  for_each_of(run, [&](DispatchProjection& queue) {
    queue.set_undo(nullptr);
    queue.forget_run(run);
    queue.set_undo(&undo_);
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
    queue->set_undo(&undo_);
    names_.push_back(name);
    for (const auto& [run, known] : queue->known_runs()) {
      by_run_.emplace(run, queue.get());
    }
  }
}

}  // namespace holdfast
