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
    Call call{std::move(item), std::nullopt};
    waiting_.push_back(&call);
    while (!call.reply.has_value()) {
      if (running_) {
        changed_.wait(lock);
      } else {
        run_group(lock);
      }
    }
    return *std::move(call.reply);
  }

  // Calls that wait for their group to begin.
  [[nodiscard]] std::size_t waiting() {
    const std::lock_guard lock(mutex_);
    return waiting_.size();
  }

 private:
  struct Call {
    Item item;
    std::optional<Result<Reply>> reply;
  };

  void run_group(std::unique_lock<std::mutex>& lock) {
    running_ = true;
    std::vector<Call*> group;
    std::vector<Item> items;
    while (!waiting_.empty() && group.size() < limits_.max_group) {
      group.push_back(waiting_.front());
      items.push_back(std::move(group.back()->item));
      waiting_.pop_front();
    }
    lock.unlock();
    std::vector<Result<Reply>> replies = work_(std::move(items));
    lock.lock();
    HOLDFAST_ASSERT(replies.size() == group.size());
    for (std::size_t i = 0; i < group.size(); ++i) {
      group[i]->reply.emplace(std::move(replies[i]));
    }
    running_ = false;
    changed_.notify_all();
  }

  Work work_;
  GroupLimits limits_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Call*> waiting_;  // guarded by mutex_
  bool running_ = false;       // guarded by mutex_
};

}  // namespace holdfast::delivery
