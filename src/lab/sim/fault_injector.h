// FaultInjector: injects faults and performs maintenance. It damages copies of the disk only; a
// reader of a damaged copy must get an error, or the state as it was before the damage.
#pragma once

#include <memory>
#include <string>

#include "lab/sim/sim_plan.h"
#include "lab/sim/sim_process.h"

namespace holdfast::sim {

class World;

class Faulty {
 public:
  explicit Faulty(World& world) : world_(world) {}

  // False if the act is not a fault or maintenance, or if it had no effect.
  bool act(Act act, const Dice& dice);
  // Ends all faults.
  void end();

 private:
  bool look_after(Act act, Process& process);
  bool break_write(Act act, Process& process, const Dice& dice);
  bool befall(Act act, Process& process, const Dice& dice);
  std::string* some_checkpoint(const Dice& dice);
  void restart_somebody(const Dice& dice);
  bool lose_checkpoint(const Dice& dice);
  bool bring_back_checkpoint(const Dice& dice);
  bool damage_checkpoint(const Dice& dice);
  bool flip_bit(const Dice& dice);
  bool tear_batch(const Dice& dice);
  bool write_foreign(const Dice& dice);
  void expect_told_or_same(const std::shared_ptr<MemoryDisk>& damaged, const std::string& what);

  World& world_;
};

}  // namespace holdfast::sim
