// Simulation: one simulation. Engine processes, workers, clients and faults act in virtual time on
// one disk. Every durable fact and every answer is checked when it happens. At the end all faults
// stop, and every run must end.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "holdfast/lease_backend.h"
#include "lab/sim/oracle.h"
#include "lab/sim/sim_audit.h"
#include "lab/sim/sim_coverage.h"
#include "lab/sim/sim_plan.h"
#include "lab/sim/sim_process.h"
#include "lab/sim/sim_scenario.h"
#include "lab/sim/sim_trace.h"
#include "runs/view/explanation.h"

namespace holdfast::sim {

class Clients;
class Workers;
class FaultInjector;
class Leases;
class Checks;

class Simulation {
 public:
  Simulation(const Plan& plan, const Scenario& scenario, Trace& trace, Coverage& coverage);
  ~Simulation();

  // Plays the plan to its end, or to the first violation.
  std::optional<Violation> play();

  // For the parts of the simulation.
  [[nodiscard]] const Plan& plan() const { return plan_; }
  [[nodiscard]] const Scenario& scenario() const { return scenario_; }
  [[nodiscard]] const Dice& dice() const { return dice_; }
  Schedule& schedule() { return schedule_; }
  Oracle& oracle() { return oracle_; }
  const Audit& audit() const { return audit_; }
  MemoryDisk& disk() { return *disk_; }
  std::shared_ptr<MemoryDisk> shared_disk() { return disk_; }
  Workers& workers() { return *workers_; }
  Clients& clients() { return *clients_; }
  // nullptr if there is no observer.
  [[nodiscard]] Observer* observer() const { return observer_.get(); }
  void add_story(std::string run, std::string line) {
    trace_.add_story(schedule_.now_us(), std::move(run), std::move(line));
  }
  Coverage& coverage() { return coverage_; }
  std::vector<std::unique_ptr<Process>>& processes() { return processes_; }
  // A process that is up; nullptr if none is.
  Process* some_process(const Dice& dice);
  [[nodiscard]] bool has(Fault fault) const {
    return !faults_ended_ && plan_.faults.contains(fault);
  }
  // Facts from writers that ignore the rules were stored: the oracle cannot check anything from now
  // on.
  void disable_oracle() { oracle_disabled_ = true; }
  [[nodiscard]] bool oracle_enabled() const { return !oracle_disabled_; }
  [[nodiscard]] bool faults_ended() const { return faults_ended_; }
  void check_unanswered();
  [[nodiscard]] bool violated() const { return violation_.has_value(); }
  void note(const std::string& line);
  void count(const std::string& what) { coverage_.add(what); }
  // A guarantee was violated.
  void report_violation(const std::string& what);
  // A violation of an invariant of the observer, by name.
  void report_invariant(const std::string& invariant, const std::string& run,
                        const std::string& what);
  // The explanation of a run that has not ended.
  [[nodiscard]] Result<Explanation> explain(const RunId& run);
  // An attempt was assigned to a worker.
  void claimed(Process& process, const Assignment& assignment, std::string text);
  // The adapter of a lease backend has answered a worker, or acknowledged a signal.
  void lease_answered(const LeaseAnswer& answer);
  void acknowledged(const LeaseSignal& signal);
  // Adds the facts of a batch that no process of this simulation wrote.
  void add_foreign_batch(const RowView& row);
  // The number of batches that were stored.
  [[nodiscard]] std::uint64_t batches() const { return batches_; }
  // The ids of the runs that clients know, in the order in which they were started.
  [[nodiscard]] const std::vector<RunId>& runs() const { return runs_; }

  // What processes report.
  // A batch is durable; whole: with everything that the process wanted to write.
  void batch_landed(Process& process, const RowView& row, bool whole);
  // An answer was sent that needed no write.
  void answered_without_write(Process& process, const RequestPtr& request);
  // The core knows that its write ended; if the process is quiet, everything it knows is durable.
  void write_ended(Process& process);
  void committed(Process& process, const std::vector<CommitReport>& reports);
  void process_started(Process& process);
  // The process died, or stopped because of an error.
  void process_stopped(Process& process, const std::string& why);

 private:
  void act(const Item& item);
  bool play_until(std::int64_t end_us);
  void finish();
  void finish_runs();
  void store(const EntryView& entry, const RowView& row, std::uint32_t index);
  void check_answer(const RequestPtr& request);
  void collect_violations();
  void notify_others(const Process& writer);

  Plan plan_;
  const Scenario& scenario_;
  Trace& trace_;
  Coverage& coverage_;
  Dice dice_;
  Schedule schedule_;
  std::shared_ptr<MemoryDisk> disk_;
  Oracle oracle_;
  Audit audit_;
  Auditor auditor_{audit_};
  std::vector<RunId> runs_;
  std::uint64_t batches_ = 0;
  bool faults_ended_ = false;
  bool oracle_disabled_ = false;
  std::optional<Violation> violation_;
  std::vector<std::unique_ptr<Process>> processes_;
  std::unique_ptr<Workers> workers_;
  std::unique_ptr<Clients> clients_;
  std::unique_ptr<FaultInjector> fault_injector_;
  std::unique_ptr<Leases> leases_;
  std::unique_ptr<Checks> checks_;
  std::unique_ptr<Observer> observer_;
};

}  // namespace holdfast::sim
