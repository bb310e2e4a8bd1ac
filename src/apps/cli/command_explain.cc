#include "apps/cli/backend_commands.h"

namespace holdfast::cli {

namespace {

struct ExplainCommand : QueryCommand<ExplainRequest> {
  void declare(Arguments& arguments) {
    QueryCommand::declare(arguments);
    add_run(arguments, request.run);
    add_run_at(arguments, request.at);
  }
};

}  // namespace

extern const Command kExplainCommand = make_command<ExplainCommand>(
    "explain", "Explain why a run is in its state and what would advance it.",
    R"(Prints a summary, then each cause down to its origin: a decision, an event, a time, a
worker, or a child run and what that one waits for; then the commands that would advance the
run.

Examples:
  holdfast explain latest
  holdfast explain 9f3c21 --at 10m       ten minutes ago
  holdfast explain latest --json | jq -r .reason)");

}  // namespace holdfast::cli
