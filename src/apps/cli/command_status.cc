#include "apps/cli/backend_commands.h"

namespace holdfast::cli {

namespace {

struct StatusCommand : QueryCommand<StatusRequest> {
  void declare(Arguments& arguments) {
    QueryCommand::declare(arguments);
    add_at(arguments, request.at);
  }
};

}  // namespace

extern const Command kStatusCommand = make_command<StatusCommand>(
    "status", "Show the store in numbers: runs, queues, and what needs attention.",
    R"(Examples:
  holdfast status
  holdfast status --at 2026-11-16T14:02:00Z
  holdfast status --json | jq .queues)");

}  // namespace holdfast::cli
