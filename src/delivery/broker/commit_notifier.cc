#include "delivery/broker/commit_notifier.h"

#include <algorithm>
#include <utility>

namespace holdfast::delivery {

void CommitNotifier::notify(CommitOrigin origin) {
  const std::lock_guard lock(mutex_);
  ++count_;
  for (CommitWatcher* const watcher : watchers_) {
    watcher->notified_(origin);
  }
  changed_.notify_all();
}

std::uint64_t CommitNotifier::count() const {
  const std::lock_guard lock(mutex_);
  return count_;
}

std::uint64_t CommitNotifier::wait_beyond(std::uint64_t seen, Time deadline) {
  std::unique_lock lock(mutex_);
  changed_.wait_until(lock, deadline, [&] { return count_ > seen; });
  return count_;
}

CommitWatcher::CommitWatcher(CommitNotifier& notifier, std::function<void(CommitOrigin)> notified)
    : notifier_(notifier), notified_(std::move(notified)) {
  const std::lock_guard lock(notifier_.mutex_);
  notifier_.watchers_.push_back(this);
}

CommitWatcher::~CommitWatcher() {
  const std::lock_guard lock(notifier_.mutex_);
  std::erase(notifier_.watchers_, this);
}

}  // namespace holdfast::delivery
