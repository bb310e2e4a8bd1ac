// Peers that disconnect, streams without a reader, and the end of a server.
#include <gtest/gtest.h>
#include <poll.h>

#include <atomic>
#include <ctime>
#include <string>
#include <thread>
#include <vector>

#include "net/http_server.h"
#include "tests/support/test_client.h"

namespace holdfast::net::http_lifecycle_test {

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// One request that the test answers.
struct OneHeld {
  explicit OneHeld(Options options = {}) : server(hold_in(held), std::move(options)) {
    EXPECT_TRUE(client.send(get("/")));
    exchange = held.take();
    EXPECT_NE(exchange, nullptr);
  }

  Held held;
  TestServer server;
  TestClient client = server.client();
  ExchangePtr exchange;
};

TEST(HttpLifecycle, a_peer_that_closes_before_its_response_is_noticed) {
  OneHeld one;
  std::atomic<int> gone = 0;
  one.exchange->when_gone([&] { ++gone; });
  EXPECT_EQ(gone, 0);
  one.client.close();
  EXPECT_TRUE(eventually([&] { return gone == 1; }));
  one.exchange->reply(text("unread"));
  EXPECT_TRUE(eventually([&] { return one.server.server->counters().open == 0; }));
  EXPECT_EQ(gone, 1);
}

TEST(HttpLifecycle, a_peer_that_resets_is_noticed) {
  OneHeld one;
  std::atomic<int> gone = 0;
  one.exchange->when_gone([&] { ++gone; });
  one.client.reset();
  EXPECT_TRUE(eventually([&] { return gone == 1; }));
  EXPECT_TRUE(eventually([&] { return one.server.server->counters().open == 0; }));
  one.exchange->reply(text("unread"));
}

TEST(HttpLifecycle, a_callback_set_after_the_disconnect_runs_at_once) {
  OneHeld one;
  one.client.reset();
  EXPECT_TRUE(eventually([&] { return one.server.server->counters().open == 0; }));
  std::atomic<int> gone = 0;
  one.exchange->when_gone([&] { ++gone; });
  EXPECT_TRUE(eventually([&] { return gone == 1; }));
}

TEST(HttpLifecycle, a_peer_that_leaves_with_its_response_causes_no_callback) {
  OneHeld one;
  std::atomic<int> gone = 0;
  one.exchange->when_gone([&] { ++gone; });
  one.exchange->reply(text("all"));
  EXPECT_EQ(one.client.receive().body, "all");
  one.client.close();
  EXPECT_TRUE(eventually([&] { return one.server.server->counters().open == 0; }));
  EXPECT_EQ(gone, 0);
}

TEST(HttpLifecycle, responses_that_are_given_together_reach_every_peer_that_is_there) {
  OneHeld one;
  TestClient second = one.server.client();
  EXPECT_TRUE(second.send(get("/")));
  const ExchangePtr other = one.held.take();
  TestClient third = one.server.client();
  EXPECT_TRUE(third.send(get("/")));
  const ExchangePtr gone = one.held.take();
  third.reset();
  reply_all({{one.exchange, text("first")}, {gone, text("unread")}, {other, text("second")}});
  EXPECT_EQ(one.client.receive().body, "first");
  EXPECT_EQ(second.receive().body, "second");
  EXPECT_TRUE(eventually([&] { return one.server.server->counters().open == 2; }));
}

TEST(HttpLifecycle, a_peer_that_only_stops_sending_still_receives_its_response) {
  OneHeld one;
  std::atomic<int> gone = 0;
  one.exchange->when_gone([&] { ++gone; });
  one.client.finish_sending();
  EXPECT_TRUE(eventually([&] { return gone == 1; }));
  one.exchange->reply(text("here"));
  EXPECT_EQ(one.client.receive().body, "here");
  EXPECT_TRUE(one.client.ends());
}

TEST(HttpLifecycle, an_exchange_that_is_dropped_is_answered_with_500) {
  OneHeld one;
  one.exchange.reset();
  const Answer answer = one.client.receive();
  EXPECT_EQ(answer.status, 500);
  EXPECT_NE(answer.body.find("internal_error"), std::string::npos);
  // It is an ordinary response: the connection stays open.
  ASSERT_TRUE(one.client.send(get("/again")));
  const ExchangePtr next = one.held.take();
  ASSERT_NE(next, nullptr);
  next->reply(text("again"));
  EXPECT_EQ(one.client.receive().body, "again");
}

TEST(HttpLifecycle, a_stream_is_notified_that_its_reader_left) {
  OneHeld one;
  std::atomic<int> gone = 0;
  one.exchange->when_gone([&] { ++gone; });
  const auto stream = one.exchange->stream(text(""));
  one.exchange.reset();
  EXPECT_TRUE(one.client.read_until("\r\n\r\n"));
  EXPECT_EQ(gone, 0);
  one.client.close();
  EXPECT_TRUE(eventually([&] { return gone == 1; }));
  EXPECT_TRUE(eventually([&] { return one.server.server->counters().open == 0; }));
  std::atomic<int> alive = -1;
  stream->write("x", [&](bool is) { alive = is ? 1 : 0; });
  EXPECT_TRUE(eventually([&] { return alive == 0; }));
}

TEST(HttpLifecycle, a_dropped_stream_is_finished) {
  OneHeld one;
  auto stream = one.exchange->stream(text(""));
  stream.reset();
  const Answer answer = one.client.receive();
  EXPECT_TRUE(answer.complete);
  EXPECT_EQ(answer.body, "");
}

TEST(HttpLifecycle, a_slow_reader_holds_the_writer_of_its_stream_back) {
  OneHeld one;
  constexpr std::size_t kPiece = 1U << 20U;
  const auto stream = one.exchange->stream(text(""));
  std::atomic<std::size_t> sent = 0;
  std::atomic<bool> waits = false;
  // Writes until a piece is not accepted: then the buffers of the system are full.
  while (!waits) {
    const auto patience = Clock::now() + milliseconds(200);
    const auto done = std::make_shared<std::atomic<int>>(-1);
    stream->write(std::string(kPiece, 'x'), [&sent, done](bool is) {
      sent += is ? 1 : 0;
      *done = is ? 1 : 0;
    });
    eventually([&] { return *done >= 0 || Clock::now() > patience; });
    waits = *done < 0;
    ASSERT_LT(sent, 200U);
  }
  const std::size_t before = sent;
  // As soon as the reader reads, the piece is sent.
  Answer answer;
  std::thread reading([&] { answer = one.client.receive(); });
  EXPECT_TRUE(eventually([&] { return sent == before + 1; }));
  stream->finish();
  reading.join();
  EXPECT_TRUE(answer.complete);
  EXPECT_EQ(answer.body.size(), (before + 1) * kPiece);
}

TEST(HttpLifecycle, a_stream_whose_reader_does_not_read_is_closed) {
  Options options;
  options.limits.send = milliseconds(100);
  OneHeld one(options);
  std::atomic<int> gone = 0;
  one.exchange->when_gone([&] { ++gone; });
  const auto stream = one.exchange->stream(text(""));
  std::atomic<int> alive = -1;
  stream->write(std::string(32U << 20U, 'x'), [&](bool is) { alive = is ? 1 : 0; });
  EXPECT_TRUE(eventually([&] { return alive == 0; }));
  EXPECT_TRUE(eventually([&] { return gone == 1; }));
}

// A stream that writes the next piece at once must not occupy the thread.
void pour(const std::shared_ptr<Stream>& stream) {
  stream->write(std::string(100, 'x'), [stream](bool alive) {
    if (alive) {
      pour(stream);
    }
  });
}

TEST(HttpLifecycle, an_endless_stream_does_not_starve_the_others) {
  const TestServer server([](const ExchangePtr& exchange) {
    if (exchange->request().path == "/pour") {
      pour(exchange->stream(text("")));
    } else {
      exchange->reply(text("served"));
    }
  });
  TestClient greedy = server.client();
  ASSERT_TRUE(greedy.send(get("/pour")));
  std::atomic<bool> over = false;
  std::thread reading([&] {
    char buffer[65'536];  // NOLINT(modernize-avoid-c-arrays)
    pollfd wanted{greedy.fd(), POLLIN, 0};
    while (!over && ::poll(&wanted, 1, 100) >= 0) {
      [[maybe_unused]] const auto bytes = ::read(greedy.fd(), &buffer[0], sizeof buffer);
    }
  });
  TestClient client = server.client();
  for (int count = 0; count < 50; ++count) {
    EXPECT_EQ(client.call(get("/")).body, "served");
  }
  over = true;
  reading.join();
}

TEST(HttpLifecycle, draining_waits_for_pending_responses) {
  OneHeld one;
  TestClient idle = one.server.client();
  TestClient half = one.server.client();
  ASSERT_TRUE(half.send("GET / HTT"));
  EXPECT_TRUE(eventually([&] { return one.server.server->counters().open == 3; }));
  EXPECT_FALSE(one.server.server->drain(milliseconds(50)));
  EXPECT_TRUE(idle.ends());
  EXPECT_EQ(idle.unread(), "");
  const Answer cut = half.receive();
  EXPECT_TRUE(cut.status == 503 || cut.status == 0);  // 0: its bytes were not read yet
  EXPECT_FALSE(one.server.client().connected());
  std::thread answering([&] { one.exchange->reply(text("pending")); });
  EXPECT_TRUE(one.server.server->drain(kPatience));
  answering.join();
  const Answer answer = one.client.receive();
  EXPECT_EQ(answer.body, "pending");
  EXPECT_EQ(answer.header("connection"), "close");
  EXPECT_TRUE(one.client.ends());
  EXPECT_EQ(one.server.server->counters().requests, 1U);
}

TEST(HttpLifecycle, draining_accepts_no_pipelined_request) {
  Held held;
  const TestServer server(hold_in(held));
  TestClient client = server.client();
  ASSERT_TRUE(client.send(get("/1") + get("/2")));
  const ExchangePtr first = held.take();
  ASSERT_NE(first, nullptr);
  EXPECT_FALSE(server.server->drain(milliseconds(0)));
  first->reply(text("1"));
  EXPECT_TRUE(server.server->drain(kPatience));
  EXPECT_EQ(client.receive().body, "1");
  EXPECT_TRUE(client.ends());
  EXPECT_EQ(client.unread(), "");
  EXPECT_EQ(server.server->counters().requests, 1U);
}

TEST(HttpLifecycle, draining_waits_for_streams) {
  OneHeld one;
  const auto stream = one.exchange->stream(text(""));
  EXPECT_FALSE(one.server.server->drain(milliseconds(30)));
  std::atomic<int> alive = -1;
  stream->write("last words", [&](bool is) { alive = is ? 1 : 0; });
  EXPECT_TRUE(eventually([&] { return alive == 1; }));
  stream->finish();
  EXPECT_TRUE(one.server.server->drain(kPatience));
  EXPECT_EQ(one.client.receive().body, "last words");
  EXPECT_TRUE(one.client.ends());
}

TEST(HttpLifecycle, after_stop_nothing_is_called) {
  std::atomic<int> calls = 0;
  std::atomic<int> gone = 0;
  ExchangePtr kept;
  std::shared_ptr<Stream> stream;
  {
    Options options;
    options.threads = 2;
    OneHeld one(options);
    TestClient other = one.server.client();
    ASSERT_TRUE(other.send(get("/stream")));
    const ExchangePtr second = one.held.take();
    ASSERT_NE(second, nullptr);
    second->when_gone([&] { ++gone; });
    stream = second->stream(text(""));
    std::atomic<int> alive = -1;
    // The peer does not read: the piece is pending when the server stops.
    stream->write(std::string(32U << 20U, 'x'), [&](bool is) { alive = is ? 1 : 0; });
    kept = std::move(one.exchange);
    one.server.server->stop();
    one.server.server->stop();
    EXPECT_EQ(alive, 0);
    EXPECT_EQ(gone, 1);
    EXPECT_TRUE(one.client.ends());
    EXPECT_EQ(one.server.server->counters().open, 0U);
    EXPECT_TRUE(one.server.server->drain(milliseconds(0)));
  }
  kept->when_gone([&] { ++calls; });
  kept->reply(text("unread"));
  kept.reset();
  stream->write("x", [&](bool) { ++calls; });
  stream.reset();
  EXPECT_EQ(calls, 0);
}

TEST(HttpLifecycle, an_idle_server_uses_no_time) {
  const TestServer server;
  std::vector<TestClient> clients;
  for (int count = 0; count < 50; ++count) {
    clients.push_back(server.client());
    EXPECT_EQ(clients.back().call(get("/")).status, 200);
  }
  const std::clock_t before = std::clock();
  ::poll(nullptr, 0, 300);
  // Of all threads; one that spins would have used 300 ms.
  EXPECT_LT(std::clock() - before, CLOCKS_PER_SEC / 20);
}

}  // namespace

}  // namespace holdfast::net::http_lifecycle_test
