#include <fmt/format.h>
#include <poll.h>

#include <array>

#include "apps/cli/argument_values.h"
#include "apps/cli/cli_store.h"
#include "apps/cli/command.h"
#include "apps/cli/daemon_backend.h"
#include "apps/cli/json_rows.h"
#include "delivery/contract/message_id.h"
#include "net/http.h"

namespace holdfast::cli {

namespace {

constexpr std::uint64_t kLookAgainMs = 50;

// The last row of a chain is the one that is sent.
Json newest_of(const Json& chain) {
  const Json rows = *chain.find("chain");
  return rows.item(rows.size() - 1);
}

struct SendCommand {
  std::string text = {};
  std::string to = {};
  std::string id = {};
  std::string priority = {};
  std::string meta = {};
  std::string reply_to = {};
  std::vector<std::string> mentions = {};
  std::string ordering_key = {};
  std::string wait_for = {};
  std::string home = {};

  void declare(Arguments& arguments) {
    arguments.required("TEXT", text, "the message; - reads standard input, @FILE a file");
    arguments.option("--to", "DESTINATION", to,
                     "#TOPIC, queue:NAME, or the name or public key of a member");
    arguments.require("--to");
    arguments.option("--id", "ID", id,
                     "Id of the message; sent again with the same id it is the same message "
                     "(default: a fresh one)");
    arguments.option("--priority", "PRIORITY", priority, "now, next or low (default: next)");
    arguments.restrict_to("--priority", {"now", "next", "low"});
    arguments.option("--meta", "JSON", meta, "JSON object that goes with the message");
    arguments.option("--reply-to", "ID", reply_to, "Broker's id of the message that this answers");
    arguments.option("--mention", "NAME", mentions,
                     "Member to mention; may be given several times");
    arguments.option("--ordering-key", "KEY", ordering_key,
                     "Only messages with the same key wait for each other");
    arguments.option("--wait", "DURATION", wait_for,
                     "Wait so long for the broker to accept or refuse it: 3s, 1m30s");
    add_daemon_home(arguments, home);
  }

  Result<void> run(Context& context) const {
    std::optional<std::uint64_t> wait_ms;
    if (!wait_for.empty()) {
      HOLDFAST_TRY(wait_ms, duration_argument("wait", wait_for));
    }
    HOLDFAST_TRY(const DaemonBackend::Call call, request(context));
    HOLDFAST_TRY(auto backend, DaemonBackend::open(home));
    HOLDFAST_TRY(const std::string body, backend.send(call));
    HOLDFAST_TRY(const Json sent, Json::parse(body));
    if (!wait_ms.has_value()) {
      show(context, body, sent);
      return {};
    }
    return wait(context, backend, std::string(sent.text("client_message_id")), *wait_ms);
  }

 private:
  // One id for all attempts of this command.
  Result<std::string> own_id(Context& context) const {
    if (!id.empty()) {
      return id;
    }
    std::array<std::byte, 10> entropy{};
    context.random.fill(entropy);
    return delivery::UlidSequence().next(context.clock.now(), entropy).text();
  }

  Result<DaemonBackend::Call> request(Context& context) const {
    std::string message = text;
    if (text == "-" || text.starts_with('@')) {
      HOLDFAST_TRY(message, read_file_argument(text == "-" ? text : text.substr(1)));
    }
    HOLDFAST_TRY(const std::string own, own_id(context));
    JsonWriter json;
    json.begin_object().member("to", to).member("message", message);
    json.member("client_message_id", own);
    const auto add = [&](std::string_view name, const std::string& value) {
      if (!value.empty()) {
        json.member(name, value);
      }
    };
    add("priority", priority);
    add("reply_to_id", reply_to);
    add("ordering_key", ordering_key);
    if (!meta.empty()) {
      HOLDFAST_TRY(const JsonText parsed, JsonText::parse(meta));
      json.member("meta", parsed);
    }
    if (!mentions.empty()) {
      json.list("mentions", mentions, [&](const std::string& name) { json.string(name); });
    }
    json.end_object();
    return DaemonBackend::Call{"POST", "/v1/send", std::string(std::move(json).take()), true};
  }

  static void show(Context& context, std::string_view body, const Json& sent) {
    if (context.json()) {
      print_body(context, body);
      return;
    }
    const JsonRow row(sent);
    print_line(context,
               row.truth("duplicate")
                   ? fmt::format("{} was delivered before as {}", row.text("client_message_id"),
                                 row.text("broker_message_id"))
                   : fmt::format("{} {}", row.text("client_message_id"), row.text("status")));
  }

  static Result<void> wait(Context& context, DaemonBackend& backend, const std::string& sent_id,
                           std::uint64_t wait_ms) {
    const std::uint64_t tries = std::max<std::uint64_t>(wait_ms / kLookAgainMs, 1);
    for (std::uint64_t i = 0;; ++i) {
      HOLDFAST_TRY(const std::string body,
                   backend.send({"GET", "/v1/outbox/" + net::url_encoded(sent_id)}));
      HOLDFAST_TRY(const Json chain, Json::parse(body));
      const Json row = newest_of(chain);
      const std::string status = JsonRow(row).text("status");
      if (status == "done" || status == "dead" || status == "aborted" || i >= tries) {
        return finished(context, row, status);
      }
      ::poll(nullptr, 0, static_cast<int>(kLookAgainMs));
    }
  }

  static Result<void> finished(Context& context, const Json& row, const std::string& status) {
    const JsonRow shown(row);
    if (status == "dead" || status == "aborted") {
      return Error{ErrorCode::conflict,
                   fmt::format("message {} is {}: {}", shown.text("client_message_id"), status,
                               shown.text(status == "dead" ? "last_error" : "abort_reason"))};
    }
    if (status != "done") {
      context.exit_code = kExitWaits;
    }
    print_result(context, fmt::format("{} {}", shown.text("client_message_id"), status),
                 [&](JsonWriter& json) {
                   json.member("client_message_id", shown.text("client_message_id"))
                       .member("status", status)
                       .member("broker_message_id", shown.text("broker_message_id"));
                 });
    return {};
  }
};

}  // namespace

extern const Command kSendCommand = make_command<SendCommand>(
    "send", "Hand a message to the daemon of this machine.",
    R"(When the command returns, the message is on disk, and the daemon sends it when it can. The
same --id with the same content is the same message, whatever its outcome; with other content it is
refused with exit code 4.

Exit codes: 4 the id was used for another message, or with --wait the broker refused it; 6 with
--wait: not accepted yet; 7 no daemon runs.

Examples:
  holdfast send --to '#deploys' 'version 7 is live'
  holdfast send --to ada 'lunch?' --wait 3s
  holdfast send --to queue:reports @report.json --id report-2026-11-18 --wait 10s
  uptime | holdfast send --to '#hosts' -)");

}  // namespace holdfast::cli
