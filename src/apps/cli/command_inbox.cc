// The commands on what the daemon has received.
#include <fmt/format.h>

#include <algorithm>

#include "apps/cli/argument_values.h"
#include "apps/cli/cli_run.h"
#include "apps/cli/cli_store.h"
#include "apps/cli/command.h"
#include "apps/cli/daemon_backend.h"
#include "apps/cli/interrupt.h"
#include "apps/cli/json_rows.h"
#include "apps/terminal/text_table.h"
#include "base/text.h"
#include "net/http.h"

namespace holdfast::cli {

namespace {

std::string destination_of(const Json& message) {
  const auto destination = message.find("destination");
  if (!destination.has_value()) {
    return {};
  }
  const std::string_view kind = destination->text("kind");
  const std::string ref(destination->text("ref"));
  return kind == "topic" ? "#" + ref : kind == "dm" ? std::string("me") : "queue:" + ref;
}

Result<std::uint64_t> number_argument(const std::string& text) {
  const auto number = parse_decimal(text);
  return number.has_value()
             ? Result<std::uint64_t>(*number)
             : Error{ErrorCode::invalid_argument,
                     fmt::format("\"{}\" is not the number of a message; `holdfast inbox list` "
                                 "shows them",
                                 text)};
}

struct InboxListCommand {
  std::string topic = {};
  std::string from = {};
  std::string since = {};
  std::optional<std::uint64_t> after = {};
  bool unread = false;
  std::uint64_t limit = 50;
  std::string home = {};

  void declare(Arguments& arguments) {
    arguments.flag("--unread", unread, "Only messages that were not acknowledged");
    arguments.option("--topic", "TOPIC", topic, "Only messages of this topic");
    arguments.option("--from", "MEMBER", from, "Only messages of this member: its name or key");
    arguments.option("--since", "TIME", since,
                     "Only messages received since a time, or an age such as 2h");
    arguments.option("--after", "NUMBER", after,
                     "The messages behind this one, oldest first (default: the newest ones)");
    arguments.option("--limit", "N", limit, "The most messages to list, up to 1000 (default: 50)");
    add_daemon_home(arguments, home);
  }

  Result<void> run(Context& context) const {
    std::string path = fmt::format("/v1/inbox?limit={}", std::max<std::uint64_t>(limit, 1));
    path += after.has_value() ? fmt::format("&after={}", *after) : "&order=newest_first";
    path += unread ? "&unread=true" : "";
    path += topic.empty() ? "" : "&topic=" + net::url_encoded(topic);
    path += from.empty() ? "" : "&from=" + net::url_encoded(from);
    if (!since.empty()) {
      HOLDFAST_TRY(const TimeMs time, time_argument("since", since, context.clock.now()));
      path += fmt::format("&since={}", std::max<std::int64_t>(time.value, 0));
    }
    return call_daemon(home, context, {"GET", path}, [&](const Json& json) {
      const std::vector<Json> rows = rows_of(json, "messages");
      if (rows.empty()) {
        print_line(context, "no messages");
        return;
      }
      show(context, rows);
    });
  }

 private:
  static void show(Context& context, const std::vector<Json>& rows) {
    Table table({{"NUMBER", Table::Column::Align::right},
                 {"RECEIVED", {}, 0, true},
                 {"FROM"},
                 {"TO"},
                 {"SEEN"},
                 {"MESSAGE"}});
    for (const Json& item : rows) {
      const JsonRow row(item);
      table.add({{row.text("id")},
                 {row.time("received_at")},
                 {row.text("sender_name")},
                 {destination_of(item)},
                 {row.moment("seen_at").has_value() ? "yes" : "no"},
                 {row.text("body")}});
    }
    context.out << table.text(style_of(""));
  }
};

struct InboxShowCommand {
  std::string message = {};
  std::string home = {};

  void declare(Arguments& arguments) {
    arguments.required("NUMBER", message, "the number of the message");
    add_daemon_home(arguments, home);
  }

