// Leases: a queue that is bound to a lease backend. Each process has the real exchange of the lease
// adapter, driven in virtual time; all of them share one backend in memory. The backend loses,
// repeats and delays messages, cannot be reached, and loses everything. Its workers know only the
// backend.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "lab/sim/sim_plan.h"
#include "lab/sim/sim_process.h"
#include "lab/sim/sim_workers.h"
#include "runs/lease_backends/memory_lease_backend.h"

namespace holdfast::sim {

// The queue that is bound, in some of the plans.
inline constexpr std::string_view kCarriedQueue = "carried";

class LeaseCarrier;

class Leases {
 public:
  explicit Leases(Simulation& simulation);
  ~Leases();

  void process_started(Process& process);
  void process_stopped(Process& process);
  // What a process knows to be durable. Some of the hints are lost.
  void committed(const Process& process, const std::vector<CommitReport>& reports);
  // False if the act is not one of the backend, or if no queue is bound.
  bool act(Act act, const Dice& dice);
  void end_faults();

  // For the carriers and the workers of the backend.
  Simulation& simulation() { return simulation_; }
  // Of a handle that loses and repeats messages.
  std::unique_ptr<LeaseBackend> open_handle();
  Dice next_dice(std::string_view what) { return dice_.about(what, ++draws_); }

 private:
  // A worker of the backend, and the claim that it holds.
  struct Worker {
    std::string name;
    std::unique_ptr<LeaseBackend> handle;
    LeaseClaim claim = {};
    std::uint64_t lease_ms = 0;
    HandlerAnswer answer = {};
    Behaviour behaviour = Behaviour::good;
    std::uint64_t number = 0;  // of the claim: what was scheduled for an earlier one is ignored
    bool executing = false;
  };
  using WorkerPtr = std::shared_ptr<Worker>;

  void after(const WorkerPtr& worker, std::int64_t delay_us,
             void (Leases::*what)(const WorkerPtr&));
  void take(const WorkerPtr& worker);
  void await_answer(const WorkerPtr& worker);
  void execute(const WorkerPtr& worker);
  void heartbeat(const WorkerPtr& worker);
  void report(const WorkerPtr& worker);
  void send_end(const WorkerPtr& worker, SignalKind kind, const std::string& body,
                std::int64_t delay_ms);
  void give_back(const WorkerPtr& worker);
  void next_item(const WorkerPtr& worker);
  [[nodiscard]] Behaviour behaviour(const Dice& dice) const;

  Simulation& simulation_;
  Dice dice_;
  std::uint64_t draws_ = 0;
  std::shared_ptr<MemoryLeases> backend_;
  std::map<std::uint32_t, std::shared_ptr<LeaseCarrier>> carriers_;  // by process
  std::vector<WorkerPtr> workers_;
  std::map<std::string, std::int64_t>
      requested_us_;                             // when each worker began to wait for its answer
  std::map<std::string, std::string> payloads_;  // by worker
};

}  // namespace holdfast::sim
