#include <fmt/format.h>

#include "apps/cli/argument_values.h"
#include "apps/cli/broker_backend.h"
#include "apps/cli/cli_store.h"
#include "apps/cli/command.h"
#include "apps/cli/json_rows.h"
#include "apps/cli/webhook_rows.h"
#include "apps/terminal/text_table.h"

namespace holdfast::cli {

namespace {

std::string destinations_text(const Json& webhook) {
  std::string text;
  for (const Json& one : rows_of(webhook, "destinations")) {
    const JsonRow row(one);
    text += fmt::format("{}{}:{}", text.empty() ? "" : ", ", row.text("kind"), row.text("ref"));
  }
  return text.empty() ? "all" : text;
}

// "active", "held until ...", "disabled: failing"
Table::Cell state_cell(const Json& webhook) {
  const JsonRow row(webhook);
  if (row.text("state") == "disabled") {
    return {"disabled: " + row.text("disabled"), Ink::red};
  }
  const bool well = row.text("breaker") == "closed" && row.text("held_until").empty();
  return well ? Table::Cell{"active", Ink::green}
              : Table::Cell{"breaker " + row.text("breaker"), Ink::yellow};
}

void print_webhooks(Context& context, const std::vector<Json>& rows) {
  Table table({{"WEBHOOK"},
               {"URL", {}, 20},
               {"DESTINATIONS", {}, 10, true},
               {"STATE"},
               {"FAILURES", Table::Column::Align::right},
               {"LAST SUCCESS", {}, 0, true}});
  for (const Json& item : rows) {
    const JsonRow row(item);
    table.add({{row.text("webhook_id")},
               {row.text("url")},
               {destinations_text(item)},
               state_cell(item),
               {row.text("consecutive_failures")},
               {row.time("last_success_at")}});
  }
  context.out << table.text(style_of(""));
}

// With everything that is known about it.
void print_webhook(Context& context, const Json& json) {
  const JsonRow row(json);
  const auto line = [&](std::string_view name, const std::string& value) {
    if (!value.empty()) {
      print_line(context, fmt::format("{:<16}{}", name, value));
    }
  };
  line("webhook", row.text("webhook_id"));
  line("url", row.text("url"));
  line("description", row.text("description"));
  line("destinations", destinations_text(json));
  line("state", state_cell(json).text);
  line("since", row.time("state_at"));
  line("held until", row.time("held_until"));
  line("failures", row.text("consecutive_failures"));
  line("failing since", row.time("failing_since"));
  line("last error", row.text("last_error"));
  line("last success", row.time("last_success_at"));
  line("last failure", row.time("last_failure_at"));
  line("max in flight", row.text("max_in_flight"));
  line("per second", row.text("rate_per_second") == "0" ? "no limit" : row.text("rate_per_second"));
  line("old secret until", row.time("old_secret_until"));
  line("created", row.time("created_at"));
  if (row.text("state") == "disabled") {
    print_line(context, "`holdfast broker webhooks enable` sends what waits");
  }
}

void print_secret(Context& context, const Json& json, std::string_view what) {
  const std::string id =
      json.find("webhook").has_value() ? JsonRow(*json.find("webhook")).text("webhook_id") : "";
  print_line(context, fmt::format("webhook {} {}; its secret is not shown again:", id, what));
  print_line(context, json.text("secret"));
}

struct WebhookFilterOptions {
  std::vector<std::string> topics = {};
  std::vector<std::string> queues = {};
  std::vector<std::string> members = {};

  void declare(Arguments& arguments) {
    arguments.option("--topic", "TOPIC", topics,
                     "Only messages to this topic; may be given several times");
    arguments.option("--queue", "QUEUE", queues, "Only messages to this queue; likewise");
    arguments.option("--member", "MEMBER", members,
                     "Only messages to this member, by display name or public key; likewise");
  }
  [[nodiscard]] bool given() const {
    return !(topics.empty() && queues.empty() && members.empty());
  }
  void write(JsonWriter& json) const {
    json.key("destinations").begin_array();
    for (const auto& [kind, names] :
         {std::pair("topic", &topics), std::pair("queue", &queues), std::pair("dm", &members)}) {
      for (const std::string& name : *names) {
        json.begin_object().member("kind", kind).member("ref", name).end_object();
      }
    }
    json.end_array();
  }
};

struct WebhookLimitOptions {
  std::optional<std::uint64_t> max_in_flight = {};
  std::optional<std::uint64_t> rate = {};

  void declare(Arguments& arguments) {
    arguments.option("--max-in-flight", "N", max_in_flight,
                     "The most requests at a time, 1 to 64 (default: 4)");
    arguments.option("--rate", "N", rate, "The most requests in a second (default: no limit)");
  }
  void write(JsonWriter& json) const {
    if (max_in_flight.has_value()) {
      json.member("max_in_flight", *max_in_flight);
    }
    if (rate.has_value()) {
      json.member("rate_per_second", *rate);
    }
  }
};

// The secret in a file: one line.
Result<void> write_secret(JsonWriter& json, const std::string& file) {
  if (!file.empty()) {
    HOLDFAST_TRY(const std::string secret, read_token_file(file));
    json.member("secret", secret);
  }
  return {};
}

struct WebhookCreateCommand {
  BrokerOptions broker = {};
  std::string workspace = {};
  std::string url = {};
  std::string description = {};
  std::string secret_file = {};
  WebhookFilterOptions filter = {};
  WebhookLimitOptions limits = {};

