#include <fmt/format.h>

#include "apps/cli/broker_backend.h"
#include "apps/cli/cli_store.h"
#include "apps/cli/command.h"
#include "apps/cli/json_rows.h"
#include "apps/terminal/text_table.h"

namespace holdfast::cli {

namespace {

struct BrokerQueueCreateCommand {
  BrokerOptions broker = {};
  std::string workspace = {};
  std::string queue = {};

  void declare(Arguments& arguments) {
    arguments.required("WORKSPACE", workspace, "the name of the workspace");
    arguments.required("QUEUE", queue, "the name of the queue");
    add_broker_backend(arguments, broker);
  }

  Result<void> run(Context& context) const {
    JsonWriter json;
    json.begin_object().member("name", queue).end_object();
    return administer_broker(
        broker, context, StoreUse::existing,
        {"POST", workspace_path(workspace, "/queues"), std::move(json).take()},
        [&](const Json& made, const BrokerBackend& /*backend*/) {
          print_line(context, fmt::format("queue {} created", JsonRow(made).text("name")));
        });
  }
};

struct BrokerQueueListCommand {
  BrokerOptions broker = {};
  std::string workspace = {};

  void declare(Arguments& arguments) {
    arguments.required("WORKSPACE", workspace, "the name of the workspace");
    add_broker_backend(arguments, broker);
  }

  Result<void> run(Context& context) const {
    return administer_broker(
        broker, context, StoreUse::existing, {"GET", workspace_path(workspace, "/queues"), ""},
        [&](const Json& json, const BrokerBackend& /*backend*/) {
          const std::vector<Json> rows = rows_of(json, "queues");
          if (rows.empty()) {
            print_line(context, fmt::format("no queues; `holdfast broker queue create {} NAME` "
                                            "creates the first",
                                            workspace));
            return;
          }
          Table table(
              {{"QUEUE"}, {"MESSAGES", Table::Column::Align::right}, {"CREATED", {}, 0, true}});
          for (const Json& item : rows) {
            const JsonRow row(item);
            table.add({{row.text("name")}, {row.text("messages")}, {row.time("created_at")}});
          }
          context.out << table.text(style_of(""));
        });
  }
};

}  // namespace

extern const Command kBrokerQueueCreateCommand = make_command<BrokerQueueCreateCommand>(
    "broker queue create", "Create a queue of messages.",
    R"(Every member of the workspace may send to a queue and read its history.

Examples:
  holdfast broker queue create team jobs)");

extern const Command kBrokerQueueListCommand =
    make_command<BrokerQueueListCommand>("broker queue list", "List the queues of a workspace.",
                                         R"(Examples:
  holdfast broker queue list team)");

}  // namespace holdfast::cli
