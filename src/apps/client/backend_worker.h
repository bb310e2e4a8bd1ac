// BackendWorker: executes steps that a lease backend carries, in this process. It knows the backend
// only; an engine that is bound to the backend grants its claims and stores its reports.
//
// A number of threads each claim an item, wait for the grant, execute the handler and report; one
// more thread sends heartbeats. A backend that is unavailable is tried again; a report is repeated
// until the backend has it.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <vector>

#include "apps/client/attempt_handlers.h"
#include "base/random.h"
#include "base/retry_pause.h"
#include "holdfast/client.h"
#include "holdfast/lease_backend.h"

namespace holdfast::client {

struct BackendWorkPlan {
  std::size_t threads = 1;
  std::string name;                 // of the worker; a random part is added
  std::vector<std::string> queues;  // at least one
  // How long a claim waits for an engine before the item is given back.
  std::chrono::milliseconds grant_patience{10'000};
  // How long a stopped worker tries to deliver its reports.
  std::chrono::milliseconds patience{30'000};
  std::function<void(const WorkEvent&)> observe = nullptr;
};

class BackendWorker {
 public:
  BackendWorker(OpenLeaseBackend open, std::shared_ptr<const AttemptHandlers> handlers,
                BackendWorkPlan plan);

  // Runs until stop is requested; items claimed by then are still executed and reported. Returns
  // the error that made it impossible to continue. Call it once.
  Result<void> run(const std::stop_token& stop);

 private:
  using Lock = std::unique_lock<std::mutex>;
  using SteadyClock = std::chrono::steady_clock;

  // A claim that was granted, until its report is delivered.
  struct Held {
    std::string queue;
    LeaseClaim claim;
    ClaimedAttempt attempt;
    std::stop_source stop;
    std::string progress;
    SteadyClock::time_point next_heartbeat;
    std::chrono::milliseconds interval{0};
    bool lost = false;
  };
  using HeldPtr = std::shared_ptr<Held>;

  // Threads.
  void work();
  void keep_alive();

  // One claim of each queue; true if an item was executed.
  Result<bool> claim_once(LeaseBackend& backend, const std::string& queue,
                          std::chrono::milliseconds wait);
  Result<std::optional<LeaseAnswer>> await_grant(LeaseBackend& backend, const std::string& queue,
                                                 const LeaseClaim& claim);
  void execute(const HeldPtr& held);
  AttemptOutcome call(const HeldPtr& held);
  // Repeats until the backend has the report, or that is pointless.
  bool deliver(const HeldPtr& held, const Report& report);
  Result<void> send_heartbeat(std::unique_ptr<LeaseBackend>& backend, const HeldPtr& held);
  void hold(const HeldPtr& held);
  void release(const HeldPtr& held);
  void notify(const WorkEvent& event);
  void set_reachable(const Error* why);
  // Waits; false when the worker is stopped.
  bool pause(std::chrono::milliseconds time);
  std::string random_text(std::size_t bytes);

  const OpenLeaseBackend open_;
  const std::shared_ptr<const AttemptHandlers> handlers_;
  BackendWorkPlan plan_;
  SystemRandom random_;

  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::map<std::string, HeldPtr> held_;  // by claim id
  bool stopping_ = false;
  bool finished_ = false;  // no thread executes any more
  bool reachable_ = true;
  SteadyClock::time_point stopped_at_ = {};
};

}  // namespace holdfast::client
