#include "apps/cli/backend_commands.h"

namespace holdfast::cli {

extern const Command kResumeCommand =
    make_command<DecideCommand<DecideRun::Decision::resume>>("resume", "Resume a paused run.",
                                                             R"(Examples:
  holdfast resume latest
  holdfast resume 9f3c21 --step check --actor ann --comment 'looks right')");

}  // namespace holdfast::cli
