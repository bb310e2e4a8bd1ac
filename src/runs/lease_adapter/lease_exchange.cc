#include "runs/lease_adapter/lease_exchange.h"

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

LeaseExchange::LeaseExchange(LeaseEngine& engine, SharedText queue,
                             std::function<void()> work_added)
    : engine_(engine), queue_(std::move(queue)), work_added_(std::move(work_added)) {
  health_.queue = queue_.str();
}

template <typename T>
Result<T> LeaseExchange::execute(std::function<Result<T>(Turn&)> decide) {
  std::optional<Result<T>> decided;
  HOLDFAST_CHECK(engine_.execute([&](Turn& turn) -> Result<void> {
    decided.emplace(decide(turn));
    return decided->ok() ? Result<void>() : Result<void>(decided->error());
  }));
  HOLDFAST_ASSERT(decided.has_value());
  return *std::move(decided);
}

void LeaseExchange::wake(const std::vector<SharedText>& keys) {
  {
    const Lock lock(mutex_);
    outbox_.added.insert(outbox_.added.end(), keys.begin(), keys.end());
  }
  work_added_();
}

void LeaseExchange::request_scan() {
  {
    const Lock lock(mutex_);
    scan_requested_ = true;
  }
  work_added_();
}

LeaseHealth LeaseExchange::health() {
  const Lock lock(mutex_);
  return health_;
}

