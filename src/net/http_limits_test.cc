// Each limit of the server, and what happens to connections that reach it.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "net/http_server.h"
#include "tests/support/test_client.h"

namespace holdfast::net::http_limits_test {

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

Options with(const Limits& limits) {
  Options options;
  options.limits = limits;
  return options;
}

// Descriptors for many connections, until the end of the test.
class ManyDescriptors {
 public:
  explicit ManyDescriptors(rlim_t wanted) {
    getrlimit(RLIMIT_NOFILE, &before_);
    rlimit more = before_;
    more.rlim_cur = std::min(std::max(wanted, more.rlim_cur), more.rlim_max);
    setrlimit(RLIMIT_NOFILE, &more);
  }
  ManyDescriptors(const ManyDescriptors&) = delete;
  ManyDescriptors& operator=(const ManyDescriptors&) = delete;
  ~ManyDescriptors() { setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_{};
};

// No new descriptor above this one, until the end of the test.
class NoDescriptors {
 public:
  NoDescriptors() {
    getrlimit(RLIMIT_NOFILE, &before_);
    rlimit none = before_;
    none.rlim_cur = 3;
    setrlimit(RLIMIT_NOFILE, &none);
  }
  NoDescriptors(const NoDescriptors&) = delete;
  NoDescriptors& operator=(const NoDescriptors&) = delete;
  ~NoDescriptors() { setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_{};
};

TEST(HttpLimits, the_head) {
  Limits limits;
  limits.header_bytes = 200;
  const TestServer server(echo(), with(limits));
  TestClient headers = server.client();
  EXPECT_EQ(
      headers.call("GET / HTTP/1.1\r\nHost: a\r\nX: " + std::string(300, 'x') + "\r\n\r\n").status,
      431);
  EXPECT_TRUE(headers.ends());
  TestClient line = server.client();
  const Answer answer = line.call(get("/" + std::string(300, 'x')));
  EXPECT_EQ(answer.status, 414);
  EXPECT_NE(answer.body.find("\"code\":\"too_large\""), std::string::npos);
}

TEST(HttpLimits, the_body) {
  Limits limits;
  limits.body_bytes = 10;
  const TestServer server(echo(), with(limits));
  TestClient sized = server.client();
  EXPECT_EQ(sized.call("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n0123456789").status,
            200);
  // Also while the body is still being sent.
  EXPECT_EQ(sized
                .call("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n" +
                      std::string(1'000'000, 'x'))
                .status,
            413);
  EXPECT_TRUE(sized.ends());
  TestClient chunked = server.client();
  EXPECT_EQ(chunked
                .call("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
                      "8\r\n01234567\r\n8\r\n01234567\r\n0\r\n\r\n")
                .status,
            413);
  EXPECT_EQ(server.server->counters().malformed, 2U);
}

TEST(HttpLimits, idle_connections_are_closed_without_a_response) {
  Limits limits;
  limits.idle = milliseconds(50);
  const TestServer server(echo(), with(limits));
  const auto begin = Clock::now();
  TestClient never_spoke = server.client();
  TestClient spoke = server.client();
  EXPECT_EQ(spoke.call(get("/")).status, 200);
  EXPECT_TRUE(never_spoke.ends());
  EXPECT_TRUE(spoke.ends());
  EXPECT_EQ(never_spoke.unread() + spoke.unread(), "");
  EXPECT_GE(Clock::now() - begin, milliseconds(50));
  EXPECT_TRUE(eventually([&] { return server.server->counters().open == 0; }));
  EXPECT_EQ(server.server->counters().malformed, 0U);
}

TEST(HttpLimits, a_request_that_arrives_too_slowly_times_out) {
  Limits limits;
  limits.receive = milliseconds(150);
  const TestServer server(echo(), with(limits));
  TestClient client = server.client();
  const auto begin = Clock::now();
  // Single bytes do not extend the time: it applies to the whole request.
  ASSERT_TRUE(client.send("GET / HTTP/1.1\r\nX: "));
  std::atomic<bool> over = false;
  std::thread dripping([&] {
    while (!over && Clock::now() - begin < kPatience && client.send("x")) {
      const auto pause = Clock::now() + milliseconds(10);
      eventually([&] { return Clock::now() > pause; });
    }
  });
  const Answer answer = client.receive();
  const auto took = Clock::now() - begin;
  over = true;
  dripping.join();
  EXPECT_EQ(answer.status, 408);
  EXPECT_NE(answer.body.find("request_timeout"), std::string::npos);
  EXPECT_GE(took, milliseconds(150));
  EXPECT_LT(took, kPatience / 2);
  EXPECT_TRUE(client.ends());
  EXPECT_EQ(server.server->counters().malformed, 1U);
}

TEST(HttpLimits, a_body_that_does_not_arrive_times_out) {
  Limits limits;
  limits.receive = milliseconds(50);
  const TestServer server(echo(), with(limits));
  TestClient client = server.client();
  EXPECT_EQ(client.call("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nab").status, 408);
}

TEST(HttpLimits, a_peer_that_does_not_read_is_disconnected) {
  Limits limits;
  limits.send = milliseconds(100);
  const TestServer server(
      [](const ExchangePtr& exchange) { exchange->reply(text(std::string(32U << 20U, 'x'))); },
      with(limits));
  TestClient client = server.client(4'096);
  ASSERT_TRUE(client.send(get("/")));
  EXPECT_TRUE(eventually([&] { return server.server->counters().requests == 1; }));
  EXPECT_TRUE(eventually([&] { return server.server->counters().open == 0; }));
  const Answer answer = client.receive();
  EXPECT_FALSE(answer.complete);
}

TEST(HttpLimits, a_peer_that_reads_slowly_is_not_disconnected) {
  Limits limits;
  limits.send = milliseconds(400);
  const std::size_t size = 6U << 20U;
  const TestServer server(
      [&](const ExchangePtr& exchange) { exchange->reply(text(std::string(size, 'x'))); },
      with(limits));
  TestClient client = server.client(64 << 10);
  ASSERT_TRUE(client.send(get("/")));
  const auto begin = Clock::now();
  // The whole takes longer than the limit, but there is progress.
  std::size_t steps = 0;
  while (client.unread().size() < size && client.read_some()) {
    if (Clock::now() - begin < milliseconds(1'000)) {
      const auto pause = Clock::now() + milliseconds(5);
      eventually([&] { return Clock::now() > pause; });
      ++steps;
    }
  }
  const Answer answer = client.receive();
  EXPECT_TRUE(answer.complete);
  EXPECT_EQ(answer.body.size(), size);
  EXPECT_GT(steps, 5U);
}

TEST(HttpLimits, a_response_that_does_not_arrive_times_out) {
  Limits limits;
  limits.answer = milliseconds(50);
  Held held;
  const TestServer server(hold_in(held), with(limits));
  TestClient client = server.client();
  ASSERT_TRUE(client.send(get("/") + get("/next")));
  const ExchangePtr exchange = held.take();
  ASSERT_NE(exchange, nullptr);
  std::atomic<int> gone = 0;
  exchange->when_gone([&] { ++gone; });
  const Answer answer = client.receive();
  EXPECT_EQ(answer.status, 503);
  EXPECT_NE(answer.body.find("answer_timeout"), std::string::npos);
  EXPECT_TRUE(client.ends());
  EXPECT_TRUE(eventually([&] { return gone == 1; }));
  exchange->reply(text("too late"));
  EXPECT_EQ(client.unread(), "");
  EXPECT_EQ(server.server->counters().requests, 1U);
}

TEST(HttpLimits, a_late_response_is_in_doubt_unless_the_method_is_safe) {
  Limits limits;
  limits.answer = milliseconds(50);
  Held held;
  const TestServer server(hold_in(held), with(limits));
  TestClient reader = server.client();
  ASSERT_TRUE(reader.send(get("/")));
  const ExchangePtr read = held.take();
  const Answer retry = reader.receive();
  EXPECT_NE(retry.body.find(R"("retry":true,"what_next":"retry")"), std::string::npos);
  EXPECT_EQ(retry.header("Retry-After"), "1");

  TestClient writer = server.client();
  ASSERT_TRUE(writer.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}"));
  const ExchangePtr write = held.take();
  ASSERT_NE(write, nullptr);
  write->identify("run_id", "r1");
  const Answer open = writer.receive();
  EXPECT_EQ(open.status, 503);
  EXPECT_NE(open.body.find(R"("retry":false,"what_next":"in_doubt","run_id":"r1")"),
            std::string::npos)
      << open.body;
  EXPECT_EQ(open.header("Retry-After"), "");
}

TEST(HttpLimits, waiting_streams_are_not_closed) {
  Limits limits;
  limits.answer = milliseconds(30);
  limits.send = milliseconds(30);
  limits.idle = milliseconds(30);
  limits.receive = milliseconds(30);
  Held held;
  const TestServer server(hold_in(held), with(limits));
  TestClient client = server.client();
  ASSERT_TRUE(client.send(get("/")));
  const ExchangePtr exchange = held.take();
  ASSERT_NE(exchange, nullptr);
  const auto stream = exchange->stream(text(""));
  const auto pause = Clock::now() + milliseconds(150);
  eventually([&] { return Clock::now() > pause; });
  std::atomic<int> alive = -1;
  stream->write("late", [&](bool is) { alive = is ? 1 : 0; });
  EXPECT_TRUE(eventually([&] { return alive == 1; }));
  stream->finish();
  EXPECT_EQ(client.receive().body, "late");
}

TEST(HttpLimits, too_many_connections) {
  Limits limits;
  limits.connections = 2;
  const TestServer server(echo(), with(limits));
  TestClient first = server.client();
  TestClient second = server.client();
  EXPECT_EQ(first.call(get("/")).status, 200);
  EXPECT_EQ(second.call(get("/")).status, 200);
  TestClient third = server.client();
  const Answer answer = third.call(get("/"));
  EXPECT_EQ(answer.status, 503);
  EXPECT_NE(answer.body.find("\"code\":\"busy\""), std::string::npos);
  EXPECT_TRUE(third.ends());
  EXPECT_EQ(server.server->counters().refused, 1U);
  EXPECT_EQ(server.server->counters().accepted, 2U);
  EXPECT_EQ(server.server->counters().open, 2U);
  // The others continue, and after one closes a new one is accepted.
  EXPECT_EQ(second.call(get("/")).status, 200);
  first.close();
  EXPECT_TRUE(eventually([&] { return server.server->counters().open == 1; }));
  EXPECT_EQ(server.client().call(get("/")).status, 200);
}

TEST(HttpLimits, without_descriptors_it_waits_instead_of_spinning) {
  const TestServer server;
  std::uint64_t refused = 0;
  TestClient late(server.url(), 0, TestClient::Connect::later);
  {
    const NoDescriptors none;
    late.connect();
    ASSERT_TRUE(late.connected());
    ASSERT_TRUE(eventually([&] { return server.server->counters().refused > 0; }));
    const auto until = Clock::now() + milliseconds(350);
    eventually([&] { return Clock::now() > until; });
    refused = server.server->counters().refused;
  }
  EXPECT_LE(refused, 8U);
  EXPECT_EQ(late.call(get("/")).status, 200);
}

TEST(HttpLimits, many_idle_connections_do_not_disturb_the_one_that_is_served) {
  const ManyDescriptors many(5'000);
  Options options;
  options.threads = 2;
  const TestServer server(echo(), options);
  std::vector<TestClient> idle;
  for (int count = 0; count < 2'000; ++count) {
    idle.push_back(server.client());
    ASSERT_TRUE(idle.back().connected()) << count;
  }
  EXPECT_TRUE(eventually([&] { return server.server->counters().open == 2'000; }));
  TestClient client = server.client();
  for (int count = 0; count < 1'000; ++count) {
    ASSERT_EQ(client.call(get("/")).status, 200);
  }
  // All of them are still open.
  for (std::size_t at = 0; at < idle.size(); at += 100) {
    EXPECT_EQ(idle[at].call(get("/")).status, 200);
  }
  idle.clear();
  EXPECT_TRUE(eventually([&] { return server.server->counters().open == 1; }));
}

}  // namespace

}  // namespace holdfast::net::http_limits_test