  void declare(Arguments& arguments) {
    arguments.required("WORKSPACE", workspace, "the name of the workspace");
    arguments.required("URL", url, "where messages are posted, http or https");
    filter.declare(arguments);
    arguments.option("--description", "TEXT", description, "What it is for");
    limits.declare(arguments);
    arguments.option("--secret-file", "FILE", secret_file,
                     "File that holds the secret, whsec_… (default: a new secret)");
    add_broker_backend(arguments, broker);
  }

  Result<void> run(Context& context) const {
    JsonWriter json;
    json.begin_object().member("url", url);
    if (!description.empty()) {
      json.member("description", description);
    }
    filter.write(json);
    limits.write(json);
    HOLDFAST_CHECK(write_secret(json, secret_file));
    json.end_object();
    return administer_broker(
        broker, context, StoreUse::existing,
        {"POST", workspace_path(workspace, "/webhooks"), std::move(json).take()},
        [&](const Json& made, const BrokerBackend& /*backend*/) {
          print_secret(context, made, "created");
        });
  }
};

struct WebhookListCommand {
  BrokerOptions broker = {};
  std::string workspace = {};

  void declare(Arguments& arguments) {
    arguments.required("WORKSPACE", workspace, "the name of the workspace");
    add_broker_backend(arguments, broker);
  }

  Result<void> run(Context& context) const {
    return administer_broker(
        broker, context, StoreUse::existing, {"GET", workspace_path(workspace, "/webhooks"), ""},
        [&](const Json& json, const BrokerBackend& /*backend*/) {
          const std::vector<Json> rows = rows_of(json, "webhooks");
          if (rows.empty()) {
            print_line(context, fmt::format("no webhooks; `holdfast broker webhooks create {} URL` "
                                            "creates the first",
                                            workspace));
            return;
          }
          print_webhooks(context, rows);
        });
  }
};

struct WebhookShowCommand {
  BrokerOptions broker = {};
  WebhookName name = {};

  void declare(Arguments& arguments) {
    name.declare(arguments);
    add_broker_backend(arguments, broker);
  }

  Result<void> run(Context& context) const {
    return administer_broker(
        broker, context, StoreUse::existing, {"GET", name.path(), ""},
        [&](const Json& json, const BrokerBackend& /*backend*/) { print_webhook(context, json); });
  }
};

struct WebhookUpdateCommand {
  BrokerOptions broker = {};
  WebhookName name = {};
  std::string url = {};
  std::string description = {};
  bool all = false;
  WebhookFilterOptions filter = {};
  WebhookLimitOptions limits = {};

  void declare(Arguments& arguments) {
    name.declare(arguments);
    arguments.option("--url", "URL", url, "Where messages are posted");
    arguments.option("--description", "TEXT", description, "What it is for");
    filter.declare(arguments);
    arguments.flag("--all-destinations", all, "Every message of the workspace");
    for (const char* const other : {"--topic", "--queue", "--member"}) {
      arguments.exclude("--all-destinations", other);
    }
    limits.declare(arguments);
    add_broker_backend(arguments, broker);
  }

  Result<void> run(Context& context) const {
    JsonWriter json;
    json.begin_object();
    if (!url.empty()) {
      json.member("url", url);
    }
    if (!description.empty()) {
      json.member("description", description);
    }
    if (all || filter.given()) {
      filter.write(json);
    }
    limits.write(json);
    json.end_object();
    return administer_broker(
        broker, context, StoreUse::existing, {"POST", name.path(), std::move(json).take()},
        [&](const Json& made, const BrokerBackend& /*backend*/) { print_webhook(context, made); });
  }
};

struct WebhookEnableCommand {
  BrokerOptions broker = {};
  WebhookName name = {};
  bool skip = false;

  void declare(Arguments& arguments) {
    name.declare(arguments);
    arguments.flag("--skip", skip, "Leave out what was accepted before");
    add_broker_backend(arguments, broker);
  }

  Result<void> run(Context& context) const {
    JsonWriter json;
    json.begin_object().member("skip", skip).end_object();
    return administer_broker(
        broker, context, StoreUse::existing, {"POST", name.path("/enable"), std::move(json).take()},
        [&](const Json& made, const BrokerBackend& /*backend*/) { print_webhook(context, made); });
  }
};

struct WebhookDisableCommand {
  BrokerOptions broker = {};
  WebhookName name = {};

  void declare(Arguments& arguments) {
    name.declare(arguments);
    add_broker_backend(arguments, broker);
  }

  Result<void> run(Context& context) const {
    return administer_broker(
        broker, context, StoreUse::existing, {"POST", name.path("/disable"), "{}"},
        [&](const Json& made, const BrokerBackend& /*backend*/) { print_webhook(context, made); });
  }
};

struct WebhookRotateCommand {
  BrokerOptions broker = {};
  WebhookName name = {};
  std::optional<std::uint64_t> overlap = {};
  std::string secret_file = {};

