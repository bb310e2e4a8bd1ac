#include "runs/lease_adapter/lease_adapter.h"

#include <algorithm>

namespace holdfast {

namespace {

using std::chrono::milliseconds;

constexpr std::size_t kSignalsAtOnce = 200;
constexpr std::size_t kItemsAtOnce = 200;
// How long a stop may take.
constexpr milliseconds kReceiveWait{250};
// How often the backend is given the time, with and without items.
constexpr milliseconds kTickBusy{200};
constexpr milliseconds kTickIdle{1000};
// The journal is compared with the backend this often, unless that takes long.
constexpr milliseconds kBetweenScans{5000};
constexpr int kScanShare = 100;

std::vector<std::string> texts_of(const std::vector<SharedText>& keys) {
  std::vector<std::string> texts;
  for (const SharedText& key : keys) {
    texts.push_back(key.str());
  }
  return texts;
}

}  // namespace

LeaseAdapter::LeaseAdapter(Loop& loop, SharedText queue, OpenLeaseBackend open)
    : loop_(loop), queue_(std::move(queue)), open_(std::move(open)) {
  health_.queue = queue_.str();
}

Result<void> LeaseAdapter::start() {
  return threads_.start(
      std::vector<std::function<void()>>{[this] { send_all(); }, [this] { receive_all(); }});
}

void LeaseAdapter::stop() {
  {
    const Lock lock(mutex_);
    stopping_ = true;
    wakes_.notify_all();
  }
  threads_.join();
}

bool LeaseAdapter::stopping() {
  const Lock lock(mutex_);
  return stopping_;
}

void LeaseAdapter::wake(const std::vector<SharedText>& keys) {
  const Lock lock(mutex_);
  outbox_.added.insert(outbox_.added.end(), keys.begin(), keys.end());
  wakes_.notify_all();
}

LeaseHealth LeaseAdapter::health() {
  const Lock lock(mutex_);
  return health_;
}

std::map<SharedText, KnownItem> LeaseAdapter::items_of(const RunId& run) {
  const std::string prefix = to_string(run) + ":";
  std::map<SharedText, KnownItem> found;
  const Lock lock(mutex_);
  for (auto item = known_.lower_bound(prefix);
       item != known_.end() && item->first.view().starts_with(prefix); ++item) {
    found.insert(*item);
  }
  for (const SharedText& key : outbox_.added) {
    if (key.view().starts_with(prefix)) {
      found.try_emplace(key);  // not sent yet
    }
  }
  return found;
}

bool LeaseAdapter::pause_after(const Error& why, milliseconds pause) {
  Lock lock(mutex_);
  const TimeMs now = loop_.clock().now();
  health_.why = why;
  health_.unreachable_since = health_.unreachable_since.value_or(now);
  health_.next_try_at = TimeMs{now.value + pause.count()};
  // Whatever the backend has lost meanwhile is ensured again.
  for (auto& [key, item] : known_) {
    item.ensured_at.reset();
  }
  scan_requested_ = true;
  wakes_.wait_for(lock, pause, [this] { return stopping_; });
  return !stopping_;
}

void LeaseAdapter::reached() {
  const Lock lock(mutex_);
  if (health_.why.has_value() && was_reached_) {
    ++health_.reconnects;
  }
  was_reached_ = true;
  health_.why.reset();
  health_.unreachable_since.reset();
  health_.next_try_at.reset();
}

void LeaseAdapter::check_epoch(const std::string& epoch) {
  const Lock lock(mutex_);
  if (epoch_ != epoch) {
    epoch_ = epoch;
    for (auto& [key, item] : known_) {
      item = KnownItem{};
    }
    scan_requested_ = true;
  }
}

void LeaseAdapter::send_all() {
  RetryPause pause(loop_.random());
  std::unique_ptr<LeaseBackend> backend;
  while (!stopping()) {
    Result<void> sent;
    if (backend == nullptr) {
      auto opened = open_();
      if (opened.ok()) {
        backend = std::move(opened).value();
        const Lock lock(mutex_);
        health_.backend = backend->name();
      } else {
        sent = opened.error();
      }
    }
    if (sent.ok()) {
      sent = send_once(*backend);
    }
    if (!sent.ok()) {
      // Another handle: this one may hold on to a broken connection.
      backend.reset();
      if (!pause_after(sent.error(), pause.next())) {
        return;
      }
      continue;
    }
    pause.reset();
    reached();
    wait_for_work();
  }
}

void LeaseAdapter::wait_for_work() {
  Lock lock(mutex_);
  milliseconds wait = known_.empty() ? kTickIdle : kTickBusy;
  const TimeMs now = loop_.clock().now();
  const auto until = [&](std::optional<std::int64_t> at_ms) {
    if (at_ms.has_value()) {
      wait = std::min(wait, milliseconds(std::max<std::int64_t>(1, *at_ms - now.value)));
    }
  };
  if (health_.tick.has_value()) {
    until(health_.tick->next_visible_at_ms);
  }
  until(next_lease_end_.has_value() ? std::optional(next_lease_end_->value) : std::nullopt);
  wakes_.wait_for(lock, wait, [this] {
    return stopping_ || scan_requested_ || !outbox_.added.empty() || !outbox_.take_back.empty() ||
           !outbox_.remove.empty();
  });
}

Result<void> LeaseAdapter::send_once(LeaseBackend& backend) {
  HOLDFAST_TRY(const std::string epoch, backend.epoch(queue_.view()));
  check_epoch(epoch);
  Outbox outbox;
  bool scan_due = false;
  {
    const Lock lock(mutex_);
    outbox = std::exchange(outbox_, {});
    const TimeMs now = loop_.clock().now();
    const bool lease_ended = next_lease_end_.has_value() && *next_lease_end_ <= now;
    scan_due = scan_requested_ || lease_ended || SteadyClock::now() >= next_scan_;
    scan_requested_ = false;
  }
  const Result<void> sent = send_outbox(backend, outbox);
  if (!sent.ok()) {
    // Removals are left to the next scan; the workers that gave items back are not waited for.
    const Lock lock(mutex_);
    outbox_.added.insert(outbox_.added.end(), outbox.added.begin(), outbox.added.end());
    outbox_.take_back.insert(outbox.take_back.begin(), outbox.take_back.end());
    return sent;
  }
  if (scan_due) {
    HOLDFAST_CHECK(scan(backend));
  }
  HOLDFAST_TRY(const LeaseTick tick, backend.tick(queue_.view(), loop_.clock().now().value));
  const Lock lock(mutex_);
  health_.tick = tick;
  return {};
}

Result<void> LeaseAdapter::send_outbox(LeaseBackend& backend, const Outbox& outbox) {
  HOLDFAST_CHECK(remove(backend, outbox.remove));
  std::vector<ItemPlan::Put> returned;
  for (const auto& [key, visible_at] : outbox.take_back) {
    returned.push_back({key, EnqueueMode::replace, visible_at});
  }
  HOLDFAST_CHECK(put(backend, returned));
  if (outbox.added.empty()) {
    return {};
  }
  HOLDFAST_TRY(const auto live, loop_.execute<std::vector<LiveItem>>(
                                    [this, &outbox](Turn& turn) -> Result<std::vector<LiveItem>> {
                                      return live_items(turn, queue_, outbox.added);
                                    },
                                    Patience::unbounded));
  ItemPlan plan;
  {
    const Lock lock(mutex_);
    plan = plan_puts(live, known_, loop_.clock().now());
  }
  return put(backend, plan.puts);
}

// Compares everything that is pending in the journal with what the backend is known to have.
Result<void> LeaseAdapter::scan(LeaseBackend& backend) {
  const auto begin = SteadyClock::now();
  HOLDFAST_TRY(const auto live, loop_.execute<std::vector<LiveItem>>(
                                    [this](Turn& turn) -> Result<std::vector<LiveItem>> {
                                      return live_items(turn, queue_);
                                    },
                                    Patience::unbounded));
  ItemPlan plan;
  {
    const Lock lock(mutex_);
    plan = plan_items(live, known_, loop_.clock().now());
    next_lease_end_ = plan.next_at;
  }
  HOLDFAST_CHECK(put(backend, plan.puts));
  HOLDFAST_CHECK(remove(backend, plan.removes));
  const auto now = SteadyClock::now();
  const Lock lock(mutex_);
  next_scan_ = now + std::max<SteadyClock::duration>(kBetweenScans, (now - begin) * kScanShare);
  return {};
}

Result<void> LeaseAdapter::put(LeaseBackend& backend, const std::vector<ItemPlan::Put>& puts) {
  for (const EnqueueMode mode :
       {EnqueueMode::replace, EnqueueMode::redeliver, EnqueueMode::ensure}) {
    std::vector<ItemPlan::Put> some;
    for (const ItemPlan::Put& one : puts) {
      if (one.mode == mode) {
        some.push_back(one);
      }
      if (some.size() == kItemsAtOnce) {
        HOLDFAST_CHECK(put_some(backend, std::exchange(some, {}), mode));
      }
    }
    HOLDFAST_CHECK(put_some(backend, some, mode));
  }
  return {};
}

Result<void> LeaseAdapter::put_some(LeaseBackend& backend, const std::vector<ItemPlan::Put>& puts,
                                    EnqueueMode mode) {
  if (puts.empty()) {
    return {};
  }
  std::map<SharedText, TimeMs> visible_at;
  std::vector<SharedText> keys;
  for (const ItemPlan::Put& one : puts) {
    visible_at[one.key] = one.visible_at;
    keys.push_back(one.key);
  }
  HOLDFAST_TRY(auto found, loop_.execute<std::vector<Assignment>>(
                               [this, &keys](Turn& turn) { return offers(turn, queue_, keys); },
                               Patience::unbounded));
  std::vector<WorkItem> items;
  for (Assignment& offer : found) {
    const TimeMs at = visible_at[offer.runnable_key];
    HOLDFAST_TRY(WorkItem item, item_of(loop_.journal(), std::move(offer), at));
    items.push_back(std::move(item));
  }
  if (items.empty()) {
    return {};
  }
  const TimeMs now = loop_.clock().now();
  HOLDFAST_TRY(const auto results, backend.enqueue(queue_.view(), items, mode, now.value));
  HOLDFAST_ASSERT(results.size() == items.size());
  std::vector<std::string> dead;
  {
    const Lock lock(mutex_);
    for (std::size_t i = 0; i < items.size(); ++i) {
      KnownItem& known = known_[SharedText(items[i].id)];
      known.ensured_at = now;
      if (mode != EnqueueMode::ensure) {
        known.taken_back_at_lease = visible_at[SharedText(items[i].id)];
        known.delivered_at.reset();
        known.delivered_to.clear();
      }
      if (results[i] == Enqueued::dead_lettered) {
        known.dead_letter = true;
        dead.push_back(items[i].id);
      }
    }
  }
  return fail_dead_letters(backend, dead);
}

// The signal about a dead letter may have been lost, or have come while a worker held the attempt.
Result<void> LeaseAdapter::fail_dead_letters(LeaseBackend& backend,
                                             const std::vector<std::string>& ids) {
  std::vector<LeaseSignal> signals;
  for (const std::string& id : ids) {
    LeaseSignal& signal = signals.emplace_back();
    signal.kind = SignalKind::dead_letter;
    signal.item_id = id;
  }
  return signals.empty() ? Result<void>() : handle(backend, signals);
}

Result<void> LeaseAdapter::remove(LeaseBackend& backend, const std::vector<SharedText>& keys) {
  if (keys.empty()) {
    return {};
  }
  HOLDFAST_CHECK(backend.remove(queue_.view(), texts_of(keys)));
  const Lock lock(mutex_);
  for (const SharedText& key : keys) {
    known_.erase(key);
  }
  return {};
}

void LeaseAdapter::receive_all() {
  RetryPause pause(loop_.random());
  std::unique_ptr<LeaseBackend> backend;
  while (!stopping()) {
    Result<void> handled;
    if (backend == nullptr) {
      auto opened = open_();
      if (opened.ok()) {
        backend = std::move(opened).value();
      } else {
        handled = opened.error();
      }
    }
    if (handled.ok()) {
      const auto signals = backend->receive(queue_.view(), kSignalsAtOnce, kReceiveWait);
      handled = signals.ok() ? handle(*backend, signals.value()) : Result<void>(signals.error());
    }
    if (handled.ok()) {
      pause.reset();
      continue;
    }
    // Signals that were not acknowledged are received again, by another handle.
    backend.reset();
    if (!pause_after(handled.error(), pause.next())) {
      return;
    }
  }
}

Result<std::vector<SignalOutcome>> LeaseAdapter::decide(const std::vector<LeaseSignal>& signals) {
  const EngineApplicant engine = [this] { return loop_.new_applicant(Skills{}); };
  return loop_.execute<std::vector<SignalOutcome>>(
      [&](Turn& turn) { return carry_out(turn, queue_, signals, engine); }, Patience::unbounded);
}

// The facts first, then the answers, then the acknowledgement: a crash in between repeats a signal,
// which the rules recognise.
Result<void> LeaseAdapter::handle(LeaseBackend& backend, const std::vector<LeaseSignal>& signals) {
  if (signals.empty()) {
    return {};
  }
  HOLDFAST_TRY(const auto outcomes, decide(signals));
  HOLDFAST_ASSERT(outcomes.size() == signals.size());
  std::vector<LeaseAnswer> answers;
  std::vector<std::string> references;
  std::vector<SharedText> removed;
  for (std::size_t i = 0; i < signals.size(); ++i) {
    note(signals[i], outcomes[i]);
    if (outcomes[i].answer.has_value() && !signals[i].claim_id.empty()) {
      answers.push_back(*outcomes[i].answer);
    }
    if (outcomes[i].remove) {
      removed.emplace_back(signals[i].item_id);
    }
    if (!signals[i].reference.empty()) {
      references.push_back(signals[i].reference);
    }
  }
  HOLDFAST_CHECK(backend.answer(queue_.view(), answers));
  HOLDFAST_CHECK(remove(backend, removed));
  return backend.acknowledge(queue_.view(), references);
}

void LeaseAdapter::note(const LeaseSignal& signal, const SignalOutcome& outcome) {
  const SharedText key(signal.item_id);
  const Lock lock(mutex_);
  if (outcome.action == SignalAction::claim || outcome.action == SignalAction::claim_extend ||
      outcome.action == SignalAction::grant_again) {
    const auto known = known_.find(key);
    if (known != known_.end()) {
      known->second.delivered_to = signal.worker;
      known->second.delivered_at = loop_.clock().now();
    }
    // The end of the new lease may come before the next scan.
    scan_requested_ = scan_requested_ || !next_lease_end_.has_value();
  }
  if (outcome.visible_at.has_value()) {
    outbox_.take_back[key] = *outcome.visible_at;
    wakes_.notify_all();
  }
}

}  // namespace holdfast
