// WebSockets of the server: messages, close, liveness, slow and hostile peers.
#include "net/web_socket.h"

#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <thread>

#include "net/http_server.h"
#include "tests/support/test_client.h"
#include "tests/support/ws_peer.h"

namespace holdfast::net::web_socket_test {
namespace {

using namespace std::string_literals;
using std::chrono::milliseconds;

// What a handler was called with, for all connections of a server.
struct Seen {
  std::mutex mutex;
  std::vector<std::string> texts;
  std::vector<std::uint16_t> closed;
  std::vector<std::shared_ptr<WebSocket>> sockets;
  std::atomic<int> drained = 0;

  std::vector<std::string> all_texts() {
    const std::lock_guard lock(mutex);
    return texts;
  }
  std::vector<std::uint16_t> all_closed() {
    const std::lock_guard lock(mutex);
    return closed;
  }
  std::shared_ptr<WebSocket> socket(std::size_t at = 0) {
    std::shared_ptr<WebSocket> found;
    EXPECT_TRUE(eventually([&] {
      const std::lock_guard lock(mutex);
      found = at < sockets.size() ? sockets[at] : nullptr;
      return found != nullptr;
    }));
    return found;
  }
};

class Recorder final : public WebSocketHandler {
 public:
  explicit Recorder(Seen& seen) : seen_(seen) {}
  void on_text(std::string text) override {
    const std::lock_guard lock(seen_.mutex);
    seen_.texts.push_back(std::move(text));
  }
  void on_drained() override { ++seen_.drained; }
  void on_closed(std::uint16_t code) override {
    const std::lock_guard lock(seen_.mutex);
    seen_.closed.push_back(code);
  }

