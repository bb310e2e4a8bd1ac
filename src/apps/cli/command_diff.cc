#include "apps/cli/backend_commands.h"

namespace holdfast::cli {

namespace {

struct DiffCommand : QueryCommand<DiffRequest> {
  void declare(Arguments& arguments) {
    QueryCommand::declare(arguments);
    add_run(arguments, request.run);
    arguments.option("--from", "POINT", request.from, "The earlier point");
    arguments.require("--from");
    arguments.option("--to", "POINT", request.to, "The later point (default: now)");
  }
};

}  // namespace

extern const Command kDiffCommand =
    make_command<DiffCommand>("diff", "Show what changed in a run between two points.",
                              R"(A point is a log position (123), a revision of the run (r5), a time
(2026-11-16T14:02:00Z) or an age (10m).

Examples:
  holdfast diff latest --from r3
  holdfast diff latest --from 10m --to 5m
  holdfast diff latest --from r3 --to r5 --json)");

}  // namespace holdfast::cli
