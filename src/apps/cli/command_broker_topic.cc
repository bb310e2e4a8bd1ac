#include <fmt/format.h>

#include "apps/cli/broker_backend.h"
#include "apps/cli/cli_store.h"
#include "apps/cli/command.h"
#include "apps/cli/json_rows.h"
#include "apps/terminal/text_table.h"

namespace holdfast::cli {

namespace {

std::string topic_path(std::string_view workspace, std::string_view topic,
                       std::string_view rest = {}) {
  return workspace_path(workspace, "/topics" + path_part(topic) + std::string(rest));
}

void add_topic_arguments(Arguments& arguments, std::string& workspace, std::string& topic) {
  arguments.required("WORKSPACE", workspace, "the name of the workspace");
  arguments.required("TOPIC", topic, "the name of the topic");
}

void print_topics(Context& context, const std::vector<Json>& rows) {
  Table table({{"TOPIC"},
               {"ACCESS"},
               {"STATE"},
               {"MESSAGES", Table::Column::Align::right},
               {"CREATED", {}, 0, true}});
  for (const Json& item : rows) {
    const JsonRow row(item);
    const bool archived = item.find("archived_at").has_value();
    table.add({{row.text("name")},
               {row.text("access")},
               {archived ? "archived" : "open for messages", archived ? Ink::dim : Ink::green},
               {row.text("messages")},
               {row.time("created_at")}});
  }
  context.out << table.text(style_of(""));
}

struct TopicCreateCommand {
  BrokerOptions broker = {};
  std::string workspace = {};
  std::string topic = {};
  bool closed = false;
  bool exclude_sender = false;

  void declare(Arguments& arguments) {
    add_topic_arguments(arguments, workspace, topic);
    arguments.flag("--closed", closed, "Only its subscribers may send to it and read it");
    arguments.flag("--exclude-sender", exclude_sender,
                   "A subscriber does not get its own messages");
    add_broker_backend(arguments, broker);
  }

  Result<void> run(Context& context) const {
    JsonWriter json;
    json.begin_object()
        .member("name", topic)
        .member("access", closed ? "closed" : "open")
        .member("sender_copy", exclude_sender ? "exclude" : "include")
        .end_object();
    return administer_broker(
        broker, context, StoreUse::existing,
        {"POST", workspace_path(workspace, "/topics"), std::move(json).take()},
        [&](const Json& made, const BrokerBackend& /*backend*/) {
          print_line(context, fmt::format("topic {} created", JsonRow(made).text("name")));
        });
  }
};

struct TopicListCommand {
  BrokerOptions broker = {};
  std::string workspace = {};

  void declare(Arguments& arguments) {
    arguments.required("WORKSPACE", workspace, "the name of the workspace");
    add_broker_backend(arguments, broker);
  }

  Result<void> run(Context& context) const {
    return administer_broker(
        broker, context, StoreUse::existing, {"GET", workspace_path(workspace, "/topics"), ""},
        [&](const Json& json, const BrokerBackend& /*backend*/) {
          const std::vector<Json> rows = rows_of(json, "topics");
          if (rows.empty()) {
            print_line(context, fmt::format("no topics; `holdfast broker topic create {} NAME` "
                                            "creates the first",
                                            workspace));
            return;
          }
          print_topics(context, rows);
        });
  }
};

// Prints a topic with its subscriptions.
void print_topic(Context& context, const Json& json) {
  print_topics(context, {json});
  const std::vector<Json> rows = rows_of(json, "subscriptions");
  if (rows.empty()) {
    print_line(context, "no subscriptions");
    return;
  }
  Table table({{"SUBSCRIBER"}, {"ROLE"}, {"PUBLIC KEY"}, {"SINCE", {}, 0, true}});
  for (const Json& item : rows) {
    const JsonRow row(item);
    table.add(
        {{row.text("member")}, {row.text("role")}, {row.text("pubkey")}, {row.time("joined_at")}});
  }
  context.out << table.text(style_of(""));
}

struct TopicShowCommand {
  BrokerOptions broker = {};
  std::string workspace = {};
  std::string topic = {};

