// UserScenario: a workflow of a user in the world that is declared for it. Handlers, people and
// events are as the UserWorld says, drawn from the seed; with `real` the programs of exec steps are
// really executed.
#pragma once

#include <memory>

#include "lab/sim/sim_coverage.h"
#include "lab/sim/sim_plan.h"
#include "lab/sim/sim_scenario.h"
#include "lab/sim/user_world.h"

namespace holdfast::sim {

struct UserSetting {
  Workflows workflows;  // the first is the one that is started; no triggers by the clock
  UserWorld world;
  bool real = false;
};

// The same workflows without cron: only what the world says starts runs. invalid_argument: a child
// of one of them is not there.
Result<Workflows> simulated(const Workflows& workflows);

std::unique_ptr<Scenario> make_user_scenario(const std::shared_ptr<const UserSetting>& setting,
                                             std::uint64_t seed);
// Runs as the world says, and faults over all the time that they may take.
Plan make_user_plan(const UserSetting& setting, std::uint64_t seed, const Faults& allowed);
// All but those that are for Holdfast itself.
Faults user_faults();
// How long one run may take by what is declared, in sum.
std::int64_t longest_us(const UserSetting& setting);

// A part of a workflow or of its world, and how often it was met.
struct Met {
  std::string kind;  // step, transition, outcome, decision, event, timeout, end
  std::string name;
  std::uint64_t times = 0;
};
std::vector<Met> flow_coverage(const UserSetting& setting, const Coverage& coverage);

// What these are called in a Coverage.
std::string met_step(std::string_view workflow, std::string_view step);
std::string met_transition(std::string_view workflow, std::string_view from, std::string_view on,
                           std::string_view to, std::string_view when);
std::string met_decision(std::string_view workflow, std::string_view step, ManualAction action);
std::string met_event(std::string_view workflow, std::string_view step, std::string_view event);
std::string met_timeout(std::string_view workflow, std::string_view step);
std::string met_end(std::string_view workflow, TerminalStatus end);
std::string met_outcome(std::string_view name);

}  // namespace holdfast::sim
