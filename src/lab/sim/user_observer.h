// The witness of a user's workflow: it lets people decide and events come as the world declares,
// tells the story of runs in the words of the workflow, counts what was met, and has the
// invariants judged.
#pragma once

#include <memory>

#include "lab/sim/user_scenario.h"

namespace holdfast::sim {

std::unique_ptr<Witness> make_user_witness(const UserSetting& setting, World& world,
                                           const Dice& dice);

}  // namespace holdfast::sim
