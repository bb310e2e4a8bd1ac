#include <fmt/format.h>

#include "apps/cli/argument_values.h"
#include "apps/cli/broker_backend.h"
#include "apps/cli/cli_store.h"
#include "apps/cli/command.h"
#include "apps/cli/json_rows.h"
#include "apps/terminal/text_table.h"
#include "net/http.h"

namespace holdfast::cli {

namespace {

std::string dead_path(const std::string& workspace, const std::string& queue,
                      std::string_view rest) {
  return workspace_path(workspace, "/queues" + path_part(queue) + std::string(rest));
}

struct BrokerQueueDeadCommand {
  BrokerOptions broker = {};
  std::string workspace = {};
  std::string queue = {};
  std::string reason = {};
  std::string after = {};
  std::uint64_t limit = 100;

  void declare(Arguments& arguments) {
    arguments.required("WORKSPACE", workspace, "the name of the workspace");
    arguments.required("QUEUE", queue, "the name of the queue");
    arguments.option("--reason", "TEXT", reason, "Only messages that are dead for this reason");
    arguments.option("--after", "ID", after, "Only messages behind this one");
    arguments.option("--limit", "N", limit, "At most so many (default: 100)");
    add_broker_backend(arguments, broker);
  }

  Result<void> run(Context& context) const {
    std::string query = fmt::format("/dead?limit={}", limit);
    query += after.empty() ? "" : "&after=" + net::url_encoded(after);
    query += reason.empty() ? "" : "&reason=" + net::url_encoded(reason);
    return administer_broker(broker, context, StoreUse::existing,
                             {"GET", dead_path(workspace, queue, query), ""},
                             [&](const Json& json, const BrokerBackend& /*backend*/) {
                               const std::vector<Json> rows = rows_of(json, "messages");
                               if (rows.empty()) {
                                 print_line(context, "no dead messages");
                                 return;
                               }
                               Table table({{"MESSAGE"},
                                            {"SENDER"},
                                            {"ID"},
                                            {"DELIVERIES", Table::Column::Align::right},
                                            {"DEAD SINCE"},
                                            {"REASON", {}, 0, true}});
                               for (const Json& item : rows) {
                                 const JsonRow row(item);
                                 table.add({{row.text("broker_message_id")},
                                            {row.text("sender")},
                                            {row.text("client_message_id")},
                                            {row.text("deliveries")},
                                            {row.time("dead_at")},
                                            {row.text("reason")}});
                               }
                               context.out << table.text(style_of(""));
                             });
  }
};

// Which dead messages a command changes.
struct DeadOptions {
  BrokerOptions broker = {};
  std::string workspace = {};
  std::string queue = {};
  std::vector<std::string> ids = {};
  bool all = false;
  std::string reason = {};
  std::uint64_t limit = 100;
  bool preview = false;

  void declare(Arguments& arguments) {
    arguments.required("WORKSPACE", workspace, "the name of the workspace");
    arguments.required("QUEUE", queue, "the name of the queue");
    arguments.option("--id", "MESSAGE", ids,
                     "The broker's id of a message; may be given several times");
    arguments.flag("--all", all, "All dead messages of the queue, the oldest first");
    arguments.option("--reason", "TEXT", reason,
                     "Of all: only those that are dead for this reason");
    arguments.option("--limit", "N", limit, "Of all: at most so many (default: 100)");
    arguments.flag("--preview", preview, "Show which messages it would be; change nothing");
    arguments.exclude("--all", "--id");
    arguments.need("--reason", "--all");
    add_broker_backend(arguments, broker);
  }

  Result<void> call(Context& context, std::string_view rest, JsonWriter json,
                    std::string_view verb) const {
    if (ids.empty() && !all) {
      return Error{ErrorCode::invalid_argument, "name messages with --id, or use --all"}.with(
          "field", "id");
    }
    if (!ids.empty()) {
      json.key("broker_message_ids").begin_array();
      for (const std::string& id : ids) {
        json.string(id);
      }
      json.end_array();
    } else {
      json.member("reason", reason).member("limit", limit);
    }
    json.key("preview").boolean(preview).end_object();
    return administer_broker(
        broker, context, StoreUse::existing,
        {"POST", dead_path(workspace, queue, rest), std::move(json).take()},
        [&](const Json& changed, const BrokerBackend& /*backend*/) {
          const auto list = changed.find("broker_message_ids");
          const std::size_t count = list.has_value() ? list->size() : 0;
          print_line(context, fmt::format("{} message{} {}{}", count, count == 1 ? "" : "s",
                                          preview ? "would be " : "", verb));
        });
  }
};

struct BrokerQueueRedriveCommand : DeadOptions {
  std::string delay = {};

  void declare(Arguments& arguments) {
    DeadOptions::declare(arguments);
    arguments.option("--delay", "TIME", delay, "Until they can be claimed, for example 10m");
  }
  Result<void> run(Context& context) const {
    JsonWriter json;
    json.begin_object();
    if (!delay.empty()) {
      HOLDFAST_TRY(const std::uint64_t delay_ms, duration_argument("delay", delay));
      json.member("delay_ms", delay_ms);
    }
    return call(context, "/redrive", std::move(json), "redriven");
  }
};

struct BrokerQueueDiscardCommand : DeadOptions {
  Result<void> run(Context& context) const {
    JsonWriter json;
    json.begin_object();
    return call(context, "/discard", std::move(json), "discarded");
  }
};

}  // namespace

extern const Command kBrokerQueueDeadCommand = make_command<BrokerQueueDeadCommand>(
    "broker queue dead", "List the dead messages of a queue.",
    R"(A message is dead after its last delivery, or when it has expired. It stays until it is
redriven or discarded, and is removed with its history.

Examples:
  holdfast broker queue dead team jobs
  holdfast broker queue dead team jobs --reason expired --json)");

extern const Command kBrokerQueueRedriveCommand = make_command<BrokerQueueRedriveCommand>(
    "broker queue redrive", "Make dead messages of a queue ready again.",
    R"(Their deliveries are counted from the beginning, and they do not expire any more.

Examples:
  holdfast broker queue redrive team jobs --id 01JD3ZK8Q6X4T2V9B7N5M1C0RA
  holdfast broker queue redrive team jobs --all --limit 1000 --preview
  holdfast broker queue redrive team jobs --all --reason expired --delay 10m)");

extern const Command kBrokerQueueDiscardCommand = make_command<BrokerQueueDiscardCommand>(
    "broker queue discard", "Discard dead messages of a queue.",
    R"(A discarded message is not delivered any more. Its content stays in the history of the queue.

Examples:
  holdfast broker queue discard team jobs --id 01JD3ZK8Q6X4T2V9B7N5M1C0RA
  holdfast broker queue discard team jobs --all --reason expired)");

}  // namespace holdfast::cli
