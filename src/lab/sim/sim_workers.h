// Workers: they execute attempts. Good ones report once and in time. The others exceed their lease,
// die, report twice, report after they lost the claim, or present a wrong token.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "lab/sim/sim_process.h"
#include "lab/sim/sim_scenario.h"

namespace holdfast::sim {

class Simulation;

HOLDFAST_ENUM(Behaviour, good,
              stalls,             // exceeds the lease, which is renewed meanwhile
              dies,               // never reports
              repeats,            // reports twice
              contradicts,        // reports twice, with different results
              reports_late,       // reports after the lease, which is not renewed
              reports_at_expiry,  // reports at the moment the lease expires
              forges,             // presents a wrong token, then the right one
              hangs,              // never ends, if the step has a timeout
);

class Workers {
 public:
  explicit Workers(Simulation& simulation) : simulation_(simulation) {}

  // Starts the workers of a process that has started.
  void start_workers(Process& process);
  // A process has stopped: its own workers are gone, remote workers may still report to another
  // process.
  void process_stopped(Process& process);
  // Whether a worker executes an attempt that will end.
  [[nodiscard]] bool is_executing() const;

 private:
  // One attempt that a worker executes.
  struct Task {
    Assignment assignment;
    std::uint32_t process = 0;
    std::uint64_t incarnation = 0;
    bool remote = false;  // a remote worker survives its process
    bool lost = false;    // the worker knows that it no longer holds the claim
    bool finished = false;
    HandlerAnswer answer = {};
  };
  using TaskPtr = std::shared_ptr<Task>;

  void request_claim(Process& process);
  void assigned(Process& process, const Assignment& assignment, bool remote);
  [[nodiscard]] Behaviour behaviour(const Dice& dice) const;
  [[nodiscard]] bool has_timeout(const Assignment& assignment) const;
  // No fault could have kept the process from renewing the lease.
  [[nodiscard]] bool lease_can_be_renewed() const;
  void heartbeat(const TaskPtr& task);
  void report(const TaskPtr& task, Behaviour behaviour);
  void report_once(const TaskPtr& task, const HandlerAnswer& answer, const std::string& token,
                   const std::function<void(const Reply&)>& done);
  void finish(const TaskPtr& task);
  Process* process_of(const Task& task, std::string_view why);

  void executed(const TaskPtr& task, Execution how);

  Simulation& simulation_;
  std::uint64_t claims_ = 0;
  std::map<std::string, TaskPtr> tasks_;  // unfinished tasks, by claim
};

}  // namespace holdfast::sim
