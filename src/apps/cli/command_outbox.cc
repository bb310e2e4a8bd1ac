#include <fmt/format.h>

#include <algorithm>

#include "apps/cli/argument_values.h"
#include "apps/cli/cli_store.h"
#include "apps/cli/command.h"
#include "apps/cli/daemon_backend.h"
#include "apps/cli/json_rows.h"
#include "apps/terminal/text_table.h"
#include "net/http.h"

namespace holdfast::cli {

namespace {

constexpr std::int64_t kDayInMs = 86'400'000;

std::string message_path(std::string_view message, std::string_view rest = "") {
  return "/v1/outbox/" + net::url_encoded(message) + std::string(rest);
}

void show_outbox_rows(Context& context, const std::vector<Json>& rows) {
  Table table({{"MESSAGE"},
               {"STATUS"},
               {"TO"},
               {"ATTEMPTS", Table::Column::Align::right},
               {"ACCEPTED", {}, 0, true},
               {"LAST ERROR"}});
  for (const Json& item : rows) {
    const JsonRow row(item);
    table.add({{row.text("client_message_id")},
               {row.text("status")},
               {row.text("to")},
               {row.text("attempts")},
               {row.time("enqueued_at")},
               {row.text("last_error")}});
  }
  context.out << table.text(style_of(""));
}

struct OutboxListCommand {
  std::string status = "all";
  bool failed = false;
  std::string error = {};
  std::uint64_t limit = 50;
  std::string home = {};

  void declare(Arguments& arguments) {
    arguments.option("--status", "STATUS", status,
                     "pending, inflight, done, dead or aborted (default: all)");
    arguments.restrict_to("--status", {"all", "pending", "inflight", "done", "dead", "aborted"});
    arguments.flag("--failed", failed, "The same as --status dead");
    arguments.option("--error", "TEXT", error, "Only messages whose last error has this text");
    arguments.option("--limit", "N", limit, "The most messages to list, up to 500 (default: 50)");
    add_daemon_home(arguments, home);
  }

  Result<void> run(Context& context) const {
    std::string path = fmt::format("/v1/outbox?status={}&limit={}", failed ? "dead" : status,
                                   std::max<std::uint64_t>(limit, 1));
    if (!error.empty()) {
      path += "&error=" + net::url_encoded(error);
    }
    return call_daemon(home, context, {"GET", path}, [&](const Json& json) {
      const std::vector<Json> rows = rows_of(json, "messages");
      if (rows.empty()) {
        print_line(context, "no messages");
        return;
      }
      show_outbox_rows(context, rows);
    });
  }
};

struct OutboxInspectCommand {
  std::string message = {};
  std::string home = {};

  void declare(Arguments& arguments) {
    arguments.required("MESSAGE", message, "the id of the message, or of its row");
    add_daemon_home(arguments, home);
  }

  Result<void> run(Context& context) const {
    return call_daemon(home, context, {"GET", message_path(message)}, [&](const Json& json) {
      show_outbox_rows(context, rows_of(json, "chain"));
    });
  }
};

struct OutboxRequeueCommand {
  std::string message = {};
  bool automatic = false;
  std::string new_id = {};
  std::string patch = {};
  bool force = false;
  std::string reason = {};
  std::string home = {};

  void declare(Arguments& arguments) {
    arguments.required("MESSAGE", message, "the id of the message, or of its row");
    arguments.flag("--auto", automatic, "Make a fresh id");
    arguments.option("--new-client-id", "ID", new_id, "The new id");
    arguments.exclude("--auto", "--new-client-id");
    arguments.option("--patch-payload", "FILE", patch, "The new text of the message");
    arguments.flag("--force", force,
                   "Also while it is being sent, or while the broker cannot say whether it has it");
    arguments.option("--reason", "TEXT", reason, "Why, for the record");
    add_daemon_home(arguments, home);
  }

  Result<void> run(Context& context) const {
    if (automatic == !new_id.empty()) {
      return Error{ErrorCode::invalid_argument,
                   "give --auto or --new-client-id: a message that is sent again has another id"};
    }
    JsonWriter json;
    json.begin_object();
    if (automatic) {
      json.member("auto", true);
    } else {
      json.member("new_client_message_id", new_id);
    }
    if (!patch.empty()) {
      HOLDFAST_TRY(const std::string body, read_file_argument(patch));
      json.member("message", body);
    }
    if (force) {
      json.member("force", true);
    }
    if (!reason.empty()) {
      json.member("reason", reason);
    }
    json.end_object();
    return call_daemon(
        home, context,
        {"POST", message_path(message, "/requeue"), std::string(std::move(json).take())},
        [&](const Json& reply) { show(context, reply); });
  }

 private:
  static void show(Context& context, const Json& reply) {
    const JsonRow before(*reply.find("old"));
    const auto next = reply.find("new");
    print_line(context,
               next.has_value()
                   ? fmt::format("{} is retired; {} is sent in its place",
                                 before.text("client_message_id"),
                                 JsonRow(*next).text("client_message_id"))
                   : fmt::format("{} was accepted by the broker before; nothing is sent again",
                                 before.text("client_message_id")));
  }
};

struct OutboxRequeueAllCommand {
  std::string status = "dead";
  std::string error = {};
  std::uint64_t limit = 1000;
  std::uint64_t rate = 0;
  bool dry_run = false;
  bool force = false;
  std::string reason = {};
  std::string home = {};

