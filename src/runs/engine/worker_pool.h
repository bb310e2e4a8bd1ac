// WorkerPool: threads that execute attempts in this process. A handler runs only after its claim
// is durable; its claim is kept alive while it runs; its result is reported together with the
// claim request for the next attempt, so that a chain of steps costs one commit per step.
//
// A pool claims a little ahead when handlers are short against a commit, so that the disk does
// not set the pace: as many attempts as can be executed while one commit is made, no more.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <stop_token>
#include <vector>

#include "runs/engine/engine_loop.h"

namespace holdfast {

// The token is stopped when the claim is lost: the result will not count.
using Handler = std::function<AttemptOutcome(const Assignment&, const std::stop_token&)>;
using HandlerTable = std::map<SharedText, Handler>;

// Calls the handler; an exception becomes a failure that names it.
AttemptOutcome call_handler(const HandlerTable& handlers, const Assignment& assignment,
                            const std::stop_token& stop);
// The command that reports an outcome.
Result<Done> report_outcome(Turn& turn, const ClaimProof& proof, const AttemptOutcome& outcome);

struct PoolOptions {
  std::size_t threads = 1;
  std::size_t max_claimed = 1024;  // attempts claimed at once, at most
};

// Shared: the loop may still call a pool whose run() has returned.
class WorkerPool : public std::enable_shared_from_this<WorkerPool> {
 public:
  // The loop must outlive run().
  static std::shared_ptr<WorkerPool> create(Loop& loop,
                                            std::shared_ptr<const HandlerTable> handlers,
                                            ServedQueues queues, const PoolOptions& options);

  // Executes attempts until stop is requested; what was claimed by then is still executed and
  // reported. May be called once. ready: is called when all threads exist; they may not be
  // startable (io_error), then nothing is executed.
  // Returns the error that stopped the engine, if one did.
  Result<void> run(const std::stop_token& stop, const std::function<void()>& ready = nullptr);

 private:
  using Lock = std::unique_lock<std::mutex>;
  using Instant = std::chrono::steady_clock::time_point;

  struct Task {
    Assignment assignment;
    std::stop_source stop;
  };

  WorkerPool(Loop& loop, std::shared_ptr<const HandlerTable> handlers, ServedQueues queues,
             const PoolOptions& options);

  void work();
  void execute(Lock& lock, Task task);
  void wait_for_task(Lock& lock);
  void assigned(const ClaimRequestPtr& request, std::vector<Result<Assignment>> results,
                Instant submitted);
  void lost(const SharedText& claim_id, const Error& why);
  void request_stop();
  // Withdraws the claim requests that are open.
  void withdraw_requests(std::vector<LoopRequest>& requests);
  void withdrawn(const ClaimRequestPtr& request, std::size_t count);
  // No answer about this many attempts of the request is to come any more.
  void settle(const ClaimRequestPtr& request, std::size_t count);
  // Adds the request that brings the number of claimed and requested attempts up to the target.
  void request_claims(std::vector<LoopRequest>& requests);
  [[nodiscard]] std::size_t target() const;
  [[nodiscard]] bool finished() const;
  void wake_one();
  void wake_all();

  Loop& loop_;
  std::shared_ptr<const HandlerTable> handlers_;
  std::shared_ptr<const Skills> skills_;
  PoolOptions options_;

  std::mutex mutex_;  // guards what follows
  std::deque<Task> ready_;
  std::map<SharedText, std::stop_source> running_;   // by claim id
  std::map<ClaimRequestPtr, std::size_t> requests_;  // to the attempts that they still wait for
  std::size_t requested_ = 0;                        // attempts, of all of them
  std::deque<Loop::Waiter*> idle_;
  bool stopping_ = false;
  std::optional<Error> failure_;
  double handler_us_ = 1000;  // moving averages
  double commit_us_ = 0;
};

}  // namespace holdfast