  void declare(Arguments& arguments) {
    name.declare(arguments);
    arguments.option("--overlap", "SECONDS", overlap,
                     "How long the former secret signs too (default: 86400)");
    arguments.option("--secret-file", "FILE", secret_file,
                     "File that holds the secret, whsec_… (default: a new secret)");
    add_broker_backend(arguments, broker);
  }

  Result<void> run(Context& context) const {
    JsonWriter json;
    json.begin_object();
    if (overlap.has_value()) {
      json.member("overlap_seconds", *overlap);
    }
    HOLDFAST_CHECK(write_secret(json, secret_file));
    json.end_object();
    return administer_broker(broker, context, StoreUse::existing,
                             {"POST", name.path("/rotate"), std::move(json).take()},
                             [&](const Json& made, const BrokerBackend& /*backend*/) {
                               print_secret(context, made, "has a new secret");
                             });
  }
};

struct WebhookDeleteCommand {
  BrokerOptions broker = {};
  WebhookName name = {};

  void declare(Arguments& arguments) {
    name.declare(arguments);
    add_broker_backend(arguments, broker);
  }

  Result<void> run(Context& context) const {
    return administer_broker(
        broker, context, StoreUse::existing, {"DELETE", name.path(), ""},
        [&](const Json& json, const BrokerBackend& /*backend*/) {
          print_line(context, fmt::format("webhook {} deleted", JsonRow(json).text("deleted")));
        });
  }
};

}  // namespace

extern const Command kBrokerWebhooksCreateCommand = make_command<WebhookCreateCommand>(
    "broker webhooks create", "Post messages to a URL.",
    R"(Each message that is accepted from now on is posted to the URL, signed as Standard Webhooks
defines it, and repeated until the answer is 2xx: after 5 s, 5 min, 30 min, 2 h, 5 h, 10 h and 10 h.
The secret that signs is printed once. A URL may name public addresses only, unless the broker was
started with --webhook-allow.

Examples:
  holdfast broker webhooks create team https://hooks.example/holdfast
  holdfast broker webhooks create team https://hooks.example/jobs --queue jobs --topic alerts)");

extern const Command kBrokerWebhooksListCommand =
    make_command<WebhookListCommand>("broker webhooks list", "List the webhooks of a workspace.",
                                     R"(Examples:
  holdfast broker webhooks list team)");

extern const Command kBrokerWebhooksShowCommand = make_command<WebhookShowCommand>(
    "broker webhooks show", "Show a webhook: its state, and why it is not sent to.",
    R"(Examples:
  holdfast broker webhooks show team 01JD3ZK8Q6X4T2V9B7N5M1C0W1)");

extern const Command kBrokerWebhooksUpdateCommand = make_command<WebhookUpdateCommand>(
    "broker webhooks update", "Change the URL, the destinations or the limits of a webhook.",
    R"(What is not given keeps its value. --topic, --queue and --member replace all destinations;
those that are added begin with the messages that are accepted from now on.

Examples:
  holdfast broker webhooks update team 01JD3ZK8Q6X4T2V9B7N5M1C0W1 --topic alerts --rate 10
  holdfast broker webhooks update team 01JD3ZK8Q6X4T2V9B7N5M1C0W1 --all-destinations)");

extern const Command kBrokerWebhooksEnableCommand = make_command<WebhookEnableCommand>(
    "broker webhooks enable", "Send to a webhook again.",
    R"(It continues where it stopped: everything that waits is due at once, and its failures are
forgotten.

Examples:
  holdfast broker webhooks enable team 01JD3ZK8Q6X4T2V9B7N5M1C0W1
  holdfast broker webhooks enable team 01JD3ZK8Q6X4T2V9B7N5M1C0W1 --skip)");

extern const Command kBrokerWebhooksDisableCommand = make_command<WebhookDisableCommand>(
    "broker webhooks disable", "Send nothing to a webhook until it is enabled.",
    R"(Its place in the history is kept.

Examples:
  holdfast broker webhooks disable team 01JD3ZK8Q6X4T2V9B7N5M1C0W1)");

extern const Command kBrokerWebhooksRotateCommand = make_command<WebhookRotateCommand>(
    "broker webhooks rotate", "Replace the secret of a webhook.",
    R"(Messages have the signatures of both secrets until the former one ends. The new secret is
printed once.

Examples:
  holdfast broker webhooks rotate team 01JD3ZK8Q6X4T2V9B7N5M1C0W1
  holdfast broker webhooks rotate team 01JD3ZK8Q6X4T2V9B7N5M1C0W1 --overlap 0)");

extern const Command kBrokerWebhooksDeleteCommand = make_command<WebhookDeleteCommand>(
    "broker webhooks delete", "Delete a webhook with its deliveries and attempts.",
    R"(Examples:
  holdfast broker webhooks delete team 01JD3ZK8Q6X4T2V9B7N5M1C0W1)");

}  // namespace holdfast::cli
