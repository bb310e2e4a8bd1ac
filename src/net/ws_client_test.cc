// WsClient against the server of this module, over TCP and a unix socket, and scripted servers.
#include "net/ws_client.h"

#include <gtest/gtest.h>

#include <thread>

#include "base/random.h"
#include "net/http_server.h"
#include "net/ws_handshake.h"
#include "tests/support/must.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_client.h"

namespace holdfast::net::ws_client_test {
namespace {

using std::chrono::milliseconds;

class Echo final : public WebSocketHandler {
 public:
  void on_text(std::string text) override {
    if (text == "bye") {
      socket->close(4001, "as requested");
    } else {
      socket->send(text);
    }
  }
  void on_drained() override {}
  void on_closed(std::uint16_t /*code*/) override { socket.reset(); }

  std::shared_ptr<WebSocket> socket;  // set before the first message: both on the server's thread
};

void echo_on(const ExchangePtr& exchange) {
  const std::string_view token = exchange->request().header("Authorization");
  if (!check_ws_request(exchange->request(), {}).has_value() && token == "Bearer secret") {
    auto handler = std::make_shared<Echo>();
    handler->socket = exchange->upgrade(handler);
    return;
  }
  Response response;
  response.status = 401;
  exchange->reply(std::move(response));
}

WsClientOptions options(const std::string& token = "secret") {
  WsClientOptions options;
  options.http.token = token;
  options.target = "/v1/ws";
  return options;
}

Result<std::unique_ptr<WsClient>> connect(const std::string& url, WsClientOptions with) {
  static SeededRandom random(7);
  return WsClient::connect(must(parse_url(url)), std::move(with), random);
}

TEST(WsClients, messages_of_every_size_come_back) {
  const TempDir folder;
  Options listen;
  listen.listen = {"127.0.0.1:0", "unix:" + folder.file("socket")};
  listen.limits.web_socket.message_bytes = 1U << 20U;
  TestServer server(echo_on, listen);
  for (const std::string& url : server.server->urls()) {
    auto client = must(connect(url, options()));
    for (const std::size_t size : {0U, 1U, 125U, 126U, 65'535U, 65'536U, 1'000'000U}) {
      const std::string text(size, 'x');
      must(client->send(text));
      must(client->ping());
      const WsIncoming incoming = client->receive(kPatience);
      EXPECT_EQ(incoming.kind, WsIncoming::Kind::text);
      EXPECT_EQ(incoming.text, text);
    }
    must(client->send("bye"));
    const WsIncoming closed = client->receive(kPatience);
    EXPECT_EQ(closed.kind, WsIncoming::Kind::closed);
    EXPECT_EQ(closed.code, 4001);
    EXPECT_EQ(closed.text, "as requested");
    EXPECT_EQ(code_of(client->send("more")), "unavailable");
    EXPECT_EQ(client->receive(kPatience).kind, WsIncoming::Kind::closed);
  }
}

TEST(WsClients, silence_and_wake_end_a_receive) {
  TestServer server(echo_on);
  auto client = must(connect(server.url(), options()));
  EXPECT_EQ(client->receive(milliseconds(10)).kind, WsIncoming::Kind::silent);
  client->wake();
  EXPECT_EQ(client->receive(kPatience).kind, WsIncoming::Kind::woken);
  std::thread other([&] { client->wake(); });
  EXPECT_EQ(client->receive(kPatience).kind, WsIncoming::Kind::woken);
  other.join();
  must(client->send("still works"));
  EXPECT_EQ(client->receive(kPatience).text, "still works");
}

TEST(WsClients, another_answer_than_a_web_socket_is_an_error) {
  TestServer server(echo_on);
  EXPECT_EQ(code_of(connect(server.url(), options("wrong"))), "unauthenticated");
  EXPECT_EQ(code_of(connect("http://127.0.0.1:1", options())), "unavailable");
  TestServer echo_of_http;
  EXPECT_EQ(code_of(connect(echo_of_http.url(), options())), "invalid_argument");
}

TEST(WsClients, the_end_of_the_server_is_noticed) {
  TestServer server(echo_on);
  auto client = must(connect(server.url(), options()));
  server.server->stop();
  const WsIncoming closed = client->receive(kPatience);
  EXPECT_EQ(closed.kind, WsIncoming::Kind::closed);
  EXPECT_EQ(closed.code, ws_code::kLost);
}

}  // namespace
}  // namespace holdfast::net::ws_client_test
