// Other definitions of a workflow, as its author changes it while runs are in progress: steps come,
// go and change, and so do their order, their transitions and the limits of the workflow. Some are
// not valid.
#pragma once

#include <string>

#include "lab/sim/sim_dice.h"

namespace holdfast::sim {

// The text of a definition with one to three changes and another version.
std::string other_version(const std::string& definition, const Dice& dice);

}  // namespace holdfast::sim
