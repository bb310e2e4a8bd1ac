#include "apps/server/alarm.h"

namespace holdfast {

Alarm::Alarm() : started_(thread_.start([this] { run(); })) {}

Alarm::~Alarm() { stop(); }

Alarm::Ticket Alarm::after(std::chrono::milliseconds delay, std::function<void()> ring) {
  const std::scoped_lock lock(mutex_);
  const Ticket ticket{std::chrono::steady_clock::now() + delay, ++last_};
  const bool earliest = rings_.empty() || ticket < rings_.begin()->first;
  rings_.emplace(ticket, std::move(ring));
  if (earliest) {
    changed_.notify_one();
  }
  return ticket;
}

bool Alarm::cancel(const Ticket& ticket) {
  const std::scoped_lock lock(mutex_);
  return rings_.erase(ticket) > 0;
}

void Alarm::stop() {
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
    rings_.clear();
    changed_.notify_one();
  }
  thread_.join();
}

void Alarm::run() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    if (rings_.empty()) {
      changed_.wait(lock);
      continue;
    }
    const Instant next = rings_.begin()->first.first;
    if (std::chrono::steady_clock::now() < next) {
      changed_.wait_until(lock, next);
      continue;
    }
    const auto ring = std::move(rings_.begin()->second);
    rings_.erase(rings_.begin());
    lock.unlock();
    ring();
    lock.lock();
  }
}

}  // namespace holdfast
