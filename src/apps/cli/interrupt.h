// Interrupt: Ctrl-C and SIGTERM as something a command can wait for. The first asks it to stop,
// the second ends the program at once.
#pragma once

#include <atomic>
#include <functional>
#include <stop_token>

#include "base/threads.h"

namespace holdfast {

class Interrupt {
 public:
  // on_stop is called once, from a thread of its own, when the first signal comes. One at a time.
  explicit Interrupt(std::function<void()> on_stop);
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  [[nodiscard]] bool came() const { return came_; }
  [[nodiscard]] std::stop_token token() const { return stop_.get_token(); }
  // As if a signal had come, but without one.
  void stop() { stop_.request_stop(); }

 private:
  std::function<void()> on_stop_;
  std::atomic<bool> came_ = false;
  std::stop_source stop_;
  ThreadGroup watcher_;
};

}  // namespace holdfast
