#include <fmt/format.h>

#include "apps/cli/server_list.h"

namespace holdfast::cli {

namespace {

struct QueuesCommand {
  BackendOptions backend = {};

  void declare(Arguments& arguments) { add_backend(arguments, backend); }

  Result<void> run(Context& context) const {
    return print_server_list(backend, QueuesRequest{}, "queues", context,
                             [&](const ServerList& list) { print(list, context); });
  }

  static void add_backend_state(Table& table, const JsonRow& state, TimeMs now) {
    if (state.truth("reachable")) {
      table.add_below("  carried by a lease backend");
    } else {
      table.add_below(fmt::format("  its lease backend failed {}; the server tries again {}",
                                  state.age("unreachable_since", now),
                                  state.age("next_try_at", now)));
    }
  }

  static void print(const ServerList& list, Context& context) {
    using Align = Table::Column::Align;
    if (list.rows.empty()) {
      print_line(context, "no queues");
      return;
    }
    Table table({{"QUEUE", {}, 8},
                 {"WAITING", Align::right},
                 {"LATER", Align::right},
                 {"CLAIMED", Align::right},
                 {"EXPIRED", Align::right},
                 {"ASLEEP", Align::right},
                 {"OLDEST", Align::right},
                 {"NEXT", {}, 0, true}});
    for (const Json& item : list.rows) {
      const JsonRow row(item);
      table.add({{row.text("name")},
                 {row.text("visible")},
                 {row.text("scheduled")},
                 {row.text("claimed")},
                 {row.text("expired"), row.number("expired") > 0 ? Ink::red : Ink::plain},
                 {row.text("sleeping")},
                 {row.duration("oldest_age_ms")},
                 {row.age("next_visible_at", context.clock.now())}});
      if (const auto backend = item.find("backend")) {
        add_backend_state(table, JsonRow(*backend), context.clock.now());
      }
      for (const Json& blocked : rows_of(item, "blocked")) {
        table.add_below(fmt::format("  {}", JsonRow(blocked).text("summary")));
      }
    }
    context.out << table.text(list.backend->style());
  }
};

}  // namespace

extern const Command kQueuesCommand = make_command<QueuesCommand>(
    "queues", "List the queues of a server: the steps in them and what they wait for.",
    R"(Examples:
  holdfast queues --server http://127.0.0.1:7717
  holdfast queues --json | jq '.queues[] | select(.blocked != [])')");

}  // namespace holdfast::cli
