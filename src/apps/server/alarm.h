// Alarm: calls that are due at a time, from one thread of its own that sleeps until then.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>

#include "base/threads.h"

namespace holdfast {

class Alarm {
 public:
  using Instant = std::chrono::steady_clock::time_point;
  using Ticket = std::pair<Instant, std::uint64_t>;

  Alarm();
  ~Alarm();
  Alarm(const Alarm&) = delete;
  Alarm& operator=(const Alarm&) = delete;
  // Why it has no thread, if it has none.
  [[nodiscard]] const Result<void>& started() const { return started_; }

  // `ring` must not block.
  Ticket after(std::chrono::milliseconds delay, std::function<void()> ring);
  // False: it has rung, or is about to.
  bool cancel(const Ticket& ticket);
  // What has not rung never will.
  void stop();

 private:
  void run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<Ticket, std::function<void()>> rings_;
  std::uint64_t last_ = 0;
  bool stopping_ = false;
  ThreadGroup thread_;
  Result<void> started_;
};

}  // namespace holdfast
