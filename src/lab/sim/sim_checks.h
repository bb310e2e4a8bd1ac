// Watchers: what must hold whatever happens, looked at while it happens and once more at the end.
//  - No fact of an engine breaks a rule.
//  - Every run that has not ended has a reason, and something that will move it.
//  - What a view shows of the past is what it showed then.
//  - Whoever starts from a checkpoint knows what those know who read everything.
//  - The journal is whole, and the doctor finds no fault.
//  - What the engine says of a run is what the oracle says of it.
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
  // Of a run that should have ended.
  std::string why_not_ended();

 private:
  // What could be seen of a run after a batch.
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
