// FaultInjector: injects faults and performs maintenance. Batches are damaged only on copies of the
// disk; a reader of such a copy must get an error, or the state as it was before the damage.
#pragma once

#include <memory>
#include <string>

#include "lab/sim/sim_plan.h"
#include "lab/sim/sim_process.h"

namespace holdfast::sim {

class Simulation;

class FaultInjector {
 public:
  explicit FaultInjector(Simulation& simulation) : simulation_(simulation) {}

  // False if the act is not a fault or maintenance, or if it had no effect.
  bool act(Act act, const Dice& dice);
  // Ends all faults.
  void end();

 private:
  bool maintain(Act act, Process& process);
  bool fail_write(Act act, Process& process, const Dice& dice);
  bool disturb(Act act, Process& process, const Dice& dice);
  std::string* some_checkpoint(const Dice& dice);
  void restart_process(const Dice& dice);
  bool lose_checkpoint(const Dice& dice);
  bool restore_old_checkpoint(const Dice& dice);
  bool damage_checkpoint(const Dice& dice);
  bool flip_bit(const Dice& dice);
  bool tear_batch(const Dice& dice);
  bool write_foreign(const Dice& dice);
  void expect_error_or_same_state(const std::shared_ptr<MemoryDisk>& damaged,
                                  const std::string& what);

  Simulation& simulation_;
};

// sim_foreign.cc: appends facts of writers that ignore the rules to threads on the disk of the
// simulation: repeated, altered, misplaced or invented. False if no fact is stored yet.
bool store_foreign_facts(Simulation& simulation, const Dice& dice);

}  // namespace holdfast::sim