  void declare(Arguments& arguments) {
    add_topic_arguments(arguments, workspace, topic);
    add_broker_backend(arguments, broker);
  }

  Result<void> run(Context& context) const {
    return administer_broker(
        broker, context, StoreUse::existing, {"GET", topic_path(workspace, topic), ""},
        [&](const Json& json, const BrokerBackend& /*backend*/) { print_topic(context, json); });
  }
};

struct TopicArchiveCommand {
  BrokerOptions broker = {};
  std::string workspace = {};
  std::string topic = {};

  void declare(Arguments& arguments) {
    add_topic_arguments(arguments, workspace, topic);
    add_broker_backend(arguments, broker);
  }

  Result<void> run(Context& context) const {
    return administer_broker(
        broker, context, StoreUse::existing, {"DELETE", topic_path(workspace, topic), ""},
        [&](const Json& json, const BrokerBackend& /*backend*/) { print_topic(context, json); });
  }
};

struct TopicSubscribeCommand {
  BrokerOptions broker = {};
  std::string workspace = {};
  std::string topic = {};
  std::string member = {};
  bool read_only = false;

  void declare(Arguments& arguments) {
    add_topic_arguments(arguments, workspace, topic);
    arguments.required("MEMBER", member, "the member: its display name or public key");
    arguments.flag("--read-only", read_only, "It receives and may not send");
    add_broker_backend(arguments, broker);
  }

  Result<void> run(Context& context) const {
    JsonWriter json;
    json.begin_object()
        .member("member", member)
        .member("role", read_only ? "reader" : "writer")
        .end_object();
    return administer_broker(
        broker, context, StoreUse::existing,
        {"POST", topic_path(workspace, topic, "/subscriptions"), std::move(json).take()},
        [&](const Json& made, const BrokerBackend& /*backend*/) { print_topic(context, made); });
  }
};

struct TopicUnsubscribeCommand {
  BrokerOptions broker = {};
  std::string workspace = {};
  std::string topic = {};
  std::string member = {};

  void declare(Arguments& arguments) {
    add_topic_arguments(arguments, workspace, topic);
    arguments.required("MEMBER", member, "the member: its display name or public key");
    add_broker_backend(arguments, broker);
  }

  Result<void> run(Context& context) const {
    return administer_broker(
        broker, context, StoreUse::existing,
        {"DELETE", topic_path(workspace, topic, "/subscriptions" + path_part(member)), ""},
        [&](const Json& made, const BrokerBackend& /*backend*/) { print_topic(context, made); });
  }
};

}  // namespace

extern const Command kBrokerTopicCreateCommand = make_command<TopicCreateCommand>(
    "broker topic create", "Create a topic.",
    R"(Each message to a topic is delivered to its subscribers at that moment. Every member may
send to an open topic; a closed one is for its subscribers.

Examples:
  holdfast broker topic create team alerts
  holdfast broker topic create team board --closed)");

extern const Command kBrokerTopicListCommand =
    make_command<TopicListCommand>("broker topic list", "List the topics of a workspace.",
                                   R"(Examples:
  holdfast broker topic list team)");

extern const Command kBrokerTopicShowCommand =
    make_command<TopicShowCommand>("broker topic show", "Show a topic and its subscriptions.",
                                   R"(Examples:
  holdfast broker topic show team alerts)");

extern const Command kBrokerTopicArchiveCommand = make_command<TopicArchiveCommand>(
    "broker topic archive", "Archive a topic: it accepts no more messages.",
    R"(Its history can still be read.

Examples:
  holdfast broker topic archive team alerts)");

extern const Command kBrokerTopicSubscribeCommand = make_command<TopicSubscribeCommand>(
    "broker topic subscribe", "Subscribe a member to a topic, or change its role.",
    R"(Messages that were accepted before are not delivered.

Examples:
  holdfast broker topic subscribe team alerts ben
  holdfast broker topic subscribe team alerts cat --read-only)");

extern const Command kBrokerTopicUnsubscribeCommand = make_command<TopicUnsubscribeCommand>(
    "broker topic unsubscribe", "End the subscription of a member.",
    R"(Examples:
  holdfast broker topic unsubscribe team alerts ben)");

}  // namespace holdfast::cli
