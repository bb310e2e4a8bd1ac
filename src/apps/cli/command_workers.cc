#include <fmt/format.h>

#include "apps/cli/server_list.h"

namespace holdfast::cli {

namespace {

std::string leases_of(const Json& worker) {
  std::string text;
  for (const Json& lease : rows_of(worker, "leases")) {
    const JsonRow row(lease);
    text +=
        fmt::format("{}{} of {}", text.empty() ? "" : ", ", row.text("step"), row.text("workflow"));
  }
  return text;
}

struct WorkersCommand {
  BackendOptions backend = {};

  void declare(Arguments& arguments) { add_backend(arguments, backend); }

  Result<void> run(Context& context) const {
    return print_server_list(backend, WorkersRequest{}, "workers", context,
                             [&](const ServerList& list) { print(list, context); });
  }

  static void print(const ServerList& list, Context& context) {
    if (list.rows.empty()) {
      print_line(context, fmt::format("no workers; start one with: holdfast worker{}",
                                      list.backend->suffix()));
      return;
    }
    Table table({{"NAME", {}, 8},
                 {"ID", {}, 12, true},
                 {"VERSION", {}, 0, true},
                 {"QUEUES", {}, 8, true},
                 {"HANDLERS", {}, 8, true},
                 {"SEEN"},
                 {"STEPS", Table::Column::Align::right},
                 {"AT", {}, 10, true}});
    for (const Json& item : list.rows) {
      const JsonRow row(item);
      table.add({{row.text("name")},
                 {row.text("id")},
                 {row.text("version")},
                 {row.names("queues")},
                 {row.names("handlers")},
                 {row.age("last_seen_at", context.clock.now())},
                 {std::to_string(rows_of(item, "leases").size())},
                 {leases_of(item)}});
    }
    context.out << table.text(list.backend->style());
  }
};

}  // namespace

extern const Command kWorkersCommand = make_command<WorkersCommand>(
    "workers", "List the workers of a server and the steps that each executes.",
    R"(Examples:
  holdfast workers --server http://127.0.0.1:7717
  holdfast workers --json | jq '.workers[].leases')");

}  // namespace holdfast::cli
