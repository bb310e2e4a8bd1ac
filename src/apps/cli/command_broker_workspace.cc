#include <fmt/format.h>

#include "apps/cli/broker_backend.h"
#include "apps/cli/cli_store.h"
#include "apps/cli/command.h"
#include "apps/cli/json_rows.h"
#include "apps/terminal/text_table.h"

namespace holdfast::cli {

namespace {

void print_workspaces(Context& context, const std::vector<Json>& rows) {
  Table table({{"NAME"},
               {"BODIES"},
               {"DEDUPE"},
               {"DAYS", Table::Column::Align::right},
               {"MESSAGE DAYS", Table::Column::Align::right},
               {"LIMIT", Table::Column::Align::right},
               {"CREATED", {}, 0, true}});
  for (const Json& item : rows) {
    const JsonRow row(item);
    const bool limited = row.number("rate_limit_per_window") > 0;
    table.add({{row.text("name")},
               {row.text("body_form")},
               {row.text("dedupe_mode")},
               {row.text("dedupe_retention_days")},
               {row.text("message_retention_days")},
               {limited ? fmt::format("{} / {} s", row.text("rate_limit_per_window"),
                                      row.text("window_seconds"))
                        : std::string("none")},
               {row.time("created_at")}});
  }
  context.out << table.text(style_of(""));
}

struct WorkspaceCreateCommand {
  BrokerOptions broker = {};
  std::string name = {};
  bool sealed = false;
  bool permanent = false;
  std::uint64_t dedupe_days = 365;
  std::uint64_t message_days = 365;
  std::uint64_t rate_limit = 0;
  std::uint64_t window_seconds = 60;
  std::uint64_t max_bytes = 65'536;

  void declare(Arguments& arguments) {
    arguments.required("WORKSPACE", name, "the name of the workspace");
    arguments.flag("--sealed", sealed, "Bodies are encrypted by their senders");
    arguments.flag("--permanent", permanent, "Message ids are remembered for ever");
    arguments.option("--dedupe-days", "DAYS", dedupe_days,
                     "How long a message id is remembered, at least 7 (default: 365)");
    arguments.option("--message-days", "DAYS", message_days,
                     "How long messages are kept, at most --dedupe-days (default: 365)");
    arguments.option("--rate-limit", "N", rate_limit,
                     "New messages per window (default: 0, no limit)");
    arguments.option("--window", "SECONDS", window_seconds, "Window of the limit (default: 60)");
    arguments.option("--max-bytes", "BYTES", max_bytes, "Largest body (default: 65536)");
    add_broker_backend(arguments, broker);
  }

  [[nodiscard]] std::string request() const {
    JsonWriter json;
    json.begin_object()
        .member("name", name)
        .member("body_form", sealed ? "sealed" : "plain")
        .member("dedupe_mode", permanent ? "permanent" : "retention_scoped")
        .member("dedupe_retention_days", dedupe_days)
        .member("message_retention_days", message_days)
        .member("rate_limit_per_window", rate_limit)
        .member("window_seconds", window_seconds)
        .member("max_inline_bytes", max_bytes)
        .end_object();
    return std::move(json).take();
  }

  Result<void> run(Context& context) const {
    return administer_broker(
        broker, context, StoreUse::create, {"POST", "/v1/workspaces", request()},
        [&](const Json& json, const BrokerBackend& /*backend*/) {
          print_line(context, fmt::format("workspace {} created", JsonRow(json).text("name")));
        });
  }
};

struct WorkspaceListCommand {
  BrokerOptions broker = {};

  void declare(Arguments& arguments) { add_broker_backend(arguments, broker); }

  Result<void> run(Context& context) const {
    return administer_broker(
        broker, context, StoreUse::existing, {"GET", "/v1/workspaces", ""},
        [&](const Json& json, const BrokerBackend& /*backend*/) {
          const std::vector<Json> rows = rows_of(json, "workspaces");
          if (rows.empty()) {
            print_line(context,
                       "no workspaces; `holdfast broker workspace create NAME` creates the first");
            return;
          }
          print_workspaces(context, rows);
        });
  }
};

struct WorkspaceShowCommand {
  BrokerOptions broker = {};
  std::string name = {};

  void declare(Arguments& arguments) {
    arguments.required("WORKSPACE", name, "the name of the workspace");
    add_broker_backend(arguments, broker);
  }

  Result<void> run(Context& context) const {
    return administer_broker(broker, context, StoreUse::existing, {"GET", workspace_path(name), ""},
                             [&](const Json& json, const BrokerBackend& /*backend*/) {
                               print_workspaces(context, {json});
                             });
  }
};

struct WorkspaceDeleteCommand {
  BrokerOptions broker = {};
  std::string name = {};
  bool confirm = false;

  void declare(Arguments& arguments) {
    arguments.required("WORKSPACE", name, "the name of the workspace");
    arguments.flag("--confirm", confirm, "Required: everything in the workspace is deleted");
    add_broker_backend(arguments, broker);
  }

  Result<void> run(Context& context) const {
    if (!confirm) {
      return Error{ErrorCode::invalid_argument,
                   fmt::format("this deletes the workspace {} with its members, topics and "
                               "messages; add --confirm to do it",
                               name)};
    }
    return administer_broker(
        broker, context, StoreUse::existing, {"DELETE", workspace_path(name), ""},
        [&](const Json& json, const BrokerBackend& /*backend*/) {
          print_line(context, fmt::format("workspace {} deleted", JsonRow(json).text("deleted")));
        });
  }
};

}  // namespace

extern const Command kBrokerWorkspaceCreateCommand = make_command<WorkspaceCreateCommand>(
    "broker workspace create",
    "Create a workspace: members, topics and queues that belong together.",
    R"(Members of a workspace send to each other, to its topics and to its queues; nothing leaves
it. Creates the store if it does not exist.

Message ids are remembered for --dedupe-days: a message that is sent again within that time gets the
answer of the first. Messages themselves are removed after --message-days.

Examples:
  holdfast broker workspace create team
  holdfast broker workspace create team --rate-limit 600 --window 60
  holdfast broker workspace create archive --permanent --message-days 0)");

extern const Command kBrokerWorkspaceListCommand =
    make_command<WorkspaceListCommand>("broker workspace list", "List the workspaces of a broker.",
                                       R"(Examples:
  holdfast broker workspace list
  holdfast broker workspace list --broker http://127.0.0.1:7718 --token-file admin.token)");

extern const Command kBrokerWorkspaceShowCommand =
    make_command<WorkspaceShowCommand>("broker workspace show", "Show the settings of a workspace.",
                                       R"(Examples:
  holdfast broker workspace show team
  holdfast broker workspace show team --json)");

extern const Command kBrokerWorkspaceDeleteCommand = make_command<WorkspaceDeleteCommand>(
    "broker workspace delete", "Delete a workspace with everything in it.",
    R"(Members, topics, queues, messages and message ids are deleted. There is no way back.

Examples:
  holdfast broker workspace delete team --confirm)");

}  // namespace holdfast::cli
