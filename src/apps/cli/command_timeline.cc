#include "apps/cli/backend_commands.h"

namespace holdfast::cli {

namespace {

struct TimelineCommand : QueryCommand<TimelineRequest> {
  void declare(Arguments& arguments) {
    QueryCommand::declare(arguments);
    add_run(arguments, request.run);
    arguments.flag("--events", request.events, "Print one line per event instead of bars");
    add_run_at(arguments, request.at);
  }
};

}  // namespace

extern const Command kTimelineCommand = make_command<TimelineCommand>(
    "timeline", "Show what happened in a run and how long each attempt took.",
    R"(Prints one bar per attempt, including failed and repeated ones.

Examples:
  holdfast timeline latest
  holdfast timeline latest --events
  holdfast timeline latest --json | jq '.events[].summary')");

}  // namespace holdfast::cli
