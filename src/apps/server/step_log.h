// StepLog: what log steps say, in the log of the server. The loop only hands lines over: a thread
// writes them, so that a log that is slow to take them holds nothing up. Lines that come faster
// than the limit, or than the log takes them, are left out and counted; long ones are cut.
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
    std::size_t burst = 1000;  // and as many may wait to be written
    std::size_t message_bytes = 4096;
  };
  // Both must outlive it.
  StepLog(ServerLog& log, Clock& clock) : StepLog(log, clock, Limits{}) {}
  StepLog(ServerLog& log, Clock& clock, Limits limits);
  // What was handed over is still written.
  ~StepLog();
  StepLog(const StepLog&) = delete;
  StepLog& operator=(const StepLog&) = delete;

  // Why it has no thread, if it has none.
  [[nodiscard]] const Result<void>& started() const { return started_; }
  // Never waits.
  void add(const std::vector<LogLine>& lines);

 private:
  [[nodiscard]] bool take_turn();
  void run();
  void write(const LogLine& line);

  ServerLog& log_;
  Clock& clock_;
  const Limits limits_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<LogLine> waiting_;
  double left_;  // turns
  TimeMs left_at_;
  std::uint64_t left_out_ = 0;
  bool stopping_ = false;
  ThreadGroup thread_;
  Result<void> started_;
};

}  // namespace holdfast
