#include <fmt/format.h>

#include "apps/cli/argument_values.h"
#include "apps/cli/broker_backend.h"
#include "apps/cli/cli_store.h"
#include "apps/cli/command.h"
#include "apps/cli/json_rows.h"
#include "apps/terminal/text_table.h"

namespace holdfast::cli {

namespace {

// The parts of a queue that carries the attempts of runs, with what each is for.
struct RunQueue {
  std::string_view suffix;
  std::string_view order;
};
constexpr RunQueue kRunQueues[] = {{"", "shared"}, {"-signals", "lanes"}, {"-answers", "shared"}};

struct QueueOptions {
  std::string access = {};
  std::optional<std::uint64_t> max_deliveries = {};
  std::string lease = {};

  void declare(Arguments& arguments) {
    arguments.option("--access", "WHO", access,
                     "Who may claim: every member, or those that are granted it (open, closed)");
    arguments.restrict_to("--access", {"open", "closed"});
    arguments.option("--max-deliveries", "N", max_deliveries,
                     "A message that was delivered so often is dead; 0: no limit");
    arguments.option(
        "--lease", "TIME", lease,
        "How long a consumer has a message, for example 30s, unless it says otherwise");
  }

  Result<void> write(JsonWriter& json) const {
    if (!access.empty()) {
      json.member("access", access);
    }
    if (max_deliveries.has_value()) {
      json.member("max_deliveries", *max_deliveries);
    }
    if (!lease.empty()) {
      HOLDFAST_TRY(const std::uint64_t lease_ms, duration_argument("lease", lease));
      json.member("lease_ms", lease_ms);
    }
    return {};
  }
};

std::string queue_path(const std::string& workspace, const std::string& queue,
                       std::string_view rest = {}) {
  return workspace_path(workspace, "/queues" + path_part(queue) + std::string(rest));
}

void print_status(Context& context, const Json& json) {
  const JsonRow row(json);
  const auto inner = json.find("queue");
  if (!inner.has_value()) {
    return;
  }
  const JsonRow queue(*inner);
  print_line(context, fmt::format("{} ready, {} delayed, {} leased, {} dead; {} accepted",
                                  row.text("ready"), row.text("delayed"), row.text("leased"),
                                  row.text("dead"), queue.text("messages")));
  print_line(context,
             fmt::format("order {}, access {}{}, {} deliveries, leases of {}", queue.text("order"),
                         queue.text("access"),
                         row.names("consumers").empty() ? "" : " to " + row.names("consumers"),
                         queue.text("max_deliveries"), queue.duration("lease_ms")));
}

struct BrokerQueueCreateCommand {
  BrokerOptions broker = {};
  std::string workspace = {};
  std::string queue = {};
  std::string order = {};
  bool for_runs = false;
  QueueOptions options = {};

  void declare(Arguments& arguments) {
    arguments.required("WORKSPACE", workspace, "the name of the workspace");
    arguments.required("QUEUE", queue, "the name of the queue");
    arguments.option("--order", "ORDER", order,
                     "shared: consumers work side by side; lanes: messages of a sender keep their "
                     "order (default: shared)");
    arguments.restrict_to("--order", {"shared", "lanes"});
    options.declare(arguments);
    arguments.flag("--for-runs", for_runs,
                   "Also create QUEUE-signals and QUEUE-answers, for `holdfast server --backend`");
    arguments.exclude("--for-runs", "--order");
    add_broker_backend(arguments, broker);
  }

  Result<void> create(Context& context, const std::string& name, std::string_view kind) const {
    JsonWriter json;
    json.begin_object().member("name", name);
    if (!kind.empty()) {
      json.member("order", kind);
    }
    HOLDFAST_CHECK(options.write(json));
    json.end_object();
    return administer_broker(
        broker, context, StoreUse::existing,
        {"POST", workspace_path(workspace, "/queues"), std::move(json).take()},
        [&](const Json& made, const BrokerBackend& /*backend*/) {
          print_line(context, fmt::format("queue {} created", JsonRow(made).text("name")));
        });
  }

  Result<void> run(Context& context) const {
    if (!for_runs) {
      return create(context, queue, order);
    }
    for (const RunQueue& part : kRunQueues) {
      HOLDFAST_CHECK(create(context, queue + std::string(part.suffix), part.order));
    }
    return {};
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
          Table table({{"QUEUE"},
                       {"MESSAGES", Table::Column::Align::right},
                       {"ORDER"},
                       {"ACCESS"},
                       {"CREATED", {}, 0, true}});
          for (const Json& item : rows) {
            const JsonRow row(item);
            table.add({{row.text("name")},
                       {row.text("messages")},
                       {row.text("order")},
                       {row.text("access")},
                       {row.time("created_at")}});
          }
          context.out << table.text(style_of(""));
        });
  }
};

