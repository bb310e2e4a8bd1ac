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

class World;

class Watchers {
 public:
  explicit Watchers(World& world) : world_(world) {}

  void batch_landed();
  void write_ended(Process& process);
  void came_up(Process& process);
  void look_at_the_end();
  void look_for_unanswered();
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
  void look_at(Process& process, const RunId& run, bool remember);
  void count_anomalies();
  void compare_with_then(Journal& journal);
  void compare_with_scratch(Journal& journal);
  void compare_with_oracle();

  World& world_;
  std::vector<Seen> seen_;
  std::uint64_t looks_ = 0;
};

}  // namespace holdfast::sim
