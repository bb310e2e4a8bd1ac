// The observer of a user's workflow: makes the decisions and sends the events that the world file
// declares, writes the story of the runs, counts coverage, and checks the invariants.
#pragma once

#include <memory>

#include "lab/sim/user_scenario.h"

namespace holdfast::sim {

std::unique_ptr<Observer> make_user_observer(const UserSetting& setting, Simulation& simulation,
                                             const Dice& dice);

}  // namespace holdfast::sim
