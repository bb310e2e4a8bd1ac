// LeaseAdapter: connects one queue of an engine with a lease backend: the threads of an exchange.
//
// Two threads, each with a handle of its own: one sends items and keeps time for the backend, one
// receives signals. If the backend fails, both threads try again, with back-off. All members may be
// called from any thread.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>

#include "base/threads.h"
#include "runs/engine/engine_loop.h"
#include "runs/lease_adapter/lease_exchange.h"

namespace holdfast {

class LeaseAdapter : private LeaseEngine {
 public:
  // The loop must outlive it, and must carry the queue (CoreOptions::carried_queues).
  LeaseAdapter(Loop& loop, SharedText queue, OpenLeaseBackend open);
  ~LeaseAdapter() override { stop(); }
  LeaseAdapter(const LeaseAdapter&) = delete;
  LeaseAdapter& operator=(const LeaseAdapter&) = delete;

  // The backend need not be available. io_error when threads cannot be started.
  Result<void> start();
  // Before the loop is closed. Items stay in the backend.
  void stop();

  LeaseExchange& exchange() { return exchange_; }
  [[nodiscard]] TimeMs now() override { return loop_.clock().now(); }

 private:
  using Lock = std::unique_lock<std::mutex>;

  Result<void> execute(std::function<Result<void>(Turn&)> decide) override;
  std::chrono::milliseconds elapsed() override;
  Journal& journal() override { return loop_.journal(); }
  Applicant applicant() override { return loop_.new_applicant(Skills{}); }

  void send_all();
  void receive_all();
  // Repeats the round until the adapter stops, with a new handle after each failure.
  void repeat(const std::function<Result<void>(LeaseBackend&)>& round);
  void wait(std::chrono::milliseconds most);
  bool stopping();

  Loop& loop_;
  const OpenLeaseBackend open_;
  LeaseExchange exchange_;

  std::mutex mutex_;  // guards what follows
  std::condition_variable wakes_;
  bool stopping_ = false;
  bool work_added_ = false;
  ThreadGroup threads_;
};

}  // namespace holdfast
