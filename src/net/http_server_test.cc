// A server in normal operation, from the view of a client: real sockets on loopback.
#include "net/http_server.h"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/test_client.h"

namespace holdfast::net::http_server_test {

namespace {

TEST(HttpServer, answers_one_request_after_the_other_on_one_connection) {
  const TestServer server;
  TestClient client = server.client();
  for (int count = 0; count < 3; ++count) {
    const Answer answer = client.call(get("/a?b=" + std::to_string(count)));
    EXPECT_EQ(answer.status, 200);
    EXPECT_EQ(answer.body, "GET\n/a\nb=" + std::to_string(count) + "\n");
    EXPECT_EQ(answer.header("connection"), "");
    EXPECT_EQ(answer.header("content-type"), "text/plain");
    EXPECT_EQ(answer.header("x-content-type-options"), "nosniff");
    EXPECT_EQ(answer.header("date").size(), 29U);
  }
  EXPECT_EQ(server.server->counters().accepted, 1U);
  EXPECT_EQ(server.server->counters().requests, 3U);
  EXPECT_EQ(server.server->counters().malformed, 0U);
}

TEST(HttpServer, answers_pipelined_requests_in_order) {
  const TestServer server;
  TestClient client = server.client();
  std::string requests;
  for (int count = 0; count < 200; ++count) {
    requests += "POST /" + std::to_string(count) +
                " HTTP/1.1\r\nHost: a\r\nContent-Length: 300\r\n\r\n" + std::string(300, 'x');
  }
  ASSERT_TRUE(client.send(requests));
  for (int count = 0; count < 200; ++count) {
    const Answer answer = client.receive();
    ASSERT_EQ(answer.status, 200);
    ASSERT_EQ(answer.body, "POST\n/" + std::to_string(count) + "\n\n" + std::string(300, 'x'));
  }
}

TEST(HttpServer, one_request_of_a_connection_is_handled_at_a_time) {
  Held held;
  const TestServer server(hold_in(held));
  TestClient client = server.client();
  ASSERT_TRUE(client.send(get("/1") + get("/2")));
  const ExchangePtr first = held.take();
  ASSERT_NE(first, nullptr);
  // A request of another connection is answered; the second of this one still waits.
  TestClient other = server.client();
  ASSERT_TRUE(other.send(get("/other")));
  const ExchangePtr between = held.take();
  ASSERT_NE(between, nullptr);
  EXPECT_EQ(between->request().path, "/other");
  between->reply({});
  EXPECT_EQ(other.receive().status, 200);
  EXPECT_EQ(server.server->counters().requests, 2U);
  first->reply(text("1"));
  const ExchangePtr second = held.take();
  ASSERT_NE(second, nullptr);
  EXPECT_EQ(second->request().path, "/2");
  second->reply(text("2"));
  EXPECT_EQ(client.receive().body, "1");
  EXPECT_EQ(client.receive().body, "2");
}

TEST(HttpServer, requests_may_arrive_in_single_bytes) {
  const TestServer server;
  TestClient client = server.client();
  const std::string request =
      "POST /p HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n";
  for (const char byte : request) {
    ASSERT_TRUE(client.send({&byte, 1}));
  }
  EXPECT_EQ(client.receive().body, "POST\n/p\n\nab");
}

TEST(HttpServer, large_bodies_go_both_ways) {
  const TestServer server;
  TestClient client = server.client();
  std::string body(8U << 20U, 'x');
  for (std::size_t at = 0; at < body.size(); at += 1'000) {
    body[at] = static_cast<char>('a' + at / 1'000 % 26);
  }
  ASSERT_TRUE(client.send("PUT /big HTTP/1.1\r\nHost: a\r\nContent-Length: " +
                          std::to_string(body.size()) + "\r\n\r\n" + body));
  const Answer answer = client.receive();
  EXPECT_TRUE(answer.complete);
  EXPECT_TRUE(answer.body == "PUT\n/big\n\n" + body);
}

TEST(HttpServer, version_1_0_closes_without_keep_alive) {
  const TestServer server;
  TestClient kept = server.client();
  const std::string keep = "GET /k HTTP/1.0\r\nConnection: keep-alive\r\n\r\n";
  EXPECT_EQ(kept.call(keep).header("connection"), "keep-alive");
  EXPECT_EQ(kept.call(keep).body, "GET\n/k\n\n");
  TestClient closed = server.client();
  const Answer answer = closed.call("GET /c HTTP/1.0\r\n\r\n");
  EXPECT_EQ(answer.body, "GET\n/c\n\n");
  EXPECT_EQ(answer.header("connection"), "close");
  EXPECT_TRUE(closed.ends());
  TestClient closing = server.client();
  EXPECT_EQ(
      closing.call("GET /c HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").header("connection"),
      "close");
  EXPECT_TRUE(closing.ends());
  EXPECT_EQ(closing.unread(), "");
}

TEST(HttpServer, responses_without_a_body_have_none) {
  const TestServer server([](const ExchangePtr& exchange) {
    Response response = text("body");
    if (exchange->request().path == "/204") {
      response.status = 204;
    } else if (exchange->request().path == "/304") {
      response.status = 304;
    }
    exchange->reply(std::move(response));
  });
  TestClient client = server.client();
  const Answer head = client.call("HEAD / HTTP/1.1\r\nHost: a\r\n\r\n", "HEAD");
  EXPECT_EQ(head.status, 200);
  EXPECT_EQ(head.header("content-length"), "4");
  // If a body had been sent, it would precede the next response.
  EXPECT_EQ(client.call(get("/204")).status, 204);
  EXPECT_EQ(client.call(get("/304")).status, 304);
  EXPECT_EQ(client.call(get("/")).body, "body");
  EXPECT_EQ(client.unread(), "");
}

TEST(HttpServer, sends_continue_to_a_client_that_expects_it) {
  const TestServer server;
  TestClient client = server.client();
  const std::string head =
      "POST /e HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n"
      "Content-Length: 2\r\n\r\n";
  EXPECT_EQ(client.call(head).status, 100);
  EXPECT_EQ(client.call("ab").body, "POST\n/e\n\nab");
  // Not needed if the body has arrived already.
  EXPECT_EQ(client.call(head + "cd").status, 200);
  // Refused by its length alone: no 100 Continue.
  TestClient large = server.client();
  EXPECT_EQ(large
                .call("POST /e HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n"
                      "Content-Length: 99999999\r\n\r\n")
                .status,
            413);
}

// Writes "0," "1," … up to a count, each after the previous one was sent.
void count_up(const std::shared_ptr<Stream>& stream, int at, int end) {
  if (at == end) {
    stream->finish();
    return;
  }
  stream->write(std::to_string(at) + ",", [stream, at, end](bool alive) {
    if (alive) {
      count_up(stream, at + 1, end);
    }
  });
}

TEST(HttpServer, streams_are_sent_in_chunks_and_the_connection_stays_open) {
  const TestServer server(
      [](const ExchangePtr& exchange) { count_up(exchange->stream(text("")), 0, 500); });
  std::string expected;
  for (int at = 0; at < 500; ++at) {
    expected += std::to_string(at) + ",";
  }
  TestClient client = server.client();
  for (int count = 0; count < 2; ++count) {
    const Answer answer = client.call(get("/"));
    EXPECT_TRUE(answer.complete);
    EXPECT_EQ(answer.header("transfer-encoding"), "chunked");
    EXPECT_EQ(answer.header("content-length"), "");
    EXPECT_EQ(answer.body, expected);
  }
  EXPECT_EQ(client.call("HEAD / HTTP/1.1\r\nHost: a\r\n\r\n", "HEAD").status, 200);
  EXPECT_EQ(client.call(get("/")).body, expected);
  TestClient old = server.client();
  const Answer until_close = old.call("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  EXPECT_EQ(until_close.header("transfer-encoding"), "");
  EXPECT_EQ(until_close.header("connection"), "close");
  EXPECT_EQ(until_close.body, expected);
}

TEST(HttpServer, an_empty_piece_does_not_end_a_stream) {
  const TestServer server([](const ExchangePtr& exchange) {
    const auto stream = exchange->stream(text(""));
    stream->write("", [stream](bool alive) {
      ASSERT_TRUE(alive);
      stream->write("rest", [stream](bool) { stream->finish(); });
    });
  });
  EXPECT_EQ(server.client().call(get("/")).body, "rest");
}

TEST(HttpServer, any_thread_may_answer) {
  Options options;
  options.threads = 3;
  Held held;
  const TestServer server(hold_in(held), options);
  std::atomic<bool> over = false;
  std::vector<std::thread> workers;
  for (int count = 0; count < 3; ++count) {
    workers.emplace_back([&] {
      while (!over) {
        if (const ExchangePtr exchange = held.take()) {
          if (exchange->request().path == "/end") {
            over = true;
          }
          exchange->reply(text(exchange->request().path));
        }
      }
    });
  }
  std::vector<std::thread> clients;
  std::atomic<int> right = 0;
  for (int number = 0; number < 8; ++number) {
    clients.emplace_back([&, number] {
      TestClient client = server.client();
      for (int count = 0; count < 200; ++count) {
        const std::string path = "/" + std::to_string(number) + "/" + std::to_string(count);
        right += client.call(get(path)).body == path ? 1 : 0;
      }
    });
  }
  for (std::thread& client : clients) {
    client.join();
  }
  EXPECT_EQ(right, 8 * 200);
  // One for each waiting worker.
  std::vector<TestClient> last;
  for (std::size_t count = 0; count < workers.size(); ++count) {
    last.push_back(server.client());
    EXPECT_TRUE(last.back().send(get("/end")));
  }
  for (std::thread& worker : workers) {
    worker.join();
  }
}

TEST(HttpServer, a_request_knows_its_peer) {
  std::atomic<int> right = 0;
  Options options;
  options.listen = {"127.0.0.1:0", "[::1]:0"};
  const TestServer server(
      [&](const ExchangePtr& exchange) {
        const Peer& peer = exchange->request().peer;
        right += peer.loopback && !peer.tls && !peer.uid.has_value() ? 1 : 0;
        exchange->reply(text(peer.address));
      },
      options);
  ASSERT_EQ(server.server->urls().size(), 2U);
  TestClient four(server.server->urls()[0]);
  EXPECT_EQ(four.call(get("/")).body.find("127.0.0.1:"), 0U);
  TestClient six(server.server->urls()[1]);
  EXPECT_EQ(six.call(get("/")).body.find("[::1]:"), 0U);
  EXPECT_EQ(right, 2);
}

TEST(HttpServer, malformed_requests_are_answered_and_the_connection_ends) {
  const TestServer server;
  TestClient client = server.client();
  // The following bytes are not parsed as a request; the response still arrives.
  const Answer answer = client.call("GET / HTTP/1.1\r\nHost : a\r\n\r\n" + get("/smuggled") +
                                    std::string(300'000, 'x'));
  EXPECT_EQ(answer.status, 400);
  EXPECT_EQ(answer.header("content-type"), "application/problem+json");
  EXPECT_EQ(answer.header("connection"), "close");
  EXPECT_EQ(answer.body, R"({"type":"about:blank","title":"Bad Request","status":400,)"
                         R"("detail":"a header has no valid name","code":"invalid_argument",)"
                         R"("retry":false,"what_next":"permanent"})");
  EXPECT_TRUE(client.ends());
  EXPECT_EQ(client.unread(), "");
  EXPECT_EQ(server.server->counters().requests, 0U);
  EXPECT_EQ(server.server->counters().malformed, 1U);
}

}  // namespace

}  // namespace holdfast::net::http_server_test
