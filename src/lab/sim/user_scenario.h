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

// The names of these parts in a Coverage.
std::string step_key(std::string_view workflow, std::string_view step);
std::string transition_key(std::string_view workflow, std::string_view from, std::string_view on,
                           std::string_view to, std::string_view when);
std::string decision_key(std::string_view workflow, std::string_view step, ManualAction action);
std::string event_key(std::string_view workflow, std::string_view step, std::string_view event);
std::string timeout_key(std::string_view workflow, std::string_view step);
std::string end_key(std::string_view workflow, TerminalStatus end);
std::string outcome_key(std::string_view name);

}  // namespace holdfast::sim
