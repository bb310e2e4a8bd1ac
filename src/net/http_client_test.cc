#include "net/http_client.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <future>

#include "tests/support/scripted_server.h"

namespace holdfast::net::http_client_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Kind = HttpOutcome::Kind;

std::unique_ptr<HttpClient> client_of(const ScriptedServer& server, HttpOptions options = {}) {
  auto client = HttpClient::create(server.url(), options);
  EXPECT_TRUE(client.ok());
  return std::move(client).value();
}

HttpCall post(std::string_view body) {
  HttpCall call;
  call.method = "POST";
  call.target = "/v1/x?a=1";
  call.body = body;
  call.content_type = "application/json";
  call.timeout = seconds(20);
  return call;
}

void answer_all(ScriptedPeer& peer) {
  while (const auto seen = peer.read()) {
    peer.answer("received " + seen->body);
  }
}

TEST(HttpClient, sends_a_request_and_returns_the_response) {
  std::optional<SeenRequest> seen;
  ScriptedServer server([&](ScriptedPeer& peer) {
    seen = peer.read();
    peer.answer("{}", "404 Not Found", "X-Two: b\r\nX-Two: c\r\n");
  });
  HttpOptions options;
  options.token = "hf_secret";
  HttpCall call = post("{\"a\":1}");
  call.headers = {{"Accept", "text/plain"}};
  const HttpOutcome outcome = client_of(server, options)->send(call);
  EXPECT_EQ(outcome.kind, Kind::answered);
  EXPECT_EQ(outcome.status, 404);
  EXPECT_EQ(outcome.body, "{}");
  EXPECT_EQ(outcome.header("x-two"), "b");
  ASSERT_TRUE(seen.has_value());
  EXPECT_TRUE(seen->head.starts_with("POST /v1/x?a=1 HTTP/1.1\r\n"));
  EXPECT_TRUE(seen->has_line("Host: 127.0.0.1:" + std::to_string(server.port())));
  EXPECT_TRUE(seen->has_line("Authorization: Bearer hf_secret"));
  EXPECT_TRUE(seen->has_line("Content-Type: application/json"));
  EXPECT_TRUE(seen->has_line("Accept: text/plain"));
  EXPECT_EQ(seen->body, "{\"a\":1}");
}

