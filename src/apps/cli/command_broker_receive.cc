#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <vector>

#include "apps/cli/broker_backend.h"
#include "apps/cli/command.h"
#include "apps/cli/interrupt.h"
#include "apps/cli/json_rows.h"
#include "base/json_writer.h"
#include "delivery/contract/features.h"
#include "delivery/contract/hello.h"
#include "net/ws_client.h"

namespace holdfast::cli {

namespace {

// The broker pings after 30 s.
constexpr std::chrono::seconds kBrokerSilence{75};

ErrorCode code_of(std::uint16_t close_code) {
  switch (close_code) {
    case delivery::push_close::kUnauthenticated:
    case delivery::push_close::kRevoked:
      return ErrorCode::unauthenticated;
    case delivery::push_close::kReplaced:
    case delivery::push_close::kAlreadyConnected:
      return ErrorCode::conflict;
    case net::ws_code::kGoingAway:
    case net::ws_code::kLost:
    case net::ws_code::kTryAgainLater:
      return ErrorCode::unavailable;
    default:
      return ErrorCode::invalid_argument;
  }
}

// detail: of the error frame before, if there was one.
Error connection_ended(const net::WsIncoming& closed, const std::string& detail) {
  return Error{code_of(closed.code), fmt::format("the broker ended the connection: {}",
                                                 detail.empty() ? closed.text : detail)}
      .with("close_code", std::to_string(closed.code));
}

std::string negotiation() {
  JsonWriter json;
  json.begin_object().member("type", "feature_negotiation_request").key("require").begin_array();
  json.string(delivery::kDedupeFeature).end_array().end_object();
  return std::move(json).take();
}

std::string acknowledgement(const std::vector<std::int64_t>& ids) {
  JsonWriter json;
  json.begin_object().member("type", "client_ack").key("delivery_ids").begin_array();
  for (const std::int64_t id : ids) {
    json.integer(id);
  }
  json.end_array().end_object();
  return std::move(json).take();
}

struct MessageReceiveCommand {
  std::string workspace = {};
  std::string broker = {};
  std::string token_file = {};
  std::string tls_ca = {};
  std::uint64_t count = 0;

  void declare(Arguments& arguments) {
    arguments.required("WORKSPACE", workspace, "the name of the workspace");
    arguments.option("--broker", "URL", broker,
                     "Broker to receive from (default: HOLDFAST_BROKER, else "
                     "http://127.0.0.1:7718)");
    arguments.option("--token-file", "FILE", token_file, "File that holds the token of the member");
    arguments.option("--tls-ca", "FILE", tls_ca, "Authority of the broker's certificate, PEM");
    arguments.option("--count", "N", count, "End after so many messages (default: never)");
  }

  [[nodiscard]] std::string url() const {
    const char* const named = std::getenv("HOLDFAST_BROKER");
    return !broker.empty()    ? broker
           : named != nullptr ? std::string(named)
                              : std::string("http://127.0.0.1:7718");
  }

  Result<void> run(Context& context) const {
    if (token_file.empty()) {
      return Error{ErrorCode::invalid_argument, "a member needs its token: --token-file FILE"};
    }
    HOLDFAST_TRY(const std::string token, read_token_file(token_file));
    HOLDFAST_TRY(net::Url parsed, net::parse_url(url()));
    net::WsClientOptions options;
    options.target = "/v1/ws";
    options.http.tls_ca_file = tls_ca;
    HOLDFAST_TRY(const auto socket,
                 net::WsClient::connect(std::move(parsed), std::move(options), context.random));
    const Interrupt interrupt([&] { socket->wake(); });
    std::uint64_t received = 0;
    std::string detail;
    for (;;) {
      net::WsIncoming incoming = socket->receive(kBrokerSilence);
      if (interrupt.came() || incoming.kind == net::WsIncoming::Kind::silent) {
        socket->close(net::ws_code::kNormal, "");
        return interrupt.came() ? Result<void>()
                                : Error{ErrorCode::unavailable, "the broker does not answer"};
      }
      if (incoming.kind == net::WsIncoming::Kind::closed) {
        return connection_ended(incoming, detail);
      }
      HOLDFAST_TRY(const Json json, Json::parse(incoming.text));
      detail = json.text("type") == "error" ? json.text("detail") : "";
      HOLDFAST_CHECK(handle(context, *socket, json, token, received));
      if (json.text("type") == "ack" && count > 0 && received >= count) {
        socket->close(net::ws_code::kNormal, "");
        return {};
      }
    }
  }

  Result<void> handle(Context& context, net::WsClient& socket, const Json& json,
                      const std::string& token, std::uint64_t& received) const {
    const std::string_view type = json.text("type");
    if (type == "challenge") {
      JsonWriter hello;
      hello.begin_object().member("type", "hello").member("mesh", workspace);
      hello.member("token", token);
      if (count > 0) {
        // No more than are wanted: the rest stays with the broker.
        hello.member("window", std::min<std::uint64_t>(count, 100));
      }
      hello.end_object();
      return socket.send(std::move(hello).take());
    }
    if (type == "hello_ack") {
      return socket.send(negotiation());
    }
    return type == "push" ? show(context, socket, json, received) : Result<void>();
  }

  // What was printed is acknowledged.
  Result<void> show(Context& context, net::WsClient& socket, const Json& json,
                    std::uint64_t& received) const {
    std::vector<std::int64_t> ids;
    for (const Json& one : rows_of(json, "deliveries")) {
      if (count > 0 && received >= count) {
        break;
      }
      print(context, one);
      ids.push_back(one.integer("delivery_id").value_or(0));
      ++received;
    }
    context.out.flush();
    if (!context.out) {
      return Error{ErrorCode::io_error, "the messages cannot be written"};
    }
    return socket.send(acknowledgement(ids));
  }

  static void print(Context& context, const Json& one) {
    const JsonRow row(one);
    const auto destination = one.find("destination");
    const std::string to = destination.has_value() ? std::string(destination->text("kind")) + ":" +
                                                         std::string(destination->text("ref"))
                                                   : "";
    if (context.json()) {
      JsonWriter json;
      json.begin_object()
          .member("client_message_id", one.text("client_message_id"))
          .member("sender_name", one.text("sender_name"))
          .member("sender_pubkey", one.text("sender_pubkey"))
          .member("destination", to)
          .member("history_seq", row.number("history_seq"))
          .member("attempt", row.number("attempt"))
          .member("body", one.text("body"))
          .end_object();
      print_json(context, std::move(json));
      return;
    }
    print_line(context, fmt::format("{} {} {}: {}", row.text("sender_name"), to,
                                    row.text("client_message_id"), row.text("body")));
  }
};

}  // namespace

extern const Command kBrokerMessageReceiveCommand = make_command<MessageReceiveCommand>(
    "broker message receive", "Receive the messages of a member, and print them.",
    R"(Keeps a WebSocket to the broker, prints each message when it arrives, and acknowledges what
was printed. A message may come again after a failure: it has the same sender and id. The command
ends with an error when the connection ends; start it again.

Examples:
  holdfast broker message receive team --token-file ben.token
  holdfast broker message receive team --token-file ben.token --count 1 --json)");

}  // namespace holdfast::cli
