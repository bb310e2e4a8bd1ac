#include "runs/dispatch/dispatch_projection.h"

#include <algorithm>
#include <utility>

#include "base/hash.h"
#include "holdfast/assert.h"
#include "runs/facts/retired_kinds.h"

namespace holdfast {

namespace {

// An anomaly carries the identifying fields of the fact that caused it.
template <typename Fact>
Anomaly describe(TimeMs at, const Fact& fact, DispatchReason reason) {
  Anomaly anomaly;
  anomaly.reason = to_text(reason);
  anomaly.entry_type = Fact::kKind;
  anomaly.at = at;
  if constexpr (requires { fact.run_id; }) {
    anomaly.run_id = fact.run_id;
  }
  if constexpr (requires { fact.runnable_key; }) {
    anomaly.runnable_key = fact.runnable_key;
  }
  if constexpr (requires { fact.idempotency_key; }) {
    anomaly.idempotency_key = fact.idempotency_key;
  }
  if constexpr (requires { fact.step; }) {
    anomaly.step = fact.step;
  }
  if constexpr (requires { fact.claim_id; }) {
    anomaly.claim_id = fact.claim_id;
    anomaly.claim_token_hash = to_hex(fact.claim_token_hash);
  }
  return anomaly;
}

// The fact is complete at this point, so only these two faults remain.
template <typename Fact>
SharedText malformed_detail(const Fact& fact, const SharedText& queue) {
  if constexpr (requires { fact.queue; }) {
    if (fact.queue != queue) {
      return "the fact names queue \"" + fact.queue.str() + "\"";
    }
  }
  if constexpr (requires { fact.lease_until; }) {
    return "the lease ends before the claim starts";
  }
  return "the fact does not fit the step of its attempt";
}

}  // namespace

bool Attempt::holds(const SharedText& claim_id, const Digest& token_hash) const {
  const auto bytes = [](const Digest& digest) {
    return std::string_view(reinterpret_cast<const char*>(digest.data()), digest.size());
  };
  return claim && claim->claim_id == claim_id &&
         equal_secrets(bytes(claim->token_hash), bytes(token_hash));
}

std::optional<TimeMs> Attempt::times_out_at() const {
  if (!extras || ended() || applied) {
    return std::nullopt;
  }
  const bool claimed = status == AttemptStatus::claimed;
  const StepTimeouts& timeout = extras->timeout;
  const std::uint64_t limit_ms = claimed ? timeout.start_to_close_ms : timeout.schedule_to_start_ms;
  const TimeMs since = claimed ? claim->claimed_at : visible_at;
  return limit_ms == 0 ? std::nullopt
                       : std::optional(TimeMs{since.value + static_cast<std::int64_t>(limit_ms)});
}

DispatchProjection::DispatchProjection(SharedText queue) : queue_(std::move(queue)) {}

const Attempt* DispatchProjection::find(std::string_view runnable_key) const {
  const auto found = attempts_.find(runnable_key);
  return found == attempts_.end() ? nullptr : &found->second;
}

const QueuedRun* DispatchProjection::find_run(const RunId& id) const {
  const auto found = runs_.find(id);
  return found == runs_.end() ? nullptr : &found->second;
}

void DispatchProjection::evolve(TimeMs at, const DispatchFact& fact) {
  save(undo_, revision_);
  revision_ = revision_.next();
  std::visit([&](const auto& known) { take(at, known); }, fact);
}

void DispatchProjection::evolve(TimeMs at, const ResultApplied& applied) { take(at, applied); }

void DispatchProjection::fold(const EntryView& entry) {
  const auto fact = dispatch_fact(entry.kind, entry.data);
  if (fact.ok()) {
    evolve(entry.at, fact.value());
    return;
  }
  save(undo_, revision_);
  revision_ = revision_.next();
  if (is_retired_kind(entry.kind)) {
    return;
  }
  Anomaly anomaly;
  anomaly.reason = to_text(DispatchReason::malformed_entry);
  anomaly.entry_type = entry.kind;
  anomaly.at = entry.at;
  anomaly.detail = fact.error().text();
  push_back(undo_, anomalies_, std::move(anomaly));
}

template <typename Fact>
void DispatchProjection::take(TimeMs at, const Fact& fact) {
  const Verdict verdict = judge(*this, at, fact);
  switch (verdict.kind) {
    case Verdict::Kind::accept:
      apply(at, fact);
      return;
    case Verdict::Kind::repeat:
      return;
    case Verdict::Kind::refuse: {
      Anomaly anomaly = describe(at, fact, verdict.reason);
      if (verdict.reason == DispatchReason::malformed_entry) {
        anomaly.detail = malformed_detail(fact, queue_);
      }
      push_back(undo_, anomalies_, std::move(anomaly));
      return;
    }
  }
}

QueuedRun& DispatchProjection::run(const RunId& id) {
  const auto found = runs_.find(id);
  return found != runs_.end() ? found->second : insert(undo_, runs_, id, QueuedRun{});
}

QueuedRun& DispatchProjection::edit_run(const RunId& id) {
  QueuedRun& known = run(id);
  save(undo_, known);
  return known;
}

// An idempotency key is the key of the first attempt unless another writer chose it, so its text is
// usually in memory already.
void DispatchProjection::share_key(Attempt& attempt) const {
  const Attempt* first = attempt.idempotency_key == attempt.runnable_key
                             ? &attempt
                             : find(attempt.idempotency_key.view());
  if (first != nullptr) {
    attempt.idempotency_key = first->runnable_key;
  }
}

Attempt& DispatchProjection::add_attempt(Attempt attempt) {
  share_key(attempt);
  QueuedRun& owner = edit_run(attempt.run_id);
  HOLDFAST_ASSERT(!attempts_.contains(attempt.runnable_key));  // D1
  attempt.order = next_order_;
  attempt.next_of_run = owner.first;
  save(undo_, next_order_);
  ++next_order_;
  const SharedText key = attempt.runnable_key;
  Attempt& added = attempts_.emplace(key, std::move(attempt)).first->second;
  owner.first = &added;
  index(added);
  if (undo_ != nullptr) {
    undo_->add([this, key] { remove_attempt(key); });
  }
  return added;
}

void DispatchProjection::remove_attempt(const SharedText& runnable_key) {
  const auto found = attempts_.find(runnable_key);
  unindex(found->second);
  attempts_.erase(found);
}

template <typename Change>
void DispatchProjection::edit(std::string_view runnable_key, Change change) {
  Attempt& attempt = attempts_.find(runnable_key)->second;
  if (undo_ != nullptr) {
    undo_->add([this, key = attempt.runnable_key, old = attempt] { restore(key, old); });
  }
  unindex(attempt);
  const bool had_ended = attempt.ended();
  const AttemptStatus before = attempt.status;
  change(attempt);
  HOLDFAST_ASSERT(!had_ended || attempt.status == before);                     // D2
  HOLDFAST_ASSERT(attempt.status != AttemptStatus::claimed || attempt.claim);  // D3
  HOLDFAST_ASSERT(attempt.ended() == static_cast<bool>(attempt.outcome));      // D4
  index(attempt);
}

void DispatchProjection::restore(const SharedText& runnable_key, const Attempt& old) {
  Attempt& attempt = attempts_.find(runnable_key)->second;
  unindex(attempt);
  // What was dropped meanwhile is durable, so it stays dropped in the restored attempt.
  const Attempt dropped = std::exchange(attempt, old);
  if (dropped.stored_input() != nullptr && attempt.stored_input() == nullptr) {
    (attempt.extras ? *attempt.extras : attempt.extras.emplace()).stored_input =
        *dropped.stored_input();
    attempt.input = Payload();
  }
  if (dropped.outcome && dropped.outcome->stored) {
    attempt.outcome = dropped.outcome;
  }
  attempt.heap_slot = UINT32_MAX;
  attempt.timeout_slot = UINT32_MAX;
  index(attempt);
}

void DispatchProjection::apply(TimeMs /*at*/, const RunQueued& fact) {
  edit_run(fact.run_id).queued = true;
}

void DispatchProjection::apply(TimeMs at, const AttemptScheduled& fact) {
  Attempt attempt;
  attempt.run_id = fact.run_id;
  attempt.runnable_key = fact.runnable_key;
  attempt.idempotency_key = fact.idempotency_key;
  attempt.attempt_number = fact.attempt_number;
  attempt.step = fact.step;
  attempt.handler = fact.handler.empty() ? fact.step : fact.handler;
  attempt.workflow = fact.workflow;
  attempt.input = fact.input;
  attempt.scheduled_at = at;
  attempt.visible_at = fact.visible_at;
  attempt.options = fact.policy.claim;
  attempt.circuit = fact.policy.circuit;
  const AttemptExtras extras{fact.event_wait_timeout, fact.deadline, fact.trace,
                             fact.policy.timeout};
  if (!(extras == AttemptExtras{})) {
    attempt.extras = extras;
  }
  add_attempt(std::move(attempt));
}

void DispatchProjection::apply(TimeMs at, const AttemptClaimed& fact) {
  HOLDFAST_ASSERT(fact.lease_until > at);  // D5
  edit(fact.runnable_key.view(), [&](Attempt& attempt) {
    const bool held = attempt.status == AttemptStatus::claimed && attempt.claim->lease_until > at;
    HOLDFAST_ASSERT(!held && attempt.visible_at <= at);  // D6
    attempt.status = AttemptStatus::claimed;
    const Payload progress = attempt.claim ? attempt.claim->progress : Payload();
    attempt.claim =
        Claim{fact.claim_id, fact.claim_token_hash, fact.owner_id, at, fact.lease_until, progress};
  });
}

void DispatchProjection::apply(TimeMs /*at*/, const AttemptHeartbeat& fact) {
  edit(fact.runnable_key.view(), [&](Attempt& attempt) {
    HOLDFAST_ASSERT(attempt.holds(fact.claim_id, fact.claim_token_hash));  // D7
    attempt.claim->lease_until = fact.lease_until;
    if (!fact.progress.empty()) {
      attempt.claim->progress = fact.progress;
    }
  });
}

void DispatchProjection::apply(TimeMs at, const AttemptCompleted& fact) {
  edit(fact.runnable_key.view(), [&](Attempt& attempt) {
    HOLDFAST_ASSERT(attempt.holds(fact.claim_id, fact.claim_token_hash));  // D7
    attempt.status = AttemptStatus::completed;
    attempt.outcome = Outcome{at, fact.result, {}, fact.execution_opts, fact.details};
    count_success(attempt);
  });
}

void DispatchProjection::apply(TimeMs at, const AttemptFailed& fact) {
  if (!fact.retry_runnable_key.empty() && find(fact.retry_runnable_key.view()) == nullptr) {
    const Attempt& failed = *find(fact.runnable_key.view());
    const AttemptScheduled retry_of = retry_intent(failed, fact);
    HOLDFAST_ASSERT(retry_of.attempt_number == failed.attempt_number + 1);  // D10
    apply(at, retry_of);
    edit(fact.retry_runnable_key.view(), [&](Attempt& retry) {
      retry.status = AttemptStatus::retry_scheduled;
      if (failed.stored_input() != nullptr) {
        (retry.extras ? *retry.extras : retry.extras.emplace()).stored_input =
            *failed.stored_input();
      }
    });
  }
  edit(fact.runnable_key.view(), [&](Attempt& attempt) {
    HOLDFAST_ASSERT(attempt.holds(fact.claim_id, fact.claim_token_hash));  // D7
    attempt.status = AttemptStatus::failed;
    attempt.outcome = Outcome{at, {}, fact.error, {}};
    count_failure(attempt, fact.error);
  });
}

void DispatchProjection::apply(TimeMs /*at*/, const LiveWakeupEmitted& fact) {
  edit(fact.runnable_key.view(), [](Attempt& attempt) { attempt.wakeup_emitted = true; });
}

void DispatchProjection::apply(TimeMs /*at*/, const ResultApplied& fact) {
  edit(fact.runnable_key.view(), [](Attempt& attempt) { attempt.applied = true; });
}

void DispatchProjection::end_run(const RunId& id) {
  change_run(id, [](QueuedRun& known) { known.terminal = true; });
}

template <typename Change>
void DispatchProjection::change_run(const RunId& id, Change change) {
  QueuedRun& known = run(id);
  // Undone last, when the run is restored.
  if (undo_ != nullptr) {
    undo_->add([this, &known] { reindex(known); });
  }
  save(undo_, known);
  change(known);
  reindex(known);
}

void DispatchProjection::forget_run(const RunId& id) {
  const auto found = runs_.find(id);
  if (found == runs_.end()) {
    return;
  }
  for (Attempt* attempt = found->second.first; attempt != nullptr;) {
    HOLDFAST_ASSERT(attempt->run_id == id);  // D9
    Attempt* next = attempt->next_of_run;
    unindex(*attempt);
    const SharedText key = attempt->runnable_key;
    if (undo_ != nullptr) {
      auto node = std::make_shared<decltype(attempts_)::node_type>(attempts_.extract(key));
      undo_->add([this, node] { index(attempts_.insert(std::move(*node)).position->second); });
    } else {
      attempts_.erase(key);
    }
    attempt = next;
  }
  erase(undo_, runs_, id);
}

void DispatchProjection::drop_input(std::string_view runnable_key, Revision seq) {
  const auto found = attempts_.find(runnable_key);
  if (found == attempts_.end() || found->second.input.empty()) {
    return;
  }
  Attempt& attempt = found->second;
  const StoredPayload stored{sha256(attempt.input.view()), seq.value};
  (attempt.extras ? *attempt.extras : attempt.extras.emplace()).stored_input = stored;
  attempt.input = Payload();
}

void DispatchProjection::drop_outcome(std::string_view runnable_key, Revision seq) {
  const auto found = attempts_.find(runnable_key);
  if (found == attempts_.end() || !found->second.outcome || found->second.outcome->stored) {
    return;
  }
  Outcome& outcome = *found->second.outcome;
  const bool failed = found->second.status == AttemptStatus::failed;
  const Payload& compared = failed ? outcome.error : outcome.result;
  Outcome kept;
  kept.at = outcome.at;
  kept.stored = StoredPayload{sha256(compared.view()), seq.value};
  outcome = std::move(kept);
}

bool DispatchProjection::claimable_run(const RunId& id) const {
  const QueuedRun* known = find_run(id);
  return known == nullptr || !known->terminal;
}

// An attempt that can be claimed once its time has come waits in its handler's heap, a claimed
// one in the heap of leases until advance() finds that the lease has expired.
void DispatchProjection::index(Attempt& attempt) {
  note_change();
  HOLDFAST_ASSERT(attempt.heap_slot == UINT32_MAX && attempt.timeout_slot == UINT32_MAX);  // D8
  if (attempt.ended() || attempt.applied || !claimable_run(attempt.run_id)) {
    return;
  }
  if (attempt.times_out_at().has_value()) {
    timeouts_.push(attempt);
  }
  if (attempt.status == AttemptStatus::claimed) {
    leases_.push(attempt);
    attempt.in_leases = true;
  } else {
    heap_of(attempt).push(attempt);
    attempt.in_leases = false;
  }
}

AttemptHeap& DispatchProjection::heap_of(const Attempt& attempt) {
  Bucket& bucket = buckets_[attempt.handler];
  return attempt.circuit.is_set()
             ? bucket.guarded.try_emplace(step_type_of(attempt), AttemptHeap::By::visible_at)
                   .first->second
             : bucket.ready;
}

void DispatchProjection::unindex(Attempt& attempt) {
  note_change();
  if (attempt.timeout_slot != UINT32_MAX) {
    timeouts_.remove(attempt);
  }
  if (attempt.heap_slot == UINT32_MAX) {
    return;
  }
  if (attempt.in_leases) {
    leases_.remove(attempt);
  } else {
    AttemptHeap& heap = heap_of(attempt);
    heap.remove(attempt);
    if (attempt.circuit.is_set() && heap.empty()) {
      buckets_.find(attempt.handler)->second.guarded.erase(step_type_of(attempt));
    }
  }
}

void DispatchProjection::set_changed_list(std::vector<DispatchProjection*>& changed) {
  changed_ = &changed;
  note_change();
}

void DispatchProjection::note_change() {
  if (changed_ != nullptr && !std::exchange(listed_, true)) {
    changed_->push_back(this);
  }
}

void DispatchProjection::reindex(const QueuedRun& known) {
  for (Attempt* attempt = known.first; attempt != nullptr; attempt = attempt->next_of_run) {
    unindex(*attempt);
    index(*attempt);
  }
}

void DispatchProjection::advance(TimeMs now) {
  while (Attempt* attempt = leases_.top()) {
    if (attempt->claim->lease_until > now) {
      break;
    }
    note_change();
    leases_.remove(*attempt);
    heap_of(*attempt).push(*attempt);
    attempt->in_leases = false;
  }
  // The clock was set back: a claim that had expired holds again.
  const auto hold_again = [&](AttemptHeap& heap) {
    for (Attempt* top = heap.top();
         top != nullptr && top->status == AttemptStatus::claimed && top->claim->lease_until > now;
         top = heap.top()) {
      note_change();
      heap.remove(*top);
      leases_.push(*top);
      top->in_leases = true;
    }
  };
  for (auto& [handler, bucket] : buckets_) {
    hold_again(bucket.ready);
    for (auto& [type, heap] : bucket.guarded) {
      hold_again(heap);
    }
  }
}

template <typename Visit>
void DispatchProjection::visit_first(const Bucket& bucket, Visit visit) const {
  if (const Attempt* top = bucket.ready.top()) {
    visit(*top, top->visible_at);
  }
  for (const auto& [type, heap] : bucket.guarded) {
    const Attempt* top = heap.top();
    const auto from = top == nullptr ? std::nullopt : passes_at(type, *top);
    if (from.has_value()) {
      visit(*top, *from);
    }
  }
}

std::optional<TimeMs> DispatchProjection::first_at(const Bucket& bucket) const {
  std::optional<TimeMs> first;
  visit_first(bucket, [&](const Attempt& /*top*/, TimeMs from) {
    first = std::min(first.value_or(from), from);
  });
  return first;
}

const Attempt* DispatchProjection::next_claimable(std::span<const SharedText> handlers,
                                                  TimeMs now) const {
  const Attempt* best = nullptr;
  const auto consider = [&](const Bucket& bucket) {
    visit_first(bucket, [&](const Attempt& top, TimeMs from) {
      if (from <= now && (best == nullptr || std::pair(top.visible_at, top.order) <
                                                 std::pair(best->visible_at, best->order))) {
        best = &top;
      }
    });
  };
  if (handlers.empty()) {
    for (const auto& [handler, bucket] : buckets_) {
      if (handler.view() != kTimerHandler) {
        consider(bucket);
      }
    }
    return best;
  }
  for (const SharedText& handler : handlers) {
    const auto bucket = buckets_.find(handler);
    if (bucket != buckets_.end()) {
      consider(bucket->second);
    }
  }
  return best;
}

std::optional<TimeMs> DispatchProjection::next_change(std::span<const SharedText> handlers,
                                                      TimeMs now) const {
  std::optional<TimeMs> next;
  const auto consider = [&](TimeMs at) { next = next.has_value() ? std::min(*next, at) : at; };
  for (const auto& [handler, bucket] : buckets_) {
    const bool wanted =
        handlers.empty() ? handler.view() != kTimerHandler
                         : std::find(handlers.begin(), handlers.end(), handler) != handlers.end();
    const auto first = wanted ? first_at(bucket) : std::nullopt;
    if (first.has_value()) {
      consider(std::max(*first, now));
    }
  }
  if (!leases_.empty()) {
    consider(leases_.top()->claim->lease_until);
  }
  return next;
}

std::optional<TimeMs> DispatchProjection::next_lease_end() const {
  return leases_.empty() ? std::nullopt : std::optional(leases_.top()->claim->lease_until);
}

const Attempt* DispatchProjection::timed_out(TimeMs now) const {
  const Attempt* first = timeouts_.top();
  return first != nullptr && *first->times_out_at() <= now ? first : nullptr;
}

std::optional<TimeMs> DispatchProjection::next_timeout() const {
  return timeouts_.empty() ? std::nullopt : timeouts_.top()->times_out_at();
}

void DispatchProjection::put_off_timeout(const SharedText& runnable_key) {
  const auto found = attempts_.find(runnable_key);
  if (found != attempts_.end() && found->second.timeout_slot != UINT32_MAX) {
    note_change();
    timeouts_.remove(found->second);
    put_off_.push_back(runnable_key);
  }
}

void DispatchProjection::resume_timeouts() {
  for (const SharedText& key : std::exchange(put_off_, {})) {
    const auto found = attempts_.find(key);
    if (found != attempts_.end()) {
      unindex(found->second);
      index(found->second);
    }
  }
}

}  // namespace holdfast
