#include "runs/lease_backends/memory_lease_backend.h"

#include <algorithm>
#include <utility>

namespace holdfast {

using std::chrono::milliseconds;

MemoryLeases::Queue& MemoryLeases::queue(std::string_view name) {
  const auto known = queues_.find(name);
  Queue& queue = known != queues_.end() ? known->second : queues_[std::string(name)];
  if (queue.epoch.empty()) {
    queue.epoch = "life " + std::to_string(lives_);
  }
  return queue;
}

void MemoryLeases::add_signal(Queue& queue, LeaseSignal signal) {
  signal.reference = std::to_string(++next_);
  queue.signals.emplace(next_, std::move(signal));
  changed_.notify_all();
}

void MemoryLeases::make_ready(Queue& queue, Item& item) {
  item.state = Item::State::ready;
  item.receipt.clear();
  queue.ready.push_back(item.item.id);
  changed_.notify_all();
}

// One more delivery, unless there were too many.
void MemoryLeases::take_back(Queue& queue, Item& item) {
  ++item.taken;
  if (options_.max_deliveries > 0 && item.taken >= options_.max_deliveries) {
    item.state = Item::State::dead;
    LeaseSignal signal;
    signal.kind = SignalKind::dead_letter;
    signal.item_id = item.item.id;
    add_signal(queue, std::move(signal));
    return;
  }
  make_ready(queue, item);
}

void MemoryLeases::expire(Queue& queue) {
  const Instant now = now_();
  const milliseconds limit(static_cast<std::int64_t>(options_.redeliver_ms));
  for (auto& [id, item] : queue.items) {
    if (item.state == Item::State::delivered && now - item.last_seen >= limit) {
      take_back(queue, item);
    }
  }
}

std::optional<Delivery> MemoryLeases::next_delivery(Queue& queue) {
  while (!queue.ready.empty()) {
    const auto found = queue.items.find(queue.ready.front());
    queue.ready.pop_front();
    if (found == queue.items.end() || found->second.state != Item::State::ready) {
      continue;
    }
    Item& item = found->second;
    item.state = Item::State::delivered;
    item.receipt = std::to_string(++next_);
    item.last_seen = now_();
    return Delivery{item.item, item.receipt};
  }
  return std::nullopt;
}

void MemoryLeases::lose_everything() {
  const std::scoped_lock lock(mutex_);
  queues_.clear();
  ++lives_;
}

void MemoryLeases::set_reachable(Reachable reachable) {
  const std::scoped_lock lock(mutex_);
  reachable_ = reachable == Reachable::yes;
  changed_.notify_all();
}

class MemoryLeaseBackend final : public LeaseBackend {
 public:
  explicit MemoryLeaseBackend(std::shared_ptr<MemoryLeases> shared) : shared_(std::move(shared)) {}

  Result<std::string> epoch(std::string_view queue) override {
    return with(queue, [](Queue& known) -> Result<std::string> { return known.epoch; });
  }
  Result<std::vector<Enqueued>> enqueue(std::string_view queue, std::span<const WorkItem> items,
                                        EnqueueMode mode, std::int64_t now_ms) override {
    return with(queue, [&](Queue& known) -> Result<std::vector<Enqueued>> {
      std::vector<Enqueued> results;
      for (const WorkItem& item : items) {
        results.push_back(put(known, item, mode, now_ms));
      }
      return results;
    });
  }
  Result<void> remove(std::string_view queue, std::span<const std::string> ids) override {
    return with(queue, [&](Queue& known) -> Result<void> {
      for (const std::string& id : ids) {
        known.items.erase(id);
      }
      return {};
    });
  }
  Result<LeaseTick> tick(std::string_view queue, std::int64_t now_ms) override {
    return with(queue, [&](Queue& known) -> Result<LeaseTick> {
      for (auto& [id, item] : known.items) {
        if (item.state == Item::State::delayed && item.item.visible_at_ms <= now_ms) {
          shared_->make_ready(known, item);
        }
      }
      shared_->expire(known);
      return counted(known);
    });
  }
  Result<std::vector<LeaseSignal>> receive(std::string_view queue, std::size_t most,
                                           milliseconds wait) override {
    std::unique_lock lock(shared_->mutex_);
    const auto end = shared_->now_() + wait;
    for (;;) {
      if (!shared_->reachable_) {
        return unavailable();
      }
      std::vector<LeaseSignal> found = take_signals(shared_->queue(queue), most);
      if (!found.empty() || shared_->now_() >= end) {
        return found;
      }
      shared_->changed_.wait_until(lock, end);
    }
  }
  Result<void> acknowledge(std::string_view queue,
                           std::span<const std::string> references) override {
    return with(queue, [&](Queue& known) -> Result<void> {
      for (const std::string& reference : references) {
        const std::uint64_t number = std::stoull(reference);
        known.signals.erase(number);
        known.received.erase(number);
      }
      return {};
    });
  }
  Result<void> answer(std::string_view queue, std::span<const LeaseAnswer> answers) override {
    return with(queue, [&](Queue& known) -> Result<void> {
      for (const LeaseAnswer& one : answers) {
        known.answers[one.claim_id].push_back(one);
      }
      shared_->changed_.notify_all();
      return {};
    });
  }

