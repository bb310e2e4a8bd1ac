// GroupRunner: calls that arrive while a group is being worked on share the next one. The calling
// threads do the work: the first of a group runs it for all of them.
//
// The order of the callers is kept. At most max_waiting calls wait; more are refused as busy.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "holdfast/assert.h"
#include "holdfast/result.h"

namespace holdfast::delivery {

struct GroupLimits {
  std::size_t max_group = 256;
  std::size_t max_waiting = 10'000;
};

template <typename Item, typename Reply>
class GroupRunner {
 public:
  // Gives one reply for each item, in their order. Called by one thread at a time.
  using Work = std::function<std::vector<Result<Reply>>(std::vector<Item>)>;

  explicit GroupRunner(Work work, GroupLimits limits = {})
      : work_(std::move(work)), limits_(limits) {}

  // Thread-safe. Returns when the item has its reply.
  Result<Reply> run(Item item) {
    std::unique_lock lock(mutex_);
    if (waiting_.size() >= limits_.max_waiting) {
      return Error{ErrorCode::busy, "too many requests wait for the store; try again later"};
    }
    Call call;
    call.item = std::move(item);
    waiting_.push_back(&call);
    if (running_) {
      call.wake.wait(lock, [&] { return call.leads || call.reply.has_value(); });
    }
    if (!call.reply.has_value()) {
      run_group(lock);
    }
    return *std::move(call.reply);
  }

  // Calls that wait for their group to begin.
  [[nodiscard]] std::size_t waiting() {
    const std::lock_guard lock(mutex_);
    return waiting_.size();
  }

 private:
  // Each waits for a signal of its own: one for all would wake the next group too.
  struct Call {
    std::optional<Item> item;
    std::optional<Result<Reply>> reply;
    std::condition_variable wake;
    bool leads = false;  // it runs the next group
  };

  // Called by the first of those that wait.
  void run_group(std::unique_lock<std::mutex>& lock) {
    running_ = true;
    std::vector<Call*> group;
    std::vector<Item> items;
    while (!waiting_.empty() && group.size() < limits_.max_group) {
      group.push_back(waiting_.front());
      items.push_back(*std::move(group.back()->item));
      waiting_.pop_front();
    }
    lock.unlock();
    std::vector<Result<Reply>> replies = work_(std::move(items));
    lock.lock();
    HOLDFAST_ASSERT(replies.size() == group.size());
    running_ = !waiting_.empty();
    if (running_) {
      waiting_.front()->leads = true;
      waiting_.front()->wake.notify_one();
    }
    // With the lock: a call that has its reply returns, and its signal is gone.
    for (std::size_t i = 0; i < group.size(); ++i) {
      group[i]->reply.emplace(std::move(replies[i]));
      group[i]->wake.notify_one();
    }
  }

  Work work_;
  GroupLimits limits_;
  std::mutex mutex_;
  std::deque<Call*> waiting_;  // guarded by mutex_
  bool running_ = false;       // guarded by mutex_; true while any call waits
};

}  // namespace holdfast::delivery