// A command about one queue that prints it afterwards.
struct QueueCommand {
  BrokerOptions broker = {};
  std::string workspace = {};
  std::string queue = {};

  void declare_queue(Arguments& arguments) {
    arguments.required("WORKSPACE", workspace, "the name of the workspace");
    arguments.required("QUEUE", queue, "the name of the queue");
  }
  Result<void> call(Context& context, std::string_view method, std::string_view rest,
                    std::string body) const {
    return administer_broker(
        broker, context, StoreUse::existing,
        {method, queue_path(workspace, queue, rest), std::move(body)},
        [&](const Json& json, const BrokerBackend& /*backend*/) { print_status(context, json); });
  }
};

struct BrokerQueueStatusCommand : QueueCommand {
  void declare(Arguments& arguments) {
    declare_queue(arguments);
    add_broker_backend(arguments, broker);
  }
  Result<void> run(Context& context) const { return call(context, "GET", "", ""); }
};

struct BrokerQueueConfigureCommand : QueueCommand {
  QueueOptions options = {};

  void declare(Arguments& arguments) {
    declare_queue(arguments);
    options.declare(arguments);
    add_broker_backend(arguments, broker);
  }
  Result<void> run(Context& context) const {
    JsonWriter json;
    json.begin_object();
    HOLDFAST_CHECK(options.write(json));
    json.end_object();
    return call(context, "POST", "", std::move(json).take());
  }
};

struct BrokerQueueGrantCommand : QueueCommand {
  std::string member = {};

  void declare(Arguments& arguments) {
    declare_queue(arguments);
    arguments.required("MEMBER", member, "the display name or public key of the member");
    add_broker_backend(arguments, broker);
  }
  Result<void> run(Context& context) const {
    JsonWriter json;
    json.begin_object().member("member", member).end_object();
    return call(context, "POST", "/consumers", std::move(json).take());
  }
};

struct BrokerQueueRevokeCommand : QueueCommand {
  std::string member = {};

  void declare(Arguments& arguments) {
    declare_queue(arguments);
    arguments.required("MEMBER", member, "the display name or public key of the member");
    add_broker_backend(arguments, broker);
  }
  Result<void> run(Context& context) const {
    return call(context, "DELETE", "/consumers" + path_part(member), "");
  }
};

}  // namespace

extern const Command kBrokerQueueCreateCommand = make_command<BrokerQueueCreateCommand>(
    "broker queue create", "Create a queue of messages.",
    R"(Every member of the workspace may send to a queue and read its history. A queue gives each
message to one consumer.

Examples:
  holdfast broker queue create team jobs
  holdfast broker queue create team bills --access closed --max-deliveries 5 --lease 2m
  holdfast broker queue create team steps --for-runs)");

extern const Command kBrokerQueueListCommand =
    make_command<BrokerQueueListCommand>("broker queue list", "List the queues of a workspace.",
                                         R"(Examples:
  holdfast broker queue list team)");

extern const Command kBrokerQueueStatusCommand = make_command<BrokerQueueStatusCommand>(
    "broker queue status", "Show what is in a queue, and its settings.",
    R"(Numbers of messages are counted up to 100,000.

Examples:
  holdfast broker queue status team jobs)");

extern const Command kBrokerQueueConfigureCommand = make_command<BrokerQueueConfigureCommand>(
    "broker queue configure", "Change the settings of a queue.",
    R"(What is not given keeps its value. The order of a queue cannot be changed.

Examples:
  holdfast broker queue configure team jobs --max-deliveries 50)");

extern const Command kBrokerQueueGrantCommand = make_command<BrokerQueueGrantCommand>(
    "broker queue grant", "Allow a member to claim from a closed queue.",
    R"(Examples:
  holdfast broker queue grant team bills ben)");

extern const Command kBrokerQueueRevokeCommand = make_command<BrokerQueueRevokeCommand>(
    "broker queue revoke", "Withdraw the permission to claim from a closed queue.",
    R"(What the member holds it may still acknowledge.

Examples:
  holdfast broker queue revoke team bills ben)");

}  // namespace holdfast::cli
