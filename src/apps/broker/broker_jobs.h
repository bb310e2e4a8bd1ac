// The jobs of a broker: the retention sweep, the orphan check, and the end of leases, on a timer;
// the first two also on demand. A job that fails is counted and logged, and runs again at its next
// time; nothing is repaired.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

#include "apps/broker/broker_service.h"
#include "apps/server/server_log.h"
#include "base/threads.h"
#include "delivery/broker/orphan_check.h"
#include "holdfast/result.h"

namespace holdfast::delivery {

struct Swept {
  std::uint64_t dedupe_rows = 0;
  std::uint64_t messages = 0;
  std::uint64_t deliveries = 0;  // that were given up
};

// Removes everything whose time has come, in bounded transactions. Both count themselves.
Result<Swept> sweep(BrokerService& service);
Result<OrphanReport> check_store(BrokerService& service);
// Deliveries and messages of queues whose lease has ended are queued again, or dead; messages of
// queues that are due become ready or have expired.
Result<LeaseSweep> sweep_leases(BrokerService& service);

struct JobTimes {
  std::chrono::seconds sweep_every{3600};
  std::chrono::seconds check_every{24 * 3600};
  std::chrono::seconds leases_every{15};
};

class BrokerJobs {
 public:
  // All must outlive it.
  BrokerJobs(BrokerService& service, ServerLog& log, JobTimes times)
      : service_(service), log_(log), times_(times) {}
  ~BrokerJobs() { stop(); }
  BrokerJobs(const BrokerJobs&) = delete;
  BrokerJobs& operator=(const BrokerJobs&) = delete;

  // The first sweep runs at once.
  Result<void> start();
  void stop();

 private:
  void run();
  void run_sweep();
  void run_check();
  void run_leases();

  BrokerService& service_;
  ServerLog& log_;
  const JobTimes times_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false;  // guarded by mutex_
  ThreadGroup thread_;
};

}  // namespace holdfast::delivery
