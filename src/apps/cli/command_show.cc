#include "apps/cli/backend_commands.h"

namespace holdfast::cli {

namespace {

struct ShowCommand : QueryCommand<ShowRequest> {
  void declare(Arguments& arguments) {
    QueryCommand::declare(arguments);
    add_run(arguments, request.run);
    add_run_at(arguments, request.at);
  }
};

}  // namespace

extern const Command kShowCommand = make_command<ShowCommand>(
    "show", "Show a run: the state of each step, what it waits for, and its result.",
    R"(Values of keys that name secrets (password, token, api_key and so on) are not shown.

Examples:
  holdfast show latest
  holdfast show 9f3c21
  holdfast show latest --at r5           as it was at revision 5
  holdfast show latest --json | jq .context)");

}  // namespace holdfast::cli
