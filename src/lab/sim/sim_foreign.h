// Facts of writers who keep no rule: repeated, altered, out of place, made up.
#pragma once

#include "lab/sim/sim_dice.h"

namespace holdfast::sim {

class World;

// Appends some to the threads of the world's disk. False when there is nothing to take after.
bool store_foreign_facts(World& world, const Dice& dice);

}  // namespace holdfast::sim
