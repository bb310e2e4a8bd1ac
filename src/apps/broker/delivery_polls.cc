#include "apps/broker/delivery_polls.h"

#include <algorithm>

#include "delivery/broker/delivery_rows.h"
#include "holdfast/assert.h"

namespace holdfast::delivery {

namespace {

constexpr std::size_t kMeshIdBytes = 26;

// What queue_wait_key() was made of.
CandidateQuery query_of(const DeliveryPolls::Key& key) {
  const std::size_t end = key.key.find('/', kMeshIdBytes + 1);
  HOLDFAST_ASSERT(end != std::string::npos);
  return {.queue = {key.key.substr(0, kMeshIdBytes),
                    key.key.substr(kMeshIdBytes + 1, end - kMeshIdBytes - 1)},
          .key = key.key.substr(end + 1),
          .limit = static_cast<std::uint32_t>(key.waiting)};
}

}  // namespace

Result<std::vector<DeliveryPolls::News>> find_member_news(
    SqlSession& session, const std::vector<DeliveryPolls::Key>& keys, TimeMs now) {
  std::vector<std::string> members;
  for (const DeliveryPolls::Key& key : keys) {
    members.push_back(key.key);
  }
  HOLDFAST_TRY(const std::vector<bool> have, have_claimable(session, members, now));
  std::vector<DeliveryPolls::News> news;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    news.push_back({have[i] ? keys[i].waiting : 0, {}});
  }
  return news;
}

std::string queue_wait_key(const QueueKey& queue, std::string_view ordering_key) {
  HOLDFAST_ASSERT(queue.first.size() == kMeshIdBytes);
  return queue.first + "/" + queue.second + "/" + std::string(ordering_key);
}

Result<std::vector<DeliveryPolls::News>> find_queue_news(
    SqlSession& session, const std::vector<DeliveryPolls::Key>& keys, TimeMs now) {
  std::vector<CandidateQuery> queries;
  for (const DeliveryPolls::Key& key : keys) {
    queries.push_back(query_of(key));
  }
  HOLDFAST_TRY(const auto found, find_news(session, queries));
  std::vector<DeliveryPolls::News> news;
  for (const QueueNews& one : found) {
    const bool due = one.next_at.has_value() && *one.next_at <= now;
    news.push_back(
        {static_cast<std::size_t>(one.ready) + (due ? 1 : 0), due ? std::nullopt : one.next_at});
  }
  return news;
}

DeliveryPolls::DeliveryPolls(BrokerStore& store, Clock& clock, Find find, std::size_t most,
                             Serve serve)
    : store_(store), clock_(clock), find_(std::move(find)), most_(most), serve_(std::move(serve)) {}

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
        waiting_.count(poll->key) >= most_) {
      return false;
    }
    waiting_.emplace(poll->key, poll);
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

void DeliveryPolls::check_at(TimeMs time) {
  {
    const std::lock_guard lock(mutex_);
    next_check_ = std::min(next_check_, steady_time(time));
    if (waiting_.empty()) {
      return;
    }
  }
  wake_.notify_all();
}

DeliveryPolls::Time DeliveryPolls::steady_time(TimeMs time) const {
  const std::int64_t wait_ms = std::max<std::int64_t>(time.value - clock_.now().value, 0);
  constexpr std::int64_t kHourMs = 3'600'000;
  return std::chrono::steady_clock::now() + std::chrono::milliseconds(std::min(wait_ms, kHourMs));
}

DeliveryPolls::Time DeliveryPolls::next_deadline() const {
  Time next = std::chrono::steady_clock::now() + std::chrono::hours(1);
  for (const auto& [key, poll] : waiting_) {
    next = std::min(next, poll->deadline);
  }
  return waiting_.empty() ? next : std::min(next, next_check_);
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

std::vector<DeliveryPolls::Key> DeliveryPolls::keys() const {
  std::vector<Key> keys;
  for (auto at = waiting_.begin(); at != waiting_.end(); at = waiting_.upper_bound(at->first)) {
    keys.push_back({at->first, waiting_.count(at->first)});
  }
  return keys;
}

// The first that waited.
std::vector<DeliveryPollPtr> DeliveryPolls::take_of(const std::vector<Key>& keys) {
  std::vector<DeliveryPollPtr> polls;
  for (const Key& key : keys) {
    auto at = waiting_.lower_bound(key.key);
    for (std::size_t i = 0; i < key.waiting && at != waiting_.end() && at->first == key.key; ++i) {
      polls.push_back(at->second);
      at = waiting_.erase(at);
    }
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
void DeliveryPolls::check_keys(Lock& lock) {
  checked_ = changes_;
  next_check_ = Time::max();
  std::vector<Key> found = keys();
  lock.unlock();
  std::vector<News> news;
  const auto read = store_.read([&](SqlSession& session) -> Result<void> {
    HOLDFAST_TRY(news, find_(session, found, clock_.now()));
    return {};
  });
  lock.lock();
  for (std::size_t i = 0; read.ok() && i < found.size(); ++i) {
    found[i].waiting = news.at(i).polls;
    if (news[i].next_at.has_value()) {
      next_check_ = std::min(next_check_, steady_time(*news[i].next_at));
    }
  }
  serve_all(lock, take_of(found));
}

void DeliveryPolls::run() {
  Lock lock(mutex_);
  while (!stopping_) {
    const Time now = std::chrono::steady_clock::now();
    if (!waiting_.empty() && (checked_ != changes_ || next_check_ <= now)) {
      check_keys(lock);
      continue;
    }
    if (auto ended = take_ended(now); !ended.empty()) {
      serve_all(lock, std::move(ended));
      continue;  // without the lock, a notification may have come
    }
    wake_.wait_until(lock, next_deadline());
  }
}

}  // namespace holdfast::delivery
