#include "apps/cli/backend_commands.h"

namespace holdfast::cli {

extern const Command kWorkflowListCommand =
    make_command<QueryCommand<WorkflowsRequest>>("workflow list", "List the registered workflows.",
                                                 R"(Examples:
  holdfast workflow list
  holdfast workflow list --json)");

}  // namespace holdfast::cli
