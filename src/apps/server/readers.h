// Readers: a few threads that read the journal, so that neither the threads of connections nor the
// loop wait for a disk. Their queue is short; work that does not fit is refused.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>

#include "base/threads.h"

namespace holdfast {

class Readers {
 public:
  Readers(std::size_t threads, std::size_t max_waiting);
  ~Readers();
  Readers(const Readers&) = delete;
  Readers& operator=(const Readers&) = delete;
  // The error when its threads could not be started.
  [[nodiscard]] const Result<void>& started() const { return started_; }

  // busy when the queue is full or the readers are stopped: the work is not executed.
  Result<void> run(std::function<void()> work);
  // Queued work is still executed.
  void stop();

 private:
  void serve();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> waiting_;
  const std::size_t max_waiting_;
  bool stopping_ = false;
  ThreadGroup threads_;
  Result<void> started_;
};

}  // namespace holdfast
