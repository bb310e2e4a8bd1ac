// Readers: a few threads for what reads the journal and may take a while, so that neither the
// threads of connections nor the loop wait for a disk. The line before them is short: who comes
// when it is full is sent away.
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
  // Why it has no threads, if it has none.
  [[nodiscard]] const Result<void>& started() const { return started_; }

  // busy when the line is full or they were stopped: then the work is not done.
  Result<void> run(std::function<void()> work);
  // What is in line is still done.
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
