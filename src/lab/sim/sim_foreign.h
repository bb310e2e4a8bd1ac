// Facts from writers that ignore the rules: repeated, altered, misplaced or invented.
#pragma once

#include "lab/sim/sim_dice.h"

namespace holdfast::sim {

class Simulation;

// Appends some of them to threads on the disk of the simulation. False if no fact is stored yet.
bool store_foreign_facts(Simulation& simulation, const Dice& dice);

}  // namespace holdfast::sim
