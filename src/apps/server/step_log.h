// StepLog: writes the messages of log steps to the log of the server. The loop only queues them; a
// thread writes them, so that a slow log blocks nothing. Lines beyond the rate limit, or beyond
// what the log accepts, are dropped and counted; long lines are truncated.
#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <vector>

#include "apps/server/server_log.h"
#include "base/clock.h"
#include "base/threads.h"
#include "runs/engine/turn.h"

namespace holdfast {

class StepLog {
 public:
  struct Limits {
    std::size_t per_second = 200;
    std::size_t burst = 1000;  // also the length of the queue
    std::size_t message_bytes = 4096;
  };
  // Both must outlive it.
  StepLog(ServerLog& log, Clock& clock) : StepLog(log, clock, Limits{}) {}
  StepLog(ServerLog& log, Clock& clock, Limits limits);
  // Queued lines are still written.
  ~StepLog();
  StepLog(const StepLog&) = delete;
  StepLog& operator=(const StepLog&) = delete;

  // The error when its thread could not be started.
  [[nodiscard]] const Result<void>& started() const { return started_; }
  // Never blocks.
  void add(const std::vector<LogLine>& lines);

 private:
  [[nodiscard]] bool within_limit();
  void run();
  void write(const LogLine& line);

  ServerLog& log_;
  Clock& clock_;
  const Limits limits_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<LogLine> waiting_;
  double left_;  // lines
  TimeMs left_at_;
  std::uint64_t dropped_ = 0;
  bool stopping_ = false;
  ThreadGroup thread_;
  Result<void> started_;
};

}  // namespace holdfast