 private:
  Seen& seen_;
};

Handler upgrade_all(Seen& seen) {
  return [&seen](const ExchangePtr& exchange) {
    if (const Refused refused = check_ws_request(exchange->request(), {})) {
      Response response;
      response.status = refused->status;
      exchange->reply(response);
      return;
    }
    auto socket = exchange->upgrade(std::make_shared<Recorder>(seen));
    const std::lock_guard lock(seen.mutex);
    seen.sockets.push_back(std::move(socket));
  };
}

struct Served {
  explicit Served(Options options = {}) : server(upgrade_all(seen), std::move(options)) {}
  WsPeerClient peer(int receive_buffer_bytes = 0) {
    return WsPeerClient(server.url(), "/", receive_buffer_bytes);
  }
  bool closed_with(std::uint16_t code) {
    return eventually([&] { return seen.all_closed() == std::vector<std::uint16_t>{code}; });
  }
  Seen seen;
  TestServer server;
};

Options with(const WebSocketLimits& limits) {
  Options options;
  options.limits.web_socket = limits;
  return options;
}

TEST(WebSockets, messages_go_both_ways) {
  Served served;
  WsPeerClient peer = served.peer();
  ASSERT_TRUE(peer.opened());
  EXPECT_TRUE(peer.send("one"));
  EXPECT_TRUE(peer.send("two"));
  EXPECT_TRUE(eventually([&] {
    return served.seen.all_texts() == std::vector<std::string>{"one", "two"};
  }));
  const auto socket = served.seen.socket();
  socket->send("first");
  socket->send(std::string(100'000, 'x'));
  EXPECT_EQ(peer.text(), "first");
  EXPECT_EQ(peer.text(), std::string(100'000, 'x'));
  EXPECT_TRUE(eventually([&] { return socket->buffered() == 0 && served.seen.drained > 0; }));
}

TEST(WebSockets, frames_behind_the_request_are_read) {
  Served served;
  TestClient client(served.server.url());
  EXPECT_TRUE(client.send(ws_request("/") + ws_frame(WsOpcode::text, "early", WsMask{5, 6, 7, 8})));
  EXPECT_TRUE(
      eventually([&] { return served.seen.all_texts() == std::vector<std::string>{"early"}; }));
}

TEST(WebSockets, a_ping_is_answered_and_a_close_is_returned) {
  Served served;
  WsPeerClient peer = served.peer();
  EXPECT_TRUE(peer.send("are you there", WsOpcode::ping));
  WsEvent pong = peer.next();
  EXPECT_EQ(pong.kind, WsOpcode::pong);
  EXPECT_EQ(pong.data, "are you there");
  EXPECT_TRUE(peer.send(ws_close_payload(4242, "bye"), WsOpcode::close));
  WsEvent close = peer.next();
  EXPECT_EQ(close.kind, WsOpcode::close);
  EXPECT_EQ(close.code, 4242);
  EXPECT_TRUE(served.closed_with(4242));
  EXPECT_TRUE(peer.raw().ends());
  served.seen.socket()->send("into nothing");
  EXPECT_TRUE(eventually([&] { return served.server.server->counters().open == 1; }));
  peer.raw().close();
  EXPECT_TRUE(eventually([&] { return served.server.server->counters().open == 0; }));
}

TEST(WebSockets, the_server_closes_with_a_code_behind_what_it_sent) {
  Served served;
  WsPeerClient peer = served.peer();
  const auto socket = served.seen.socket();
  socket->send("last");
  socket->close(4003, "replaced");
  EXPECT_EQ(peer.text(), "last");
  WsEvent close = peer.next();
  EXPECT_EQ(close.code, 4003);
  EXPECT_EQ(close.data, "replaced");
  EXPECT_TRUE(served.closed_with(4003));
}

TEST(WebSockets, hostile_frames_close_the_connection_with_their_code) {
  const std::vector<std::pair<std::string, std::uint16_t>> cases{
      {"\x81\x05Hello"s, 1002},                                           // not masked
      {"\xff\xff\xff\xff"s, 1002},                                        // noise
      {ws_frame(WsOpcode::binary, "x", WsMask{}), 1003},                  // binary
      {"\x81\x81\x00\x00\x00\x00\xff"s, 1007},                            // not UTF-8
      {"\x81\xff\x00\x00\x00\x00\x7f\xff\xff\xff"s + "\0\0\0\0"s, 1009},  // 2 GiB announced
      {"\x80\x80\x00\x00\x00\x00"s, 1002},                                // a continuation
  };
  for (const auto& [bytes, code] : cases) {
    Served served;
    WsPeerClient peer = served.peer();
    EXPECT_TRUE(peer.send_raw(bytes));
    EXPECT_EQ(peer.next().code, code);
    EXPECT_TRUE(served.closed_with(code)) << code;
    EXPECT_TRUE(peer.raw().ends());
  }
}

TEST(WebSockets, a_peer_that_disconnects_is_noticed) {
  for (const bool reset : {false, true}) {
    Served served;
    WsPeerClient peer = served.peer();
    EXPECT_TRUE(peer.send_raw("\x81"s));  // inside a frame
    if (reset) {
      peer.raw().reset();
    } else {
      peer.raw().close();
    }
    EXPECT_TRUE(served.closed_with(ws_code::kLost));
  }
}

TEST(WebSockets, a_peer_that_does_not_read_loses_its_connection_and_not_our_memory) {
  Served served(with({.buffer_bytes = 1U << 20U}));
  WsPeerClient peer = served.peer(4096);
  const auto socket = served.seen.socket();
  const std::string piece(64U << 10U, 'x');
  std::size_t most = 0;
  EXPECT_TRUE(eventually([&] {
    socket->send(piece);
    most = std::max(most, socket->buffered());
    return !served.seen.all_closed().empty();
  }));
  EXPECT_EQ(served.seen.all_closed().front(), ws_code::kTryAgainLater);
  EXPECT_LE(most, (1U << 20U) + piece.size() + 100);
  // What it reads at last ends with the reason, behind whole frames.
  WsEvent event = peer.next();
  for (; event.kind == WsOpcode::text; event = peer.next()) {
    EXPECT_EQ(event.data.size(), piece.size());
  }
  EXPECT_EQ(event.code, ws_code::kTryAgainLater);
}

TEST(WebSockets, a_slow_peer_is_still_read_from) {
  Served served;
  WsPeerClient peer = served.peer(4096);
  const auto socket = served.seen.socket();
  socket->send(std::string(3U << 20U, 'x'));
  EXPECT_TRUE(peer.send("while the output is blocked"));
  EXPECT_TRUE(eventually([&] { return !served.seen.all_texts().empty(); }));
  EXPECT_GT(socket->buffered(), 0U);
  EXPECT_EQ(peer.text().size(), 3U << 20U);
}

TEST(WebSockets, a_flood_of_pings_by_a_peer_that_does_not_read_ends) {
  Served served(with({.buffer_bytes = 64U << 10U}));
  WsPeerClient peer = served.peer(4096);
  std::string pings;
  for (int i = 0; i < 1000; ++i) {
    append_ws_frame(pings, WsOpcode::ping, std::string(125, 'p'), WsMask{9, 9, 9, 9});
  }
  std::thread sender([&] {
    for (int i = 0; i < 100 && peer.send_raw(pings); ++i) {
    }
  });
  EXPECT_TRUE(served.closed_with(ws_code::kTryAgainLater));
  peer.raw().finish_sending();
  sender.join();
}

TEST(WebSockets, a_silent_peer_is_pinged_and_then_closed) {
  Served served(with({.ping = milliseconds(50), .silence = milliseconds(200)}));
  WsPeerClient peer = served.peer();
  EXPECT_EQ(peer.next().kind, WsOpcode::ping);
  // One that answers stays.
  for (int i = 0; i < 6; ++i) {
    EXPECT_TRUE(peer.send("", WsOpcode::pong));
    EXPECT_EQ(peer.next().kind, WsOpcode::ping);
  }
  EXPECT_TRUE(served.seen.all_closed().empty());
  EXPECT_EQ(peer.next().code, ws_code::kGoingAway);
  EXPECT_TRUE(served.closed_with(ws_code::kGoingAway));
}

TEST(WebSockets, a_drain_closes_them) {
  Served served;
  WsPeerClient peer = served.peer();
  served.seen.socket();
  EXPECT_TRUE(served.server.server->drain(kPatience));
  EXPECT_EQ(peer.next().code, ws_code::kGoingAway);
  EXPECT_TRUE(served.closed_with(ws_code::kGoingAway));
}

TEST(WebSockets, http_1_0_is_not_upgraded) {
  Served served;
  std::string request = ws_request("/");
  request.replace(request.find("HTTP/1.1"), 8, "HTTP/1.0");
  EXPECT_EQ(served.server.client().call(request).status, 400);
  EXPECT_TRUE(served.closed_with(ws_code::kLost));
}

}  // namespace
}  // namespace holdfast::net::web_socket_test
