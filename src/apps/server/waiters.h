// Waiters: waiting calls that must end when the server stops.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <utility>

namespace holdfast {

class Waiters {
 public:
  using Ticket = std::uint64_t;

  // end: called at most once, immediately after end_all(); must not block.
  Ticket add(std::function<void()> end) {
    {
      const std::scoped_lock lock(mutex_);
      ++last_;
      if (!ended_) {
        waiting_.emplace(last_, std::move(end));
        return last_;
      }
    }
    end();
    return 0;
  }
  void remove(Ticket ticket) {
    const std::scoped_lock lock(mutex_);
    waiting_.erase(ticket);
  }
  void end_all() {
    std::map<Ticket, std::function<void()>> all;
    {
      const std::scoped_lock lock(mutex_);
      ended_ = true;
      all = std::exchange(waiting_, {});
    }
    for (const auto& [ticket, end] : all) {
      end();
    }
  }

 private:
  std::mutex mutex_;
  std::map<Ticket, std::function<void()>> waiting_;
  Ticket last_ = 0;
  bool ended_ = false;
};

}  // namespace holdfast
