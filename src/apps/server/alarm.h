// Alarm: calls functions after a delay, from one thread that sleeps in between.
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
  // The error when its thread could not be started.
  [[nodiscard]] const Result<void>& started() const { return started_; }

  // ring: must not block.
  Ticket after(std::chrono::milliseconds delay, std::function<void()> ring);
  // False: it was called, or is about to be.
  bool cancel(const Ticket& ticket);
  // Pending calls are dropped.
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
