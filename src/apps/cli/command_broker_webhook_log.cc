#include <fmt/format.h>

#include "apps/cli/argument_values.h"
#include "apps/cli/broker_backend.h"
#include "apps/cli/cli_store.h"
#include "apps/cli/command.h"
#include "apps/cli/json_rows.h"
#include "apps/cli/webhook_rows.h"
#include "apps/terminal/text_table.h"
#include "net/http.h"

namespace holdfast::cli {

namespace {

// "?a=b&c=d" of the members that have a value.
std::string query_of(std::initializer_list<std::pair<std::string_view, std::string>> members) {
  std::string query;
  for (const auto& [name, value] : members) {
    if (!value.empty()) {
      query += fmt::format("{}{}={}", query.empty() ? "?" : "&", name, net::url_encoded(value));
    }
  }
  return query;
}

std::string digits_of(const std::optional<std::uint64_t>& number) {
  return number.has_value() ? std::to_string(*number) : std::string();
}

struct WebhookDeliveriesCommand {
  BrokerOptions broker = {};
  WebhookName name = {};
  std::string state = "all";
  std::string after = {};
  std::optional<std::uint64_t> limit = {};

  void declare(Arguments& arguments) {
    name.declare(arguments);
    arguments.option("--state", "STATE", state, "Only deliveries in this state (default: all)");
    arguments.restrict_to("--state", {"all", "queued", "sending", "delivered", "dead"});
    arguments.option("--after", "MESSAGE", after, "Only messages behind this one");
    arguments.option("--limit", "N", limit, "The most deliveries to show (default: 100)");
    add_broker_backend(arguments, broker);
  }

  Result<void> run(Context& context) const {
    const std::string query =
        query_of({{"state", state}, {"after", after}, {"limit", digits_of(limit)}});
    return administer_broker(
        broker, context, StoreUse::existing, {"GET", name.path("/deliveries" + query), ""},
        [&](const Json& json, const BrokerBackend& /*backend*/) { print(context, json); });
  }

  static void print(Context& context, const Json& json) {
    const std::vector<Json> rows = rows_of(json, "deliveries");
    if (rows.empty()) {
      print_line(context, "no deliveries");
      return;
    }
    Table table({{"MESSAGE"},
                 {"STATE"},
                 {"ATTEMPTS", Table::Column::Align::right},
                 {"NEXT ATTEMPT"},
                 {"LAST ERROR", {}, 10, true}});
    for (const Json& item : rows) {
      const JsonRow row(item);
      table.add({{row.text("broker_message_id")},
                 {row.text("state"), ink_of_status(row.text("state"))},
                 {row.text("attempts")},
                 {row.time("next_attempt_at")},
                 {row.text("last_error")}});
    }
    context.out << table.text(style_of(""));
  }
};

struct WebhookAttemptsCommand {
  BrokerOptions broker = {};
  WebhookName name = {};
  std::string message = {};
  std::optional<std::uint64_t> before = {};
  std::optional<std::uint64_t> limit = {};

  void declare(Arguments& arguments) {
    name.declare(arguments);
    arguments.option("--message", "MESSAGE", message, "Only attempts for this message");
    arguments.option("--before", "NUMBER", before, "Only attempts before this one");
    arguments.option("--limit", "N", limit, "The most attempts to show (default: 100)");
    add_broker_backend(arguments, broker);
  }

  Result<void> run(Context& context) const {
    const std::string query = query_of(
        {{"message", message}, {"before", digits_of(before)}, {"limit", digits_of(limit)}});
    return administer_broker(
        broker, context, StoreUse::existing, {"GET", name.path("/attempts" + query), ""},
        [&](const Json& json, const BrokerBackend& /*backend*/) { print(context, json); });
  }

  static void print(Context& context, const Json& json) {
    const std::vector<Json> rows = rows_of(json, "attempts");
    if (rows.empty()) {
      print_line(context, "no attempts");
      return;
    }
    Table table({{"NUMBER", Table::Column::Align::right},
                 {"MESSAGE"},
                 {"ATTEMPT", Table::Column::Align::right},
                 {"STARTED", {}, 0, true},
                 {"TOOK", Table::Column::Align::right},
                 {"OUTCOME"},
                 {"STATUS"},
                 {"ERROR OR RESPONSE", {}, 10, true}});
    for (const Json& item : rows) {
      const JsonRow row(item);
      const bool good = row.text("outcome") == "delivered";
      table.add({{row.text("attempt_id")},
                 {row.text("broker_message_id")},
                 {row.text("attempt")},
                 {row.time("started_at")},
                 {row.duration("duration_ms")},
                 {row.text("outcome"), good ? Ink::green : Ink::red},
                 {row.text("status")},
                 {row.text("error").empty() ? row.text("response") : row.text("error")}});
    }
    context.out << table.text(style_of(""));
  }
};

struct WebhookReplayCommand {
  BrokerOptions broker = {};
  WebhookName name = {};
  std::string message = {};
  std::string since = {};
  std::string until = {};
  bool dead = false;
  bool dry_run = false;