  Result<void> run(Context& context) const {
    HOLDFAST_TRY(const std::uint64_t id, number_argument(message));
    return call_daemon(
        home, context, {"GET", fmt::format("/v1/inbox/{}", id)}, [&](const Json& json) {
          const JsonRow row(json);
          print_line(context, fmt::format("from      {} ({})", row.text("sender_name"),
                                          row.text("sender_pubkey")));
          print_line(context, fmt::format("to        {}", destination_of(json)));
          print_line(context, fmt::format("received  {}", row.time("received_at")));
          print_line(context, fmt::format("id        {}", row.text("client_message_id")));
          if (!row.text("reply_to_id").empty()) {
            print_line(context, fmt::format("reply to  {}", row.text("reply_to_id")));
          }
          if (const auto meta = json.find("meta"); meta.has_value() && meta->size() > 0) {
            print_line(context, "has further values: --json shows them");
          }
          print_line(context, "");
          context.out << json.text("body") << "\n";
        });
  }
};

struct InboxAckCommand {
  std::vector<std::string> messages = {};
  bool all = false;
  std::optional<std::uint64_t> up_to = {};
  std::string home = {};

  void declare(Arguments& arguments) {
    arguments.any("NUMBER", messages, "the numbers of messages");
    arguments.flag("--all", all, "All messages");
    arguments.option("--up-to", "NUMBER", up_to, "All messages up to this one");
    arguments.exclude("--all", "--up-to");
    add_daemon_home(arguments, home);
  }

  Result<void> run(Context& context) const {
    if ((messages.empty() ? 0 : 1) + (all ? 1 : 0) + (up_to.has_value() ? 1 : 0) != 1) {
      return Error{ErrorCode::invalid_argument, "give numbers of messages, --up-to or --all"};
    }
    JsonWriter json;
    json.begin_object();
    if (messages.empty()) {
      json.member("up_to", up_to.value_or(INT64_MAX));
    } else {
      json.key("ids").begin_array();
      for (const std::string& message : messages) {
        HOLDFAST_TRY(const std::uint64_t id, number_argument(message));
        json.integer(static_cast<std::int64_t>(id));
      }
      json.end_array();
    }
    json.end_object();
    return call_daemon(
        home, context, {"POST", "/v1/inbox/seen", std::string(std::move(json).take()), true},
        [&](const Json& reply) {
          print_line(context,
                     fmt::format("{} messages acknowledged", JsonRow(reply).text("marked")));
        });
  }
};

struct InboxDeleteCommand {
  std::string message = {};
  std::string home = {};

  void declare(Arguments& arguments) {
    arguments.required("NUMBER", message, "the number of the message");
    add_daemon_home(arguments, home);
  }

  Result<void> run(Context& context) const {
    HOLDFAST_TRY(const std::uint64_t id, number_argument(message));
    return call_daemon(home, context, {"DELETE", fmt::format("/v1/inbox/{}", id)},
                       [&](const Json& /*json*/) {
                         print_line(context, fmt::format("message {} is deleted", id));
                       });
  }
};

struct InboxTailCommand {
  std::string after = {};
  std::uint64_t count = 0;
  std::string home = {};

  void declare(Arguments& arguments) {
    arguments.option("--after", "POSITION", after,
                     "Begin behind this message number, or event id (default: now)");
    arguments.option("--count", "N", count, "End after so many messages (default: never)");
    add_daemon_home(arguments, home);
  }

  Result<void> run(Context& context) const {
    HOLDFAST_TRY(auto backend, DaemonBackend::open(home));
    Interrupt interrupt([] {});
    std::uint64_t shown = 0;
    const auto receive = [&](const net::ServerEvent& event) {
      if (event.event == "message" && show(context, event.data)) {
        ++shown;
      }
      return count == 0 || shown < count;
    };
    return backend.events(after, receive, interrupt.token());
  }

 private:
  static bool show(Context& context, const std::string& data) {
    const auto json = Json::parse(data);
    if (!json.ok()) {
      return false;
    }
    if (context.json()) {
      print_body(context, data);
    } else {
      const JsonRow row(json.value());
      print_line(context, fmt::format("{} {} {}: {}", row.text("id"), row.text("sender_name"),
                                      destination_of(json.value()), row.text("body")));
    }
    context.out.flush();
    return true;
  }
};

struct OwnTopicListCommand {
  std::string home = {};

  void declare(Arguments& arguments) { add_daemon_home(arguments, home); }

  Result<void> run(Context& context) const {
    return call_daemon(home, context, {"GET", "/v1/topic/list"}, [&](const Json& json) {
      Table table({{"TOPIC"}, {"ACCESS"}, {"SUBSCRIBED"}});
      for (const Json& item : rows_of(json, "topics")) {
        const JsonRow row(item);
        table.add({{row.text("name")},
                   {row.text("access")},
                   {row.truth("subscribed") ? row.text("role") : std::string("no")}});
      }
      context.out << table.text(style_of(""));
    });
  }
};

// subscribe and unsubscribe
template <bool kSubscribe>
struct TopicChangeCommand {
  std::string topic = {};
  std::string home = {};

