// Interrupt: Ctrl-C and SIGTERM as an event. The first requests a stop, the second exits the
// program at once.
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <stop_token>

#include "base/threads.h"

namespace holdfast::cli {

class Interrupt {
 public:
  // on_stop is called once, from another thread, at the first signal. At most one object exists.
  explicit Interrupt(std::function<void()> on_stop);
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  [[nodiscard]] bool came() const { return came_; }
  [[nodiscard]] std::stop_token token() const { return stop_.get_token(); }
  // Requests a stop without a signal.
  void stop() { stop_.request_stop(); }

 private:
  void watch();

  std::function<void()> on_stop_;
  std::atomic<bool> came_ = false;
  std::stop_source stop_;
  std::array<int, 2> pipe_{-1, -1};  // to the watcher: 's' for a signal, 'q' for the end
  ThreadGroup watcher_;
};

}  // namespace holdfast::cli
