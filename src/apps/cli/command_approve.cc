#include "apps/cli/backend_commands.h"

namespace holdfast::cli {

extern const Command kApproveCommand = make_command<DecideCommand<DecideRun::Decision::approve>>(
    "approve", "Approve a step that waits for approval.",
    R"(Examples:
  holdfast approve latest --actor ann
  holdfast approve 9f3c21 --step manager --actor ann --comment 'fine with me')");

}  // namespace holdfast::cli