  void declare(Arguments& arguments) {
    name.declare(arguments);
    arguments.option("--message", "MESSAGE", message, "This message");
    arguments.option("--since", "TIME", since,
                     "Messages accepted since this time, or an age such as 2h");
    arguments.option("--until", "TIME", until, "Messages accepted before this time (default: now)");
    arguments.exclude("--message", "--since");
    arguments.exclude("--message", "--until");
    arguments.need("--until", "--since");
    arguments.flag("--dead", dead, "Only those that were given up");
    arguments.flag("--dry-run", dry_run, "Show what would be sent again");
    add_broker_backend(arguments, broker);
  }

  Result<std::string> request(Context& context, const std::string& after) const {
    JsonWriter json;
    json.begin_object();
    if (!message.empty()) {
      json.member("broker_message_id", message);
    } else {
      const TimeMs now = context.clock.now();
      HOLDFAST_TRY(const TimeMs from, time_argument("since", since, now));
      json.key("from").integer(from.value);
      if (!until.empty()) {
        HOLDFAST_TRY(const TimeMs end, time_argument("until", until, now));
        json.key("until").integer(end.value);
      }
    }
    json.member("choice", dead ? "dead" : "all").member("preview", dry_run);
    if (!after.empty()) {
      json.member("after", after);
    }
    json.end_object();
    return std::move(json).take();
  }

  // A thousand messages at a time.
  Result<void> run(Context& context) const {
    if (message.empty() && since.empty()) {
      return Error{ErrorCode::invalid_argument,
                   "name one message with --message, or a range of time with --since"};
    }
    HOLDFAST_TRY(const auto backend, open_broker_backend(broker, context, StoreUse::existing));
    std::int64_t messages = 0;
    std::int64_t sending = 0;
    std::string after;
    do {
      HOLDFAST_TRY(const std::string body, request(context, after));
      HOLDFAST_TRY(const std::string answer, backend->send({"POST", name.path("/replay"), body}));
      HOLDFAST_TRY(const Json json, Json::parse(answer));
      messages += JsonRow(json).number("messages");
      sending += JsonRow(json).number("sending");
      after = json.text("next_after");
    } while (!after.empty());
    if (context.json()) {
      JsonWriter json;
      json.begin_object().member("preview", dry_run).key("messages").integer(messages);
      json.key("sending").integer(sending).end_object();
      print_json(context, std::move(json));
      return {};
    }
    print_line(context, fmt::format("{} message{} {}", messages, messages == 1 ? "" : "s",
                                    dry_run ? "would be sent again" : "will be sent again"));
    return {};
  }
};

}  // namespace

extern const Command kBrokerWebhooksDeliveriesCommand = make_command<WebhookDeliveriesCommand>(
    "broker webhooks deliveries", "List what was delivered to a webhook, waits, or was given up.",
    R"(Examples:
  holdfast broker webhooks deliveries team 01JD3ZK8Q6X4T2V9B7N5M1C0W1 --state dead)");

extern const Command kBrokerWebhooksAttemptsCommand = make_command<WebhookAttemptsCommand>(
    "broker webhooks attempts", "List the requests to a webhook, the newest first.",
    R"(With their status, their duration, and the beginning of the response. They are kept for 30
days.

Examples:
  holdfast broker webhooks attempts team 01JD3ZK8Q6X4T2V9B7N5M1C0W1 --limit 10)");

extern const Command kBrokerWebhooksReplayCommand = make_command<WebhookReplayCommand>(
    "broker webhooks replay", "Send messages to a webhook again.",
    R"(They have the same webhook-id as before, and all of their attempts. Messages from before the
webhook can be sent too, as long as they exist.

Examples:
  holdfast broker webhooks replay team 01JD3ZK8Q6X4T2V9B7N5M1C0W1 --since 2h --dry-run
  holdfast broker webhooks replay team 01JD3ZK8Q6X4T2V9B7N5M1C0W1 --since 2h --dead)");

}  // namespace holdfast::cli
