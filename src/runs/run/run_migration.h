// Migration: a run that has not ended continues on another definition of its workflow. It is
// allowed only if the run could have come to where it is on that definition: what is finished must
// have the same place, output and transitions there, and what is open must be the same step.
// Everything else may differ. Pure.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runs/run/run_decide.h"

namespace holdfast {

enum class MigrationBlocker : std::uint8_t {
  other_workflow,      // the definition is of another workflow
  unknown_definition,  // what the run follows now is not known here
  compensating,        // the run is compensating
  anomalies,           // its thread has entries that break a rule
  run_timeout,         // the timeout of the run differs, and its timer is set
  step_removed,        // a step that has begun is missing
  step_changed,  // an open step is another one, or the result of a finished one goes elsewhere
  step_moved,    // a step that has begun is on another path
  transition_changed,   // what follows a finished step differs
  dependency_not_done,  // a step that has begun did not wait for a step that it names
  added_step,           // a step that was added to the run has the name of a step, or follows none
};
template <>
inline constexpr std::string_view kEnumNames<MigrationBlocker>[] = {
    "other_workflow",     "unknown_definition",  "compensating", "anomalies",
    "run_timeout",        "step_removed",        "step_changed", "step_moved",
    "transition_changed", "dependency_not_done", "added_step"};

struct MigrationProblem {
  MigrationBlocker blocker = MigrationBlocker::other_workflow;
  std::string step;  // empty: the whole run
  std::string message;
};
// Why the run cannot continue on the definition, in the order of its steps; none: it can.
std::vector<MigrationProblem> migration_problems(const RunProjection& run,
                                                 const Definition& target);

// [run_signal_received, run_definition_migrated, then what the target begins or ends at once]. The
// target is attached. Empty when the run follows it already. terminal_run, run_not_found;
// invalid_transition when there are problems: the field "reason" is the first blocker, "problems"
// has them all.
struct MigrateRun {
  std::shared_ptr<const Definition> target;
  CommandSource source;
};
Result<RunFacts> decide_migrate(RunProjection& run, const MigrateRun& command,
                                const Surroundings& around, TimeMs now);

}  // namespace holdfast