TEST(HttpClient, keeps_a_connection_and_uses_it_again) {
  ScriptedServer server(answer_all);
  const auto client = client_of(server);
  for (int i = 0; i < 20; ++i) {
    const std::string body(static_cast<std::size_t>(i) * 10'000, 'x');
    EXPECT_EQ(client->send(post(body)).body, "received " + body);
  }
  EXPECT_EQ(server.connections(), 1U);
}

TEST(HttpClient, threads_do_not_wait_for_each_other) {
  std::promise<void> release;
  auto released = release.get_future().share();
  ScriptedServer server([&](ScriptedPeer& peer) {
    while (const auto seen = peer.read()) {
      if (seen->body == "slow") {
        released.wait();
      }
      peer.answer(seen->body);
    }
  });
  const auto client = client_of(server);
  auto slow = std::async(std::launch::async, [&] { return client->send(post("slow")); });
  EXPECT_EQ(client->send(post("quick")).body, "quick");
  release.set_value();
  EXPECT_EQ(slow.get().body, "slow");
}

TEST(HttpClient, a_response_may_arrive_in_single_bytes) {
  ScriptedServer server([](ScriptedPeer& peer) {
    peer.read();
    for (const char c : http_text("in pieces")) {
      peer.write({&c, 1});
    }
    peer.wait_for_end();
  });
  EXPECT_EQ(client_of(server)->send(post("")).body, "in pieces");
}

// Cut at every byte of the response, except the last line feed, which adds nothing.
TEST(HttpClient, a_truncated_response_leaves_the_call_in_doubt) {
  const std::string whole =
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n";
  std::atomic<std::size_t> cut = 0;
  ScriptedServer server([&](ScriptedPeer& peer) {
    peer.read();
    peer.write(std::string_view(whole).substr(0, cut));
  });
  const auto client = client_of(server);
  for (cut = 0; cut + 1 < whole.size(); ++cut) {
    const HttpOutcome outcome = client->send(post("{}"));
    EXPECT_EQ(outcome.kind, Kind::maybe_done) << cut;
    EXPECT_FALSE(outcome.stopped());
    EXPECT_NE(outcome.reason, "");
  }
  EXPECT_EQ(client->send(post("{}")).kind, Kind::answered);
  EXPECT_EQ(server.connections(), whole.size()) << "nothing is repeated on a new connection";
}

TEST(HttpClient, nothing_is_sent_without_a_listening_server) {
  std::string url;
  {
    ScriptedServer server(answer_all);
    url = server.url();
  }
  const auto client = HttpClient::create(url, {}).value()->send(post("{}"));
  EXPECT_EQ(client.kind, Kind::nothing_sent);
  EXPECT_NE(client.reason.find("cannot be reached"), std::string::npos) << client.reason;
  EXPECT_FALSE(client.permanent());
}

// The server closes each connection after its response, without announcing it.
TEST(HttpClient, a_repeatable_call_replaces_an_idle_connection_that_broke) {
  std::atomic<int> requests = 0;
  ScriptedServer server([&](ScriptedPeer& peer) {
    if (peer.read()) {
      ++requests;
      peer.answer("1");
    }
    // The server reads the second request and does not answer it.
    if (peer.number() == 0 && peer.read()) {
      ++requests;
    }
  });
  const auto client = client_of(server);
  EXPECT_EQ(client->send(post("a")).body, "1");
  HttpCall again = post("b");
  again.repeatable = true;
  EXPECT_EQ(client->send(again).body, "1");
  EXPECT_EQ(server.connections(), 2U);
  EXPECT_EQ(requests, 3);
}

TEST(HttpClient, a_call_that_may_have_been_processed_is_not_repeated) {
  ScriptedServer server([&](ScriptedPeer& peer) {
    peer.read();
    peer.answer("1");
    peer.read();
  });
  const auto client = client_of(server);
  EXPECT_EQ(client->send(post("a")).body, "1");
  EXPECT_EQ(client->send(post("b")).kind, Kind::maybe_done);
  EXPECT_EQ(server.connections(), 1U);
}

TEST(HttpClient, a_new_connection_that_breaks_is_not_replaced) {
  ScriptedServer server([&](ScriptedPeer& peer) { peer.read(); });
  HttpCall call = post("a");
  call.repeatable = true;
  EXPECT_EQ(client_of(server)->send(call).kind, Kind::maybe_done);
  EXPECT_EQ(server.connections(), 1U);
}

TEST(HttpClient, a_silent_server_times_out) {
  ScriptedServer server([](ScriptedPeer& peer) {
    peer.read();
    peer.write("HTTP/1.1 200 OK\r\n");
    peer.wait_for_end();
  });
  HttpCall call = post("{}");
  call.timeout = milliseconds(60);
  const auto begin = std::chrono::steady_clock::now();
  const HttpOutcome outcome = client_of(server)->send(call);
  EXPECT_EQ(outcome.kind, Kind::maybe_done);
  EXPECT_FALSE(outcome.stopped());
  EXPECT_GE(std::chrono::steady_clock::now() - begin, milliseconds(60));
}

TEST(HttpClient, a_call_ends_at_once_when_it_is_stopped) {
  std::promise<void> received;
  std::atomic<bool> notified = false;  // the second call may connect before it is stopped
  ScriptedServer server([&](ScriptedPeer& peer) {
    peer.read();
    if (!notified.exchange(true)) {
      received.set_value();
    }
    peer.wait_for_end();
  });
  const auto client = client_of(server);
  std::stop_source stop;
  auto waiting =
      std::async(std::launch::async, [&] { return client->send(post("{}"), stop.get_token()); });
  received.get_future().wait();
  stop.request_stop();
  ASSERT_EQ(waiting.wait_for(seconds(10)), std::future_status::ready) << "not after its timeout";
  const HttpOutcome outcome = waiting.get();
  EXPECT_EQ(outcome.kind, Kind::maybe_done);
  EXPECT_TRUE(outcome.stopped());
  EXPECT_EQ(client->send(post("{}"), stop.get_token()).kind, Kind::nothing_sent);
}

// The client may close while the server still writes, so the script uses constant data.
TEST(HttpClient, responses_that_are_not_http_or_too_large_are_failures) {
  const std::vector<std::string> unusable{
      std::string("220 smtp.example.com ESMTP\r\n"), std::string("\x16\x03\x01\x02", 4),
      http_text(std::string(1001, 'x')), std::string("HTTP/1.1 200 OK\r\n\r\nno end")};
  ScriptedServer server([&](ScriptedPeer& peer) {
    peer.read();
    peer.write(peer.number() < unusable.size() ? unusable[peer.number()]
                                               : http_text(std::string(1000, 'x')));
    peer.wait_for_end();
  });
  HttpOptions options;
  options.limits.body_bytes = 1000;
  const auto client = client_of(server, options);
  for (const std::string& text : unusable) {
    const HttpOutcome outcome = client->send(post("{}"));
    EXPECT_EQ(outcome.kind, Kind::maybe_done) << text;
    EXPECT_NE(outcome.reason.find("cannot be used"), std::string::npos) << outcome.reason;
  }
  EXPECT_EQ(client->send(post("{}")).kind, Kind::answered);
}

// A server that rejects a large request before it has read it.
TEST(HttpClient, a_response_that_arrives_before_the_end_of_the_request_is_read) {
  ScriptedServer server([](ScriptedPeer& peer) {
    peer.answer("{}", "413 Content Too Large", "Connection: close\r\n");
    shutdown(peer.socket(), SHUT_WR);
    peer.wait_for_end();
  });
  const HttpOutcome outcome = client_of(server)->send(post(std::string(20U << 20U, 'x')));
  EXPECT_EQ(outcome.kind, Kind::answered) << outcome.reason;
  EXPECT_EQ(outcome.status, 413);
}

TEST(HttpClient, connects_to_a_unix_socket) {
  const std::string path = testing::TempDir() + "hf-client-" + std::to_string(getpid());
  ScriptedServer server(answer_all, path);
  EXPECT_EQ(client_of(server)->send(post("hello")).body, "received hello");
}

TEST(HttpClient, invalid_urls_and_tokens_are_refused) {
  for (const char* url : {"", "ftp://x", "http://", "http://:80", "http://a:0", "http://a:70000",
                          "http://a:b", "http://u:p@a", "http://a/?q", "http://a#f", "http://[::1",
                          "http://a b", "unix:relative", "unix:", "127.0.0.1:80"}) {
    const auto made = HttpClient::create(url, {});
    ASSERT_FALSE(made.ok()) << url;
    EXPECT_EQ(made.error().code(), ErrorCode::invalid_url) << url;
    EXPECT_EQ(made.error().text().find("u:p"), std::string::npos);
  }
  HttpOptions options;
  options.token = "a\r\nX: y";
  EXPECT_EQ(HttpClient::create("http://a", options).error().code(), ErrorCode::invalid_argument);
}

TEST(HttpClient, events_arrive_one_by_one_until_the_receiver_ends_the_stream) {
  ScriptedServer server([](ScriptedPeer& peer) {
    peer.read();
    peer.write(
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n");
    const std::string events =
        ": hello\r\n\r\nid: 1.0\nevent: run_started\ndata: {\"a\":\ndata: 1}\n\n"
        "data:x\n\nid\ndata\n\nevent: none\n\n";
    for (const char c : events) {
      peer.write("1\r\n" + std::string(1, c) + "\r\n");
    }
    peer.wait_for_end();
  });
  std::vector<ServerEvent> seen;
  HttpCall call;
  call.target = "/v1/events";
  const HttpOutcome outcome = client_of(server)->events(call, seconds(20),
                                                        [&](const ServerEvent& event) {
                                                          seen.push_back(event);
                                                          return seen.size() < 3;
                                                        },
                                                        {});
  EXPECT_EQ(outcome.kind, Kind::answered) << outcome.reason;
  ASSERT_EQ(seen.size(), 3U);
  EXPECT_EQ(seen[0].id, "1.0");
  EXPECT_EQ(seen[0].event, "run_started");
  EXPECT_EQ(seen[0].data, "{\"a\":\n1}");
  EXPECT_EQ(seen[1].id, "1.0");
  EXPECT_EQ(seen[1].event, "message");
  EXPECT_EQ(seen[1].data, "x");
  EXPECT_EQ(seen[2].id, "");
}

TEST(HttpClient, a_stream_ends_if_stopped_silent_truncated_or_refused) {
  enum class Manner { silent, cut, refuse };
  std::atomic<Manner> manner = Manner::silent;
  std::promise<void> begun;
  ScriptedServer server([&](ScriptedPeer& peer) {
    peer.read();
    if (manner == Manner::refuse) {
      peer.answer("{\"code\":\"permission_denied\"}", "403 Forbidden");
      return;
    }
    peer.write(
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n");
    peer.write("9\r\ndata: 1\n\n\r\n");
    if (manner == Manner::silent) {
      peer.wait_for_end();
    }
  });
  const auto client = client_of(server);
  HttpCall call;
  std::stop_source stop;
  auto waiting = std::async(std::launch::async, [&] {
    return client->events(
        call, seconds(60),
        [&](const ServerEvent&) {
          begun.set_value();
          return true;
        },
        stop.get_token());
  });
  begun.get_future().wait();
  stop.request_stop();
  EXPECT_TRUE(waiting.get().stopped());

  const auto nothing = [](const ServerEvent&) { return true; };
  const HttpOutcome silent = client->events(call, milliseconds(50), nothing, {});
  EXPECT_EQ(silent.kind, Kind::maybe_done);
  EXPECT_FALSE(silent.stopped());
  manner = Manner::cut;
  EXPECT_EQ(client->events(call, seconds(20), nothing, {}).kind, Kind::maybe_done);
  manner = Manner::refuse;
  const HttpOutcome refused = client->events(call, seconds(20), nothing, {});
  EXPECT_EQ(refused.kind, Kind::answered);
  EXPECT_EQ(refused.status, 403);
  EXPECT_EQ(refused.body, "{\"code\":\"permission_denied\"}");
}

TEST(HttpClient, a_download_is_handed_over_in_pieces_and_never_kept) {
  constexpr std::size_t kPieces = 40;
  const std::string piece(100'000, 'x');
  ScriptedServer server([&](ScriptedPeer& peer) {
    peer.read();
    peer.write("HTTP/1.1 200 OK\r\nContent-Length: 4000000\r\n\r\n");
    for (std::size_t i = 0; i < kPieces && peer.write(piece); ++i) {
    }
    peer.wait_for_end();
  });
  HttpOptions options;
  options.limits.body_bytes = 1000;
  // A client each: the server ends with its connection.
  const auto download = [&](const std::function<bool(std::string_view)>& sink) {
    return client_of(server, options)->download({}, seconds(20), sink);
  };
  std::size_t bytes = 0;
  const auto count = [&](std::string_view received) {
    bytes += received.size();
    return true;
  };
  const HttpOutcome whole = download(count);
  EXPECT_EQ(whole.kind, Kind::answered) << whole.reason;
  EXPECT_EQ(bytes, kPieces * piece.size());
  EXPECT_EQ(whole.body, "");
  const HttpOutcome ended = download([](std::string_view) { return false; });
  EXPECT_EQ(ended.failure, HttpFailure::ended);
  EXPECT_NE(ended.reason.find("cannot be written"), std::string::npos) << ended.reason;
}

TEST(HttpClient, a_download_that_is_truncated_or_refused_is_not_complete) {
  ScriptedServer server([](ScriptedPeer& peer) {
    peer.read();
    if (peer.number() == 0) {
      peer.write("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n12345");
    } else {
      peer.answer("{}", "403 Forbidden");
    }
  });
  const auto client = client_of(server);
  const auto ignore = [](std::string_view) { return true; };
  const HttpOutcome cut = client->download({}, seconds(20), ignore);
  EXPECT_NE(cut.kind, Kind::answered);
  EXPECT_NE(cut.reason.find("is incomplete"), std::string::npos) << cut.reason;
  const HttpOutcome refused = client->download({}, seconds(20), ignore);
  EXPECT_EQ(refused.status, 403);
  EXPECT_EQ(refused.body, "{}");
}

}  // namespace
}  // namespace holdfast::net::http_client_test
