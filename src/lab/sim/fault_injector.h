// Faulty: what breaks, and those who look after the store. Damage is done to copies of the disk:
// whoever reads one must be told, or see what was there before.
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

  // False when the act is none of these, or nothing could be done.
  bool act(Act act, const Dice& dice);
  // Everything works again.
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
