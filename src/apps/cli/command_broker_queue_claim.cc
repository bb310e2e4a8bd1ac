#include <fmt/format.h>

#include <cstdlib>

#include "apps/cli/argument_values.h"
#include "apps/cli/broker_backend.h"
#include "apps/cli/cli_store.h"
#include "apps/cli/command.h"
#include "apps/cli/json_rows.h"

namespace holdfast::cli {

namespace {

// A consumer of a queue at a broker that runs.
struct ConsumerOptions {
  BrokerOptions broker = {};
  std::string queue = {};

  void declare_broker(Arguments& arguments) {
    arguments.option("--broker", "URL", broker.broker,
                     "Broker of the queue (default: $HOLDFAST_BROKER, else http://127.0.0.1:7718)");
    arguments.option("--token-file", "FILE", broker.token_file,
                     "File that holds the token of the member (default: the token in "
                     "$HOLDFAST_BROKER_TOKEN)");
    arguments.option("--tls-ca", "FILE", broker.tls_ca,
                     "Authority of the broker's certificate, PEM");
  }
  void declare_queue(Arguments& arguments) {
    arguments.required("QUEUE", queue, "the name of the queue");
  }

  template <typename Show>
  Result<void> call(Context& context, std::string_view action, JsonWriter json,
                    const Show& show) const {
    BrokerOptions options = broker;
    if (options.broker.empty() && std::getenv("HOLDFAST_BROKER") == nullptr) {
      options.broker = "http://127.0.0.1:7718";
    }
    HOLDFAST_TRY(const auto backend, open_broker_backend(options, context, StoreUse::existing));
    HOLDFAST_TRY(const std::string body,
                 backend->send({"POST", "/v1/queues" + path_part(queue) + "/" + std::string(action),
                                std::move(json).take()}));
    HOLDFAST_TRY(const Json reply, Json::parse(body));
    if (context.json()) {
      print_body(context, body);
    } else {
      show(reply);
    }
    const std::vector<Json> fenced = rows_of(reply, "fenced");
    if (!fenced.empty()) {
      const JsonRow first(fenced.front());
      return Error{ErrorCode::conflict,
                   fmt::format("{} message{} not changed: {} ({})", fenced.size(),
                               fenced.size() == 1 ? " was" : "s were",
                               first.text("broker_message_id"), first.text("reason"))};
    }
    return {};
  }
};

struct BrokerQueueClaimCommand : ConsumerOptions {
  std::uint64_t limit = 1;
  std::uint64_t wait = 0;
  std::string lease = {};
  std::string key = {};

  void declare(Arguments& arguments) {
    declare_queue(arguments);
    arguments.option("--limit", "N", limit, "At most so many messages, up to 100 (default: 1)");
    arguments.option("--wait", "SECONDS", wait,
                     "Wait for a message when there is none, up to 10 (default: 0)");
    arguments.option(
        "--lease", "TIME", lease,
        "How long the messages are leased, for example 2m (default: as the queue says)");
    arguments.option("--key", "KEY", key, "Only messages with this ordering key");
    declare_broker(arguments);
  }

  Result<void> run(Context& context) const {
    JsonWriter json;
    json.begin_object().member("limit", limit).member("wait_ms", wait * 1000);
    if (!lease.empty()) {
      HOLDFAST_TRY(const std::uint64_t lease_ms, duration_argument("lease", lease));
      json.member("lease_ms", lease_ms);
    }
    if (!key.empty()) {
      json.member("key", key);
    }
    json.end_object();
    return call(context, "claim", std::move(json), [&](const Json& reply) {
      const std::vector<Json> messages = rows_of(reply, "messages");
      if (messages.empty()) {
        print_line(context, "no message");
        return;
      }
      print_line(context, fmt::format("lease {} until {}", JsonRow(reply).text("lease"),
                                      JsonRow(reply).time("lease_until")));
      for (const Json& message : messages) {
        const JsonRow row(message);
        print_line(context, fmt::format("{} {} {}: {}", row.text("broker_message_id"),
                                        row.text("sender_name"), row.text("client_message_id"),
                                        row.text("body")));
      }
    });
  }
};

// What a consumer does with messages that it holds.
struct HeldOptions : ConsumerOptions {
  std::string lease = {};
  std::vector<std::string> messages = {};

