#include <fmt/format.h>

#include "apps/cli/server_list.h"

namespace holdfast::cli {

namespace {

struct ApprovalsCommand {
  BackendOptions backend = {};

  void declare(Arguments& arguments) { add_backend(arguments, backend); }

  Result<void> run(Context& context) const {
    return print_server_list(backend, ApprovalsRequest{}, "approvals", context,
                             [&](const ServerList& list) { print(list, context); });
  }

  static void print(const ServerList& list, Context& context) {
    if (list.rows.empty()) {
      print_line(context, "no run waits for a decision");
      return;
    }
    Table table({{"RUN"}, {"WORKFLOW", {}, 8}, {"STEP", {}, 8}, {"KIND"}, {"SINCE"}});
    for (const Json& item : list.rows) {
      const JsonRow row(item);
      table.add({{row.text("run_id")},
                 {row.text("workflow")},
                 {row.text("step")},
                 {row.text("kind"), Ink::yellow},
                 {row.age("since", context.clock.now())}});
    }
    context.out << table.text(list.backend->style());
    print_line(context, fmt::format("details: holdfast explain RUN{}", list.backend->suffix()));
  }
};

}  // namespace

extern const Command kApprovalsCommand = make_command<ApprovalsCommand>(
    "approvals", "List the approvals and pauses that wait for a decision, oldest first.",
    R"(Examples:
  holdfast approvals --server http://127.0.0.1:7717
  holdfast approvals --json | jq -r '.approvals[].run_id')");

}  // namespace holdfast::cli
