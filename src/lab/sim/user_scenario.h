// UserScenario: a user's workflow with its world file. Handlers, decisions and events are drawn
// from the seed as the UserWorld declares; with `real` the programs of exec steps are executed.
#pragma once

#include <memory>

#include "lab/sim/sim_coverage.h"
#include "lab/sim/sim_plan.h"
#include "lab/sim/sim_scenario.h"
#include "lab/sim/user_world.h"

namespace holdfast::sim {

struct UserSetting {
  Workflows workflows;  // the first one is started; without cron triggers
  UserWorld world;
  bool real = false;
};

// The workflows without cron triggers: only the world file starts runs. invalid_argument: the
// workflow of a child run is missing.
Result<Workflows> simulated(const Workflows& workflows);

std::unique_ptr<Scenario> make_user_scenario(const std::shared_ptr<const UserSetting>& setting,
                                             std::uint64_t seed);
// Makes the decisions and sends the events that the world file declares, writes the story of the
// runs, counts coverage, and checks the invariants.
std::unique_ptr<Observer> make_user_observer(const UserSetting& setting, Simulation& simulation,
                                             const Dice& dice);
// Runs as the world file declares, and faults spread over the time that they may take.
Plan make_user_plan(const UserSetting& setting, std::uint64_t seed, const Faults& allowed);
// All faults except those that test Holdfast itself.
Faults user_faults();
// The longest time that one run may take as declared: the sum of all durations.
std::int64_t longest_us(const UserSetting& setting);

// A part of a workflow or of its world file, and how often it was reached.
struct CoveredPart {
  std::string kind;  // step, transition, outcome, decision, event, timeout, end
  std::string name;
  std::uint64_t times = 0;
};
std::vector<CoveredPart> flow_coverage(const UserSetting& setting, const Coverage& coverage);

// The name of a part in a Coverage: of an outcome its name; otherwise the workflow, then the step
// (transition: from, on, to and the condition; end: how), then the decision or the event.
std::string flow_key(std::string_view kind, const std::vector<std::string_view>& parts);

}  // namespace holdfast::sim
