// The loop while its store is unavailable: a separate thread tries to reach it, so that callers and
// timers do not wait for connections.
#include "base/retry_pause.h"
#include "runs/engine/engine_loop.h"

namespace holdfast {

namespace {

constexpr std::chrono::milliseconds kFirstPause{50};
constexpr std::chrono::milliseconds kLongestPause{3000};
// A store that fails again sooner is reached for more slowly.
constexpr std::chrono::milliseconds kSettled{10'000};

std::chrono::milliseconds ms_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() -
                                                               begin);
}

}  // namespace

LoopHealth Loop::health() {
  const std::scoped_lock lock(mutex_);
  LoopHealth health;
  if (write_pending_since_.has_value()) {
    health.write_pending = ms_since(*write_pending_since_);
  }
  if (failure_.has_value()) {
    health.state = LoopHealth::State::stopped;
    health.why = failure_;
  } else if (outage_.has_value()) {
    health.state = LoopHealth::State::recovering;
    health.why = outage_->why;
    health.since = ms_since(outage_since_);
  }
  return health;
}

// Copies the outage of the core for threads that do not hold the core.
void Loop::note_outage() {
  const bool was_unavailable = outage_.has_value();
  if (was_unavailable != core_.outage().has_value()) {
    outage_ = core_.outage();
    outage_since_ = was_unavailable ? outage_since_ : std::chrono::steady_clock::now();
  }
  if (recovery_due()) {
    recovery_wakes_.notify_one();
  }
}

// The core must first receive the outcome of a write.
bool Loop::recovery_due() const {
  return outage_.has_value() && !writing_ && !written_.has_value() && !recovered_.has_value();
}

void Loop::end_recovery(const Result<JournalRecovery>& recovered, TimeMs now) {
  if (!recovered.ok()) {
    core_.stop(recovered.error());
  } else if (core_.outage().has_value()) {
    core_.store_returned(recovered.value(), now);
  }
}

std::chrono::milliseconds Loop::next_pause(RetryPause& backoff) {
  const std::scoped_lock lock(random_mutex_);
  return backoff.next();
}

void Loop::run_recovery() {
  Lock lock(mutex_);
  RetryPause backoff(random_, kFirstPause, kLongestPause);
  Instant ended{};
  for (;;) {
    recovery_wakes_.wait(lock, [this] { return closing_ || recovery_due(); });
    if (ms_since(ended) > kSettled) {
      backoff.reset();
    } else {
      recovery_wakes_.wait_for(lock, next_pause(backoff), [this] { return closing_; });
    }
    while (!closing_ && !try_to_recover(lock)) {
      recovery_wakes_.wait_for(lock, next_pause(backoff), [this] { return closing_; });
    }
    if (closing_) {
      return;
    }
    ended = std::chrono::steady_clock::now();
  }
}

// True when it need not be tried again: the core will hear what was found.
bool Loop::try_to_recover(Lock& lock) {
  lock.unlock();
  auto recovered = journal_->recover();
  lock.lock();
  if (!recovered.ok() && may_return(recovered.error())) {
    if (outage_.has_value()) {
      outage_->why = recovered.error();
    }
    return false;
  }
  recovered_.emplace(std::move(recovered));
  nudge();
  return true;
}

void Loop::deliver_store_changes(Lock& lock) {
  if (options_.observer == nullptr || reported_outage_ == outage_.has_value() || closing_) {
    return;
  }
  reported_outage_ = outage_.has_value();
  const std::optional<StoreOutage> outage = outage_;
  const std::chrono::milliseconds taken = ms_since(outage_since_);
  lock.unlock();
  if (outage.has_value()) {
    options_.observer->store_unavailable(outage->why);
  } else {
    options_.observer->store_returned(taken);
  }
  lock.lock();
}

}  // namespace holdfast