  void declare(Arguments& arguments) {
    arguments.option("--status", "STATUS", status, "dead or pending (default: dead)");
    arguments.restrict_to("--status", {"dead", "pending"});
    arguments.option("--error", "TEXT", error, "Only messages whose last error has this text");
    arguments.option("--limit", "N", limit, "The most messages (default: 1000)");
    arguments.option("--rate", "N", rate, "Send at most N of them per second (default: no limit)");
    arguments.flag("--dry-run", dry_run, "Only list what would be sent again");
    arguments.flag("--force", force,
                   "Also messages that the broker may have accepted, while it does not answer");
    arguments.option("--reason", "TEXT", reason, "Why, for the record");
    add_daemon_home(arguments, home);
  }

  Result<void> run(Context& context) const {
    JsonWriter json;
    json.begin_object().member("status", status).member("limit", limit);
    json.member("rate", rate).member("dry_run", dry_run).member("force", force);
    if (!error.empty()) {
      json.member("error", error);
    }
    if (!reason.empty()) {
      json.member("reason", reason);
    }
    json.end_object();
    return call_daemon(
        home, context, {"POST", "/v1/outbox/requeue-bulk", std::string(std::move(json).take())},
        [&](const Json& reply) {
          for (const Json& item : rows_of(reply, "outcomes")) {
            const JsonRow row(item);
            print_line(context,
                       fmt::format("{} {} {}{}", row.text("client_message_id"), row.text("result"),
                                   row.text("new_client_message_id"), row.text("why")));
          }
        });
  }
};

struct OutboxAbortCommand {
  std::string message = {};
  std::string reason = {};
  bool force = false;
  std::string home = {};

  void declare(Arguments& arguments) {
    arguments.required("MESSAGE", message, "the id of the message, or of its row");
    arguments.option("--reason", "TEXT", reason, "Why, for the record");
    arguments.require("--reason");
    arguments.flag("--force", force, "Also while it is being sent");
    add_daemon_home(arguments, home);
  }

  Result<void> run(Context& context) const {
    JsonWriter json;
    json.begin_object().member("reason", reason).member("force", force).end_object();
    return call_daemon(
        home, context,
        {"POST", message_path(message, "/abort"), std::string(std::move(json).take())},
        [&](const Json& row) {
          print_line(context, fmt::format("{} is retired", JsonRow(row).text("client_message_id")));
        });
  }
};

struct OutboxCompactCommand {
  std::uint64_t days = 30;
  std::string home = {};

  void declare(Arguments& arguments) {
    arguments.option("--older-than", "DAYS", days,
                     "Messages that ended longer ago than this (default: 30)");
    add_daemon_home(arguments, home);
  }

  Result<void> run(Context& context) const {
    const std::int64_t before =
        context.clock.now().value - static_cast<std::int64_t>(days) * kDayInMs;
    JsonWriter json;
    json.begin_object().member("ended_before", std::max<std::int64_t>(before, 0)).end_object();
    return call_daemon(home, context,
                       {"POST", "/v1/outbox/compact", std::string(std::move(json).take())},
                       [&](const Json& reply) {
                         print_line(context, fmt::format("dropped the text of {} messages",
                                                         JsonRow(reply).text("compacted")));
                       });
  }
};

}  // namespace

extern const Command kOutboxListCommand =
    make_command<OutboxListCommand>("outbox list", "List the messages of the daemon, newest first.",
                                    R"(Exit codes: 7 no daemon runs.

Examples:
  holdfast outbox list --status pending
  holdfast outbox list --failed)");

extern const Command kOutboxInspectCommand = make_command<OutboxInspectCommand>(
    "outbox inspect", "Show a message, and those that took its place.",
    R"(With --json also its text. Exit codes: 7 no daemon runs.

Examples:
  holdfast outbox inspect report-2026-11-18)");

extern const Command kOutboxRequeueCommand = make_command<OutboxRequeueCommand>(
    "outbox requeue", "Send a dead or pending message again, under another id.",
    R"(The id of a message is never used again: the old message is retired, and a new one takes its
place. After an attempt without an answer the broker is queried first: it may have accepted the
message.

Exit codes: 4 the message was delivered, retired, or is being sent; 5 the broker does not answer;
7 no daemon runs.

Examples:
  holdfast outbox requeue report-2026-11-18 --auto
  holdfast outbox requeue report-2026-11-18 --new-client-id report-2 --patch-payload report.json)");

extern const Command kOutboxRequeueAllCommand = make_command<OutboxRequeueAllCommand>(
    "outbox requeue-all", "Send all messages of a selection again, under fresh ids.",
    R"(Exit codes: 7 no daemon runs.

Examples:
  holdfast outbox requeue-all --error unknown_destination --dry-run
  holdfast outbox requeue-all --error unknown_destination --rate 10)");

extern const Command kOutboxAbortCommand = make_command<OutboxAbortCommand>(
    "outbox abort", "Retire a dead or pending message: it is not sent.",
    R"(Exit codes: 4 the message was delivered, retired, or is being sent; 7 no daemon runs.

Examples:
  holdfast outbox abort report-2026-11-18 --reason 'wrong topic')");

extern const Command kOutboxCompactCommand = make_command<OutboxCompactCommand>(
    "outbox compact", "Drop the text of messages that ended long ago.",
    R"(Ids, fingerprints and outcomes stay: the ids are still known. Exit codes: 7 no daemon runs.

Examples:
  holdfast outbox compact --older-than 30)");

}  // namespace holdfast::cli