std::map<SharedText, KnownItem> LeaseExchange::items_of(const RunId& run) {
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

void LeaseExchange::failed(const Error& why, milliseconds pause) {
  const Lock lock(mutex_);
  const TimeMs now = engine_.now();
  health_.why = why;
  health_.unreachable_since = health_.unreachable_since.value_or(now);
  health_.next_try_at = TimeMs{now.value + pause.count()};
  // Whatever the backend has lost meanwhile is ensured again.
  for (auto& [key, item] : known_) {
    item.ensured_at.reset();
  }
  scan_requested_ = true;
}

void LeaseExchange::reached(const LeaseTick& tick) {
  const Lock lock(mutex_);
  health_.tick = tick;
  if (health_.why.has_value() && was_reached_) {
    ++health_.reconnects;
  }
  was_reached_ = true;
  health_.why.reset();
  health_.unreachable_since.reset();
  health_.next_try_at.reset();
}

void LeaseExchange::check_epoch(const std::string& epoch) {
  const Lock lock(mutex_);
  if (epoch_ != epoch) {
    epoch_ = epoch;
    for (auto& [key, item] : known_) {
      item = KnownItem{};
    }
    scan_requested_ = true;
  }
}

milliseconds LeaseExchange::until_next_send() {
  const Lock lock(mutex_);
  if (scan_requested_ || !outbox_.added.empty() || !outbox_.take_back.empty()) {
    return milliseconds(0);
  }
  milliseconds wait = known_.empty() ? kTickIdle : kTickBusy;
  const TimeMs now = engine_.now();
  const auto until = [&](std::optional<std::int64_t> at_ms) {
    if (at_ms.has_value()) {
      wait = std::min(wait, milliseconds(std::max<std::int64_t>(1, *at_ms - now.value)));
    }
  };
  if (health_.tick.has_value()) {
    until(health_.tick->next_visible_at_ms);
  }
  until(next_lease_end_.has_value() ? std::optional(next_lease_end_->value) : std::nullopt);
  return wait;
}

Result<void> LeaseExchange::send_round(LeaseBackend& backend) {
  {
    const Lock lock(mutex_);
    health_.backend = backend.name();
  }
  HOLDFAST_TRY(const std::string epoch, backend.epoch(queue_.view()));
  check_epoch(epoch);
  Outbox outbox;
  bool scan_due = false;
  {
    const Lock lock(mutex_);
    outbox = std::exchange(outbox_, {});
    const TimeMs now = engine_.now();
    const bool lease_ended = next_lease_end_.has_value() && *next_lease_end_ <= now;
    scan_due = scan_requested_ || lease_ended || engine_.elapsed() >= next_scan_;
    scan_requested_ = false;
  }
  const Result<void> sent = send_outbox(backend, outbox);
  if (!sent.ok()) {
    // The workers that gave items back are not waited for.
    const Lock lock(mutex_);
    outbox_.added.insert(outbox_.added.end(), outbox.added.begin(), outbox.added.end());
    outbox_.take_back.insert(outbox.take_back.begin(), outbox.take_back.end());
    return sent;
  }
  if (scan_due) {
    HOLDFAST_CHECK(scan(backend));
  }
  HOLDFAST_TRY(const LeaseTick tick, backend.tick(queue_.view(), engine_.now().value));
  reached(tick);
  return {};
}

Result<void> LeaseExchange::send_outbox(LeaseBackend& backend, const Outbox& outbox) {
  std::vector<ItemPlan::Put> returned;
  for (const auto& [key, put] : outbox.take_back) {
    returned.push_back(put);
  }
  HOLDFAST_CHECK(put(backend, returned));
  if (outbox.added.empty()) {
    return {};
  }
  HOLDFAST_TRY(const auto live, execute<std::vector<LiveItem>>(
                                    [this, &outbox](Turn& turn) -> Result<std::vector<LiveItem>> {
                                      return live_items(turn, queue_, outbox.added);
                                    }));
  ItemPlan plan;
  {
    const Lock lock(mutex_);
    plan = plan_puts(live, known_, engine_.now());
  }
  return put(backend, plan.puts);
}

// Compares everything that is pending in the journal with what the backend is known to have.
Result<void> LeaseExchange::scan(LeaseBackend& backend) {
  const milliseconds begin = engine_.elapsed();
  HOLDFAST_TRY(const auto live,
               execute<std::vector<LiveItem>>([this](Turn& turn) -> Result<std::vector<LiveItem>> {
                 return live_items(turn, queue_);
               }));
  ItemPlan plan;
  {
    const Lock lock(mutex_);
    plan = plan_items(live, known_, engine_.now());
    next_lease_end_ = plan.next_at;
  }
  HOLDFAST_CHECK(put(backend, plan.puts));
  HOLDFAST_CHECK(remove(backend, plan.removes));
  const milliseconds now = engine_.elapsed();
  const Lock lock(mutex_);
  next_scan_ = now + std::max(kBetweenScans, (now - begin) * kScanShare);
  return {};
}

Result<void> LeaseExchange::put(LeaseBackend& backend, const std::vector<ItemPlan::Put>& puts) {
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

Result<void> LeaseExchange::put_some(LeaseBackend& backend, const std::vector<ItemPlan::Put>& puts,
                                     EnqueueMode mode) {
  if (puts.empty()) {
    return {};
  }
  std::map<SharedText, const ItemPlan::Put*> put_of;
  std::vector<SharedText> keys;
  for (const ItemPlan::Put& one : puts) {
    put_of[one.key] = &one;
    keys.push_back(one.key);
  }
  HOLDFAST_TRY(auto found, execute<std::vector<Assignment>>(
                               [this, &keys](Turn& turn) { return offers(turn, queue_, keys); }));
  std::vector<WorkItem> items;
  for (Assignment& offer : found) {
    const TimeMs at = put_of[offer.runnable_key]->visible_at;
    HOLDFAST_TRY(WorkItem item, item_of(engine_.journal(), std::move(offer), at));
    items.push_back(std::move(item));
  }
  if (items.empty()) {
    return {};
  }
  const TimeMs now = engine_.now();
  HOLDFAST_TRY(const auto results, backend.enqueue(queue_.view(), items, mode, now.value));
  HOLDFAST_ASSERT(results.size() == items.size());
  std::vector<std::string> dead;
  {
    const Lock lock(mutex_);
    for (std::size_t i = 0; i < items.size(); ++i) {
      const ItemPlan::Put& put = *put_of[SharedText(items[i].id)];
      KnownItem& known = known_[put.key];
      known.ensured_at = now;
      if (mode != EnqueueMode::ensure) {
        known.held_back = put.held_back;
        known.taken_back_at_lease = put.visible_at;
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
Result<void> LeaseExchange::fail_dead_letters(LeaseBackend& backend,
                                              const std::vector<std::string>& ids) {
  std::vector<LeaseSignal> signals;
  for (const std::string& id : ids) {
    LeaseSignal& signal = signals.emplace_back();
    signal.kind = SignalKind::dead_letter;
    signal.item_id = id;
  }
  return signals.empty() ? Result<void>() : handle(backend, signals);
}

Result<void> LeaseExchange::remove(LeaseBackend& backend, const std::vector<SharedText>& keys) {
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

Result<void> LeaseExchange::receive_round(LeaseBackend& backend) {
  HOLDFAST_TRY(const auto signals, backend.receive(queue_.view(), kSignalsAtOnce, kReceiveWait));
  return handle(backend, signals);
}

// The facts first, then the answers, then the acknowledgement: a crash in between repeats a signal,
// which the rules recognise.
Result<void> LeaseExchange::handle(LeaseBackend& backend, const std::vector<LeaseSignal>& signals) {
  if (signals.empty()) {
    return {};
  }
  const EngineApplicant engine = [this] { return engine_.applicant(); };
  HOLDFAST_TRY(const auto outcomes, execute<std::vector<SignalOutcome>>([&](Turn& turn) {
                 return carry_out(turn, queue_, signals, engine);
               }));
  HOLDFAST_ASSERT(outcomes.size() == signals.size());
  std::vector<LeaseAnswer> answers;
  std::vector<std::string> references;
  std::vector<SharedText> removed;
  bool added = false;
  for (std::size_t i = 0; i < signals.size(); ++i) {
    added = note(signals[i], outcomes[i]) || added;
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
  if (added) {
    work_added_();
  }
  HOLDFAST_CHECK(backend.answer(queue_.view(), answers));
  HOLDFAST_CHECK(remove(backend, removed));
  return backend.acknowledge(queue_.view(), references);
}

bool LeaseExchange::note(const LeaseSignal& signal, const SignalOutcome& outcome) {
  const SharedText key(signal.item_id);
  const Lock lock(mutex_);
  if (outcome.action == SignalAction::claim || outcome.action == SignalAction::claim_extend ||
      outcome.action == SignalAction::grant_again) {
    const auto known = known_.find(key);
    if (known != known_.end()) {
      known->second.delivered_to = signal.worker;
      known->second.delivered_at = engine_.now();
      known->second.held_back = false;
    }
    // The end of the new lease may come before the next scan.
    scan_requested_ = scan_requested_ || !next_lease_end_.has_value();
  }
  if (outcome.visible_at.has_value()) {
    outbox_.take_back.insert_or_assign(
        key, ItemPlan::Put{key, EnqueueMode::replace, *outcome.visible_at, outcome.held_back});
  }
  return outcome.visible_at.has_value();
}

}  // namespace holdfast
