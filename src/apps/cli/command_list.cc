#include "apps/cli/backend_commands.h"

namespace holdfast::cli {

namespace {

struct ListCommand : QueryCommand<ListRequest> {
  bool oldest_first = false;

  void declare(Arguments& arguments) {
    QueryCommand::declare(arguments);
    arguments.option("--workflow", "NAME", request.workflow, "Only runs of this workflow");
    arguments.option("--status", "STATUS", request.statuses,
                     "Only runs with this status; may be given several times");
    arguments.option("--since", "TIME", request.since,
                     "Only runs started at or after a time (2026-11-16) or an age (2h)");
    arguments.option("--until", "TIME", request.until, "Only runs started before a time or an age");
    arguments.option("--attribute", "NAME=VALUE", request.attributes,
                     "Only runs with this search attribute; may be given several times");
    arguments.option("--limit", "N", request.limit, "Runs per page (default: 50)");
    arguments.option("--cursor", "CURSOR", request.cursor,
                     "Continue after the page that printed this cursor");
    arguments.flag("--oldest-first", oldest_first, "Oldest first (default: newest first)");
    arguments.flag("--archived", request.archived, "Include archived runs");
    add_at(arguments, request.at);
  }
  Result<void> run(Context& context) const {
    ListRequest list = request;
    list.order = oldest_first ? RunOrder::oldest : RunOrder::newest;
    return print_query(backend, list, context);
  }
};

}  // namespace

extern const Command kListCommand = make_command<ListCommand>(
    "list", "List runs, newest first.",
    R"(Pages are stable: a run stays on its page while other runs start and end. Statuses: new,
started, running, idle, paused, compensating, completed, failed, cancelled, continued.

Examples:
  holdfast list
  holdfast list --status failed --since 2026-11-16
  holdfast list --workflow order --attribute customer=ann
  holdfast list --at 1h                  as it was an hour ago
  holdfast list --json | jq -r '.runs[].run_id')");

}  // namespace holdfast::cli
