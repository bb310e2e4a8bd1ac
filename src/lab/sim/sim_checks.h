// Checks: what must hold in every simulation, checked while it runs and again at its end.
//  - No fact that an engine stored violates a rule.
//  - Every live run has a reason for its state, and an action or a time that will move it.
//  - A view of the past shows what it showed at that time.
//  - A process that starts from a checkpoint has the same state as one that read everything.
//  - The journal verifies, and the doctor finds no fault.
//  - The engine and the oracle agree about every run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lab/sim/sim_process.h"

namespace holdfast::sim {

class Simulation;

class Checks {
 public:
  explicit Checks(Simulation& simulation) : simulation_(simulation) {}

  void batch_landed();
  void write_ended(Process& process);
  void process_started(Process& process);
  void check_end();
  void check_unanswered();
  // The explanation of a run that should have ended.
  std::string why_not_ended();

 private:
  // The views of a run after a batch.
  struct Seen {
    RunId run;
    Position position;
    std::string snapshot;
    std::string explanation;
  };
  void check_run(Process& process, const RunId& run, bool remember);
  void count_anomalies();
  void compare_with_past(Journal& journal);
  void compare_with_rebuild(Journal& journal);
  void compare_with_oracle();

  Simulation& simulation_;
  std::vector<Seen> seen_;
  std::uint64_t rounds_ = 0;
};

}  // namespace holdfast::sim
