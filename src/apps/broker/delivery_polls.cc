#include "apps/broker/delivery_polls.h"

#include <algorithm>

#include "delivery/broker/delivery_rows.h"

namespace holdfast::delivery {

namespace {

constexpr std::size_t kMostOfMember = 16;

}  // namespace

DeliveryPolls::DeliveryPolls(BrokerStore& store, Clock& clock, Serve serve)
    : store_(store), clock_(clock), serve_(std::move(serve)) {}

Result<void> DeliveryPolls::start() {
  return thread_.start([this] { run(); });
}

void DeliveryPolls::release() {
  Lock lock(mutex_);
  released_ = true;
  serve_all(lock, take_ended(Time::max()));
}

void DeliveryPolls::stop() {
  release();
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

void DeliveryPolls::changed() {
  {
    const std::lock_guard lock(mutex_);
    ++changes_;
    if (waiting_.empty()) {
      checked_ = changes_;
      return;
    }
  }
  wake_.notify_all();
}

std::uint64_t DeliveryPolls::changes() const {
  const std::lock_guard lock(mutex_);
  return changes_;
}

std::size_t DeliveryPolls::waiting() const {
  const std::lock_guard lock(mutex_);
  return waiting_.size();
}

bool DeliveryPolls::hold(const DeliveryPollPtr& poll, std::uint64_t seen) {
  // Before another thread can have it.
  if (!poll->held) {
    poll->held = true;
    poll->exchange->when_gone([this, weak = std::weak_ptr<DeliveryPoll>(poll)] {
      if (const DeliveryPollPtr gone = weak.lock()) {
        leave(gone);
      }
    });
  }
  {
    const std::lock_guard lock(mutex_);
    if (released_ || poll->gone || std::chrono::steady_clock::now() >= poll->deadline ||
        waiting_.count(poll->member_id) >= kMostOfMember) {
      return false;
    }
    waiting_.emplace(poll->member_id, poll);
    // What came after it looked is checked by the thread.
    checked_ = std::min(checked_, seen);
  }
  wake_.notify_all();
  return true;
}

void DeliveryPolls::leave(const DeliveryPollPtr& poll) {
  const std::lock_guard lock(mutex_);
  poll->gone = true;
  std::erase_if(waiting_, [&](const auto& entry) { return entry.second == poll; });
}

DeliveryPolls::Time DeliveryPolls::next_deadline() const {
  Time next = std::chrono::steady_clock::now() + std::chrono::hours(1);
  for (const auto& [member, poll] : waiting_) {
    next = std::min(next, poll->deadline);
  }
  return next;
}

std::vector<DeliveryPollPtr> DeliveryPolls::take_ended(Time now) {
  std::vector<DeliveryPollPtr> ended;
  std::erase_if(waiting_, [&](const auto& entry) {
    if (entry.second->deadline <= now) {
      ended.push_back(entry.second);
      return true;
    }
    return false;
  });
  return ended;
}

std::vector<std::string> DeliveryPolls::members() const {
  std::vector<std::string> members;
  for (auto at = waiting_.begin(); at != waiting_.end(); at = waiting_.upper_bound(at->first)) {
    members.push_back(at->first);
  }
  return members;
}

std::vector<DeliveryPollPtr> DeliveryPolls::take_of(const std::vector<std::string>& members) {
  std::vector<DeliveryPollPtr> polls;
  for (const std::string& member : members) {
    const auto [first, last] = waiting_.equal_range(member);
    std::for_each(first, last, [&](const auto& entry) { polls.push_back(entry.second); });
    waiting_.erase(first, last);
  }
  return polls;
}

void DeliveryPolls::serve_all(Lock& lock, std::vector<DeliveryPollPtr> polls) {
  lock.unlock();
  for (DeliveryPollPtr& poll : polls) {
    serve_(std::move(poll));
  }
  lock.lock();
}

// When the store cannot be read, all are served: they get its error.
void DeliveryPolls::check_members(Lock& lock) {
  checked_ = changes_;
  std::vector<std::string> found = members();
  lock.unlock();
  std::vector<bool> have(found.size(), true);
  static_cast<void>(store_.read([&](SqlSession& session) -> Result<void> {
    HOLDFAST_TRY(have, have_claimable(session, found, clock_.now()));
    return {};
  }));
  for (std::size_t i = found.size(); i-- > 0;) {
    if (!have[i]) {
      found.erase(found.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
  lock.lock();
  serve_all(lock, take_of(found));
}

void DeliveryPolls::run() {
  Lock lock(mutex_);
  while (!stopping_) {
    if (!waiting_.empty() && checked_ != changes_) {
      check_members(lock);
      continue;
    }
    if (auto ended = take_ended(std::chrono::steady_clock::now()); !ended.empty()) {
      serve_all(lock, std::move(ended));
      continue;  // without the lock, a notification may have come
    }
    wake_.wait_until(lock, next_deadline());
  }
}

}  // namespace holdfast::delivery