  void declare_held(Arguments& arguments) {
    declare_queue(arguments);
    arguments.required("LEASE", lease, "the lease, as `claim` printed it");
    arguments.one_or_more("MESSAGE", messages, "the broker's ids of the messages");
    declare_broker(arguments);
  }
  [[nodiscard]] JsonWriter begin() const {
    JsonWriter json;
    json.begin_object().member("lease", lease).key("broker_message_ids").begin_array();
    for (const std::string& id : messages) {
      json.string(id);
    }
    json.end_array();
    return json;
  }
  static std::size_t count(const Json& reply, std::string_view name) {
    const auto list = reply.find(name);
    return list.has_value() ? list->size() : 0;
  }
};

struct BrokerQueueAckCommand : HeldOptions {
  void declare(Arguments& arguments) { declare_held(arguments); }
  Result<void> run(Context& context) const {
    JsonWriter json = begin();
    json.end_object();
    return call(context, "ack", std::move(json), [&](const Json& reply) {
      print_line(context, fmt::format("{} acknowledged", count(reply, "acked")));
    });
  }
};

struct BrokerQueueNackCommand : HeldOptions {
  std::string delay = {};
  std::string reason = {};

  void declare(Arguments& arguments) {
    declare_held(arguments);
    arguments.option("--delay", "TIME", delay, "Until they can be claimed again, for example 10s");
    arguments.option("--reason", "TEXT", reason, "Kept with a message that is dead now");
  }
  Result<void> run(Context& context) const {
    JsonWriter json = begin();
    if (!delay.empty()) {
      HOLDFAST_TRY(const std::uint64_t delay_ms, duration_argument("delay", delay));
      json.member("delay_ms", delay_ms);
    }
    json.member("reason", reason).end_object();
    return call(context, "nack", std::move(json), [&](const Json& reply) {
      print_line(context, fmt::format("{} given back, {} dead", count(reply, "returned"),
                                      count(reply, "dead")));
    });
  }
};

struct BrokerQueueExtendCommand : HeldOptions {
  std::string by = {};

  void declare(Arguments& arguments) {
    declare_held(arguments);
    arguments.option("--lease", "TIME", by,
                     "From now on, for example 2m (default: as the queue says)");
  }
  Result<void> run(Context& context) const {
    JsonWriter json = begin();
    if (!by.empty()) {
      HOLDFAST_TRY(const std::uint64_t lease_ms, duration_argument("lease", by));
      json.member("lease_ms", lease_ms);
    }
    json.end_object();
    return call(context, "extend", std::move(json), [&](const Json& reply) {
      print_line(context, fmt::format("{} extended until {}", count(reply, "extended"),
                                      JsonRow(reply).time("lease_until")));
    });
  }
};

}  // namespace

extern const Command kBrokerQueueClaimCommand = make_command<BrokerQueueClaimCommand>(
    "broker queue claim", "Take messages of a queue, as one of its consumers.",
    R"(The messages are leased: acknowledge them, give them back or extend the lease before it
ends, or they are given to another consumer.

Examples:
  holdfast broker queue claim jobs --token-file ben.token
  holdfast broker queue claim jobs --token-file ben.token --limit 10 --wait 10 --lease 5m --json)");

extern const Command kBrokerQueueAckCommand = make_command<BrokerQueueAckCommand>(
    "broker queue ack", "Acknowledge messages of a queue: they have been dealt with.",
    R"(An acknowledgement without the lease changes nothing; the command then ends with 4.

Examples:
  holdfast broker queue ack jobs LEASE 01JD3ZK8Q6X4T2V9B7N5M1C0RA --token-file ben.token)");

extern const Command kBrokerQueueNackCommand = make_command<BrokerQueueNackCommand>(
    "broker queue nack", "Give messages of a queue back.",
    R"(They can be claimed again, at once or after the delay. After its last delivery a message is
dead.

Examples:
  holdfast broker queue nack jobs LEASE 01JD3ZK8Q6X4T2V9B7N5M1C0RA --token-file ben.token
  holdfast broker queue nack jobs LEASE 01JD3ZK8Q6X4T2V9B7N5M1C0RA --delay 10m --reason full)");

extern const Command kBrokerQueueExtendCommand = make_command<BrokerQueueExtendCommand>(
    "broker queue extend", "Extend the lease of messages of a queue.",
    R"(Examples:
  holdfast broker queue extend jobs LEASE 01JD3ZK8Q6X4T2V9B7N5M1C0RA --lease 5m)");

}  // namespace holdfast::cli