  void declare(Arguments& arguments) {
    arguments.required("TOPIC", topic, "the name of the topic");
    add_daemon_home(arguments, home);
  }

  Result<void> run(Context& context) const {
    JsonWriter json;
    json.begin_object().member("topic", topic).end_object();
    return call_daemon(
        home, context,
        {"POST", kSubscribe ? "/v1/topic/subscribe" : "/v1/topic/unsubscribe",
         std::string(std::move(json).take()), true},
        [&](const Json& /*json*/) {
          print_line(context,
                     fmt::format("{} topic {}", kSubscribe ? "subscribed to" : "left", topic));
        });
  }
};

struct PeersCommand {
  std::string home = {};

  void declare(Arguments& arguments) { add_daemon_home(arguments, home); }

  Result<void> run(Context& context) const {
    return call_daemon(home, context, {"GET", "/v1/peers"}, [&](const Json& json) {
      Table table({{"MEMBER"}, {"STATUS"}, {"SINCE", {}, 0, true}, {"SUMMARY"}});
      for (const Json& item : rows_of(json, "peers")) {
        const JsonRow row(item);
        table.add(
            {{row.text("name")}, {row.text("status")}, {row.time("since")}, {row.text("summary")}});
      }
      context.out << table.text(style_of(""));
    });
  }
};

}  // namespace

extern const Command kInboxListCommand = make_command<InboxListCommand>(
    "inbox list", "List the messages that the daemon has received, newest first.",
    R"(Exit codes: 7 no daemon runs.

Examples:
  holdfast inbox list --unread
  holdfast inbox list --topic deploys --since 2h
  holdfast inbox list --after 120 --limit 1000 --json)");

extern const Command kInboxShowCommand =
    make_command<InboxShowCommand>("inbox show", "Show a message with its whole text.",
                                   R"(Exit codes: 2 there is no such message; 7 no daemon runs.

Examples:
  holdfast inbox show 17)");

extern const Command kInboxAckCommand = make_command<InboxAckCommand>(
    "inbox ack", "Acknowledge messages: they are no longer unread.",
    R"(The messages stay in the inbox for its retention. Exit codes: 7 no daemon runs.

Examples:
  holdfast inbox ack 17 18
  holdfast inbox ack --up-to 18)");

extern const Command kInboxDeleteCommand =
    make_command<InboxDeleteCommand>("inbox delete", "Delete the text of a message.",
                                     R"(Its id stays known: the message is not received again.

Exit codes: 2 there is no such message; 7 no daemon runs.

Examples:
  holdfast inbox delete 17)");

extern const Command kInboxTailCommand = make_command<InboxTailCommand>(
    "inbox tail", "Print messages as they arrive.",
    R"(Each message is printed once, also across restarts of the daemon, until Ctrl-C. What is
printed is not acknowledged: `holdfast inbox ack` does that.

Exit codes: 7 no daemon runs.

Examples:
  holdfast inbox tail
  holdfast inbox tail --after 0 --count 10 --json)");

extern const Command kTopicListCommand = make_command<OwnTopicListCommand>(
    "topic list", "List the topics that this member may read.",
    R"(Exit codes: 5 the daemon is not connected; 7 no daemon runs.

Examples:
  holdfast topic list)");

extern const Command kTopicSubscribeCommand = make_command<TopicChangeCommand<true>>(
    "topic subscribe", "Receive the messages of a topic from now on.",
    R"(To a closed topic its administrator subscribes members.

Exit codes: 2 there is no such topic, or it is closed; 5 the daemon is not connected; 7 no daemon
runs.

Examples:
  holdfast topic subscribe deploys)");

extern const Command kTopicUnsubscribeCommand = make_command<TopicChangeCommand<false>>(
    "topic unsubscribe", "Receive no more messages of a topic.",
    R"(Messages that were accepted before still arrive. Exit codes: 2 there is no such topic; 5 the
daemon is not connected; 7 no daemon runs.

Examples:
  holdfast topic unsubscribe deploys)");

extern const Command kPeersCommand =
    make_command<PeersCommand>("peers", "List the members that are present.",
                               R"(Exit codes: 5 the daemon is not connected; 7 no daemon runs.

Examples:
  holdfast peers)");

}  // namespace holdfast::cli