  Result<std::optional<Delivery>> claim(std::string_view queue, std::string_view worker,
                                        std::string_view claim_id, std::string_view token,
                                        milliseconds wait) override {
    std::unique_lock lock(shared_->mutex_);
    const auto end = shared_->now_() + wait;
    for (;;) {
      if (!shared_->reachable_) {
        return unavailable();
      }
      Queue& known = shared_->queue(queue);
      if (auto delivery = shared_->next_delivery(known)) {
        LeaseSignal signal;
        signal.kind = SignalKind::claim;
        signal.item_id = delivery->item.id;
        signal.worker = worker;
        signal.claim_id = claim_id;
        signal.token = token;
        shared_->add_signal(known, std::move(signal));
        return delivery;
      }
      if (shared_->now_() >= end) {
        return std::optional<Delivery>();
      }
      shared_->changed_.wait_until(lock, end);
    }
  }
  Result<std::optional<LeaseAnswer>> await_answer(std::string_view queue, const LeaseClaim& claim,
                                                  milliseconds wait) override {
    std::unique_lock lock(shared_->mutex_);
    const auto end = shared_->now_() + wait;
    for (;;) {
      if (!shared_->reachable_) {
        return unavailable();
      }
      auto found = take_answer(shared_->queue(queue), claim.claim_id);
      if (found.has_value() || shared_->now_() >= end) {
        return found;
      }
      shared_->changed_.wait_until(lock, end);
    }
  }
  Result<std::optional<LeaseAnswer>> heartbeat(std::string_view queue, const LeaseClaim& claim,
                                               std::string_view progress) override {
    return with(queue, [&](Queue& known) -> Result<std::optional<LeaseAnswer>> {
      const auto found = known.items.find(claim.item_id);
      if (found != known.items.end() && found->second.receipt == claim.receipt) {
        found->second.last_seen = shared_->now_();
      }
      shared_->add_signal(known, signal_of(claim, SignalKind::heartbeat, progress, 0));
      return take_answer(known, claim.claim_id);
    });
  }
  Result<void> end(std::string_view queue, const LeaseClaim& claim, SignalKind how,
                   std::string_view body, std::int64_t delay_ms) override {
    return with(queue, [&](Queue& known) -> Result<void> {
      shared_->add_signal(known, signal_of(claim, how, body, delay_ms));
      return {};
    });
  }
  [[nodiscard]] std::string name() const override { return "memory"; }

 private:
  using Queue = MemoryLeases::Queue;
  using Item = MemoryLeases::Item;

  static Error unavailable() {
    return Error{ErrorCode::unavailable, "the backend in memory cannot be reached"};
  }

  template <typename Action>
  auto with(std::string_view queue, Action action) -> decltype(action(std::declval<Queue&>())) {
    const std::scoped_lock lock(shared_->mutex_);
    if (!shared_->reachable_) {
      return unavailable();
    }
    return action(shared_->queue(queue));
  }

