#include "apps/cli/backend_commands.h"

namespace holdfast::cli {

extern const Command kRejectCommand = make_command<DecideCommand<DecideRun::Decision::reject>>(
    "reject", "Reject a step that waits for approval; the step fails.",
    R"(Examples:
  holdfast reject latest --actor ann --comment 'too expensive')");

}  // namespace holdfast::cli
