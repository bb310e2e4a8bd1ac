// ThreadGroup: threads that are started and joined together. The system may refuse to start a
// thread, for lack of memory or because of a process limit: that is an error, never an exception.
#pragma once

#include <cstddef>
#include <functional>
#include <thread>
#include <vector>

#include "holdfast/result.h"

namespace holdfast {

class ThreadGroup {
 public:
  ThreadGroup() = default;
  // As join().
  ~ThreadGroup() { join(); }
  ThreadGroup(const ThreadGroup&) = delete;
  ThreadGroup& operator=(const ThreadGroup&) = delete;

  // Starts all threads, or runs no body and returns io_error with the number of threads. No body
  // runs before all threads exist.
  Result<void> start(std::size_t count, const std::function<void()>& body);
  Result<void> start(const std::vector<std::function<void()>>& bodies);
  Result<void> start(const std::function<void()>& body) { return start(1, body); }
  // Waits until every body has returned; the owner must make them end. Not called by one of them.
  void join();
  [[nodiscard]] bool empty() const { return threads_.empty(); }

 private:
  using BodyAt = std::function<const std::function<void()>&(std::size_t)>;
  Result<void> start_all(std::size_t count, const BodyAt& body_at);

  std::vector<std::thread> threads_;
};

}  // namespace holdfast