  Enqueued put(Queue& queue, const WorkItem& item, EnqueueMode mode, std::int64_t now_ms) {
    const auto found = queue.items.find(item.id);
    if (found != queue.items.end()) {
      if (found->second.state == Item::State::dead) {
        return Enqueued::dead_lettered;
      }
      if (mode == EnqueueMode::ensure) {
        return Enqueued::present;
      }
    }
    Item& kept = queue.items[item.id];
    kept.item = item;
    kept.receipt.clear();
    if (mode == EnqueueMode::redeliver && found != queue.items.end()) {
      shared_->take_back(queue, kept);
    } else if (item.visible_at_ms > now_ms) {
      kept.state = Item::State::delayed;
    } else {
      shared_->make_ready(queue, kept);
    }
    return kept.state == Item::State::dead ? Enqueued::dead_lettered : Enqueued::added;
  }

  static LeaseTick counted(const Queue& queue) {
    LeaseTick tick;
    for (const auto& [id, item] : queue.items) {
      switch (item.state) {
        case Item::State::delayed:
          ++tick.delayed;
          tick.next_visible_at_ms =
              std::min(tick.next_visible_at_ms.value_or(INT64_MAX), item.item.visible_at_ms);
          break;
        case Item::State::ready:
          ++tick.ready;
          break;
        case Item::State::delivered:
          ++tick.delivered;
          break;
        case Item::State::dead:
          ++tick.dead_letters;
          break;
      }
    }
    return tick;
  }

  // Those that no handle holds. A handle that is gone has put its signals back.
  std::vector<LeaseSignal> take_signals(Queue& queue, std::size_t most) {
    std::vector<LeaseSignal> found;
    for (const auto& [number, signal] : queue.signals) {
      if (found.size() < most && queue.received.insert(number).second) {
        found.push_back(signal);
        held_[queue.epoch].insert(number);
      }
    }
    return found;
  }

  static std::optional<LeaseAnswer> take_answer(Queue& queue, const std::string& claim_id) {
    const auto waiting = queue.answers.find(claim_id);
    if (waiting == queue.answers.end()) {
      return std::nullopt;
    }
    LeaseAnswer first = std::move(waiting->second.front());
    waiting->second.pop_front();
    if (waiting->second.empty()) {
      queue.answers.erase(waiting);
    }
    return first;
  }

  static LeaseSignal signal_of(const LeaseClaim& claim, SignalKind kind, std::string_view body,
                               std::int64_t delay_ms) {
    LeaseSignal signal;
    signal.kind = kind;
    signal.item_id = claim.item_id;
    signal.worker = claim.worker;
    signal.claim_id = claim.claim_id;
    signal.token = claim.token;
    signal.body = body;
    signal.delay_ms = delay_ms;
    return signal;
  }

  std::shared_ptr<MemoryLeases> shared_;
  std::map<std::string, std::set<std::uint64_t>> held_;  // signals, by the life of the backend

 public:
  ~MemoryLeaseBackend() override {
    const std::scoped_lock lock(shared_->mutex_);
    for (auto& [name, queue] : shared_->queues_) {
      for (const std::uint64_t number : held_[queue.epoch]) {
        queue.received.erase(number);
      }
    }
    shared_->changed_.notify_all();
  }
  MemoryLeaseBackend(const MemoryLeaseBackend&) = delete;
  MemoryLeaseBackend& operator=(const MemoryLeaseBackend&) = delete;
};

std::unique_ptr<LeaseBackend> MemoryLeases::open(const std::shared_ptr<MemoryLeases>& leases) {
  return std::make_unique<MemoryLeaseBackend>(leases);
}

OpenLeaseBackend memory_lease_backend(const LeaseBackendOptions& options) {
  return [leases =
              std::make_shared<MemoryLeases>(options)]() -> Result<std::unique_ptr<LeaseBackend>> {
    return MemoryLeases::open(leases);
  };
}

}  // namespace holdfast
