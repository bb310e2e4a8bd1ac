#include <fmt/format.h>

#include "apps/cli/server_list.h"
#include "apps/terminal/terminal_text.h"

namespace holdfast::cli {

namespace {

// "declined: try later", from the error of an attempt.
std::string error_of(const Json& letter) {
  const auto error = letter.find("error");
  if (!error.has_value()) {
    return {};
  }
  const JsonRow row(*error);
  const std::string message = row.text("message");
  return row.text("code") + (message.empty() ? "" : ": " + message);
}

struct DeadLettersListCommand {
  BackendOptions backend = {};
  std::string queue = {};
  std::string workflow = {};
  std::string step = {};
  std::string code = {};
  std::string reason = {};
  std::string cursor = {};
  std::uint64_t limit = 100;

  void declare(Arguments& arguments) {
    add_backend(arguments, backend);
    arguments.option("--queue", "QUEUE", queue, "Only those of this queue");
    arguments.option("--workflow", "NAME", workflow, "Only those of runs of this workflow");
    arguments.option("--step", "STEP", step, "Only those of this step");
    arguments.option("--code", "CODE", code, "Only those whose error has this code");
    arguments.option("--reason", "REASON", reason,
                     "parked: the step waits; exhausted: the run has failed with it");
    arguments.option("--limit", "N", limit, "Largest number to list (default: 100)");
    arguments.option("--cursor", "CURSOR", cursor, "Continue a list where the page before ended");
  }

  Result<void> run(Context& context) const {
    DeadLettersRequest request;
    request.queue = queue;
    request.workflow = workflow;
    request.step = step;
    request.code = code;
    request.reason = reason;
    request.cursor = cursor;
    request.limit = limit;
    return print_server_list(backend, request, "dead_letters", context,
                             [&](const ServerList& list) { print(list, context); });
  }

  static void print(const ServerList& list, Context& context) {
    if (list.rows.empty()) {
      print_line(context, "no dead letters");
      return;
    }
    Table table({{"RUN"},
                 {"STEP", {}, 8},
                 {"QUEUE"},
                 {"REASON"},
                 {"ATTEMPTS"},
                 {"SINCE"},
                 {"ERROR", {}, 8}});
    for (const Json& item : list.rows) {
      const JsonRow row(item);
      table.add({{row.text("run_id")},
                 {row.text("step")},
                 {row.text("queue")},
                 {row.text("reason")},
                 {row.text("attempts")},
                 {row.age("since", context.clock.now())},
                 {error_of(item), Ink::red}});
    }
    context.out << table.text(list.backend->style());
    print_line(context,
               fmt::format("details: holdfast dead-letters show RUN{}", list.backend->suffix()));
  }
};

}  // namespace

extern const Command kDeadLettersListCommand = make_command<DeadLettersListCommand>(
    "dead-letters list", "List what failed for good, by queue, oldest first.",
    R"(These are the parked steps, and the attempts that failed their run.

Examples:
  holdfast dead-letters list
  holdfast dead-letters list --queue billing --code bank_down
  holdfast dead-letters list --reason exhausted
  holdfast dead-letters list --json | jq -r '.dead_letters[].run_id')");

}  // namespace holdfast::cli
