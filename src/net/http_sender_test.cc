// The numbers in the names are those of docs/delivery-tests.md.
#include "net/http_sender.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <netdb.h>
#include <sys/socket.h>

#include <atomic>
#include <cerrno>
#include <future>
#include <thread>

#include "base/owned_fd.h"
#include "tests/support/scripted_server.h"

namespace holdfast::net::http_sender_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::string_view kName = "rebinding.test";

// What kName resolves to, one after the other; the last one stays.
std::atomic<int> resolutions{0};
const char* resolve_name() { return resolutions++ == 0 ? "127.0.0.1" : "127.0.0.2"; }

}  // namespace
}  // namespace holdfast::net::http_sender_test

// In place of the resolver of the C library, which libcurl calls: a name whose address changes.
extern "C" int getaddrinfo(const char* node, const char* service, const addrinfo* hints,
                           addrinfo** result) {
  using Resolve = int (*)(const char*, const char*, const addrinfo*, addrinfo**);
  static const auto real = reinterpret_cast<Resolve>(dlsym(RTLD_NEXT, "getaddrinfo"));
  namespace test = holdfast::net::http_sender_test;
  const bool scripted = node != nullptr && node == test::kName;
  return real(scripted ? test::resolve_name() : node, service, hints, result);
}

namespace holdfast::net::http_sender_test {
namespace {

std::unique_ptr<HttpSender> sender_for(const std::vector<std::string>& allowed,
                                       const SenderOptions& options = {}) {
  return HttpSender::create(AddressPolicy::create(allowed).value(), options).value();
}

SenderRequest request_to(const std::string& origin) {
  SenderRequest request;
  request.url = parse_url(origin).value();
  request.target = "/hook?a=1";
  request.body = "{}";
  request.headers = {{"Content-Type", "application/json"}, {"webhook-id", "msg_1"}};
  return request;
}

void run_until(HttpSender& sender, const std::function<bool()>& finished) {
  const auto deadline = std::chrono::steady_clock::now() + seconds(60);
  while (!finished() && std::chrono::steady_clock::now() < deadline) {
    sender.run(milliseconds(100));
  }
  ASSERT_TRUE(finished());
}

SenderOutcome outcome_of(HttpSender& sender, const std::string& origin) {
  std::optional<SenderOutcome> outcome;
  sender.post(request_to(origin), [&](SenderOutcome ended) { outcome = std::move(ended); });
  run_until(sender, [&] { return outcome.has_value(); });
  return outcome.value_or(SenderOutcome());
}

TEST(HttpSender, sends_and_returns_what_the_server_says) {
  std::optional<SeenRequest> seen;
  ScriptedServer server([&](ScriptedPeer& peer) {
    seen = peer.read();
    peer.answer(std::string(5000, 'x'), "202 Accepted", "Retry-After: 7\r\n");
  });
  const auto sender = sender_for({"127.0.0.1"});
  const SenderOutcome outcome = outcome_of(*sender, server.url());
  EXPECT_EQ(outcome.response.status, 202);
  EXPECT_EQ(outcome.response.header("retry-after"), "7");
  EXPECT_EQ(outcome.response.body, std::string(1024, 'x'));
  ASSERT_TRUE(seen.has_value());
  EXPECT_TRUE(seen->head.starts_with("POST /hook?a=1 HTTP/1.1\r\n"));
  EXPECT_TRUE(seen->has_line("webhook-id: msg_1"));
  EXPECT_EQ(seen->body, "{}");
}

TEST(HttpSender, WH_07_an_address_that_is_not_permitted_is_not_connected_to) {
  ScriptedServer server([](ScriptedPeer& /*peer*/) {});
  const auto sender = sender_for({});
  for (const std::string host : {"127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "127.1",
                                 "2130706433", "0x7f000001", "0177.0.0.1", "0"}) {
    const SenderOutcome outcome =
        outcome_of(*sender, "http://" + host + ":" + std::to_string(server.port()));
    EXPECT_EQ(outcome.response.status, 0) << host;
    EXPECT_EQ(outcome.response.kind, HttpOutcome::Kind::nothing_sent) << host;
    if (host.find(':') == std::string::npos) {
      EXPECT_TRUE(outcome.address_refused) << host;
    }
  }
  EXPECT_EQ(server.connections(), 0U);
}

TEST(HttpSender, WH_07_a_name_that_is_bound_to_another_address_is_refused) {
  resolutions = 0;
  ScriptedServer server([](ScriptedPeer& peer) {
    static_cast<void>(peer.read());
    peer.answer("", "200 OK", "Connection: close\r\n");
  });
  const OwnedFd victim(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(server.port());
  ASSERT_EQ(inet_pton(AF_INET, "127.0.0.2", &address.sin_addr), 1);
  ASSERT_EQ(bind(victim.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  ASSERT_EQ(listen(victim.get(), 1), 0);
  const auto sender = sender_for({"127.0.0.1"});
  const std::string origin = "http://" + std::string(kName) + ":" + std::to_string(server.port());
  EXPECT_EQ(outcome_of(*sender, origin).response.status, 200);
  const SenderOutcome second = outcome_of(*sender, origin);
  EXPECT_EQ(resolutions, 2) << "the name is resolved again";
  EXPECT_TRUE(second.address_refused);
  EXPECT_EQ(second.response.status, 0);
  EXPECT_EQ(accept(victim.get(), nullptr, nullptr), -1);
  EXPECT_EQ(errno, EAGAIN) << "there is not a connection";
}

TEST(HttpSender, WH_02_a_redirect_is_returned_and_not_followed) {
  ScriptedServer inner([](ScriptedPeer& /*peer*/) {});
  ScriptedServer server([&](ScriptedPeer& peer) {
    static_cast<void>(peer.read());
    peer.answer("", "307 Temporary Redirect", "Location: " + inner.url() + "/\r\n");
  });
  const auto sender = sender_for({"127.0.0.1"});
  EXPECT_EQ(outcome_of(*sender, server.url()).response.status, 307);
  EXPECT_EQ(inner.connections(), 0U);
}

TEST(HttpSender, WH_08_servers_that_hang_or_trickle_delay_only_themselves) {
  std::promise<void> release;
  const auto released = release.get_future().share();
  ScriptedServer silent([&](ScriptedPeer& /*peer*/) { released.wait(); });
  ScriptedServer trickling([&](ScriptedPeer& peer) {
    static_cast<void>(peer.read());
    peer.write("HTTP/1.1 200 OK\r\nX: ");
    while (released.wait_for(milliseconds(20)) == std::future_status::timeout && peer.write("x")) {
    }
  });
  ScriptedServer good([](ScriptedPeer& peer) {
    while (peer.read().has_value()) {
      peer.answer("ok");
    }
  });
  SenderOptions options;
  options.timeout = milliseconds(1500);
  const auto sender = sender_for({"127.0.0.1"}, options);
  int bad = 0;
  std::vector<SenderOutcome> ends;
  const auto keep = [&](SenderOutcome ended) {
    ends.push_back(std::move(ended));
    ++bad;
  };
  for (int i = 0; i < 20; ++i) {
    sender->post(request_to(silent.url()), keep);
    sender->post(request_to(trickling.url()), keep);
  }
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(outcome_of(*sender, good.url()).response.status, 200);
  }
  EXPECT_EQ(bad, 0) << "the good server did not wait for the others";
  run_until(*sender, [&] { return bad == 40; });
  for (const SenderOutcome& end : ends) {
    EXPECT_EQ(end.response.failure, HttpFailure::timed_out);
    EXPECT_EQ(end.response.status, 0) << "a head that did not end";
    EXPECT_GE(end.took, milliseconds(1400));
  }
  release.set_value();
}

TEST(HttpSender, WH_08_little_of_a_huge_response_is_read_and_its_status_is_known) {
  ScriptedServer server([](ScriptedPeer& peer) {
    static_cast<void>(peer.read());
    peer.write("HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n");
    while (peer.write(std::string(1 << 16, 'x'))) {
    }
  });
  const auto sender = sender_for({"127.0.0.1"});
  const SenderOutcome outcome = outcome_of(*sender, server.url());
  EXPECT_EQ(outcome.response.failure, HttpFailure::too_large);
  EXPECT_EQ(outcome.response.status, 200);
  EXPECT_EQ(outcome.response.body.size(), 1024U);
}

TEST(HttpSender, a_connection_that_was_closed_while_idle_is_not_a_failure) {
  std::atomic<int> served = 0;
  ScriptedServer server([&](ScriptedPeer& peer) {
    static_cast<void>(peer.read());
    ++served;
    peer.answer("ok");  // and closes, without saying so
  });
  const auto sender = sender_for({"127.0.0.1"});
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(outcome_of(*sender, server.url()).response.status, 200);
  }
  EXPECT_EQ(served, 10);
}

TEST(HttpSender, wake_ends_a_run) {
  const auto sender = sender_for({});
  std::thread other([&] { sender->wake(); });
  const auto begun = std::chrono::steady_clock::now();
  sender->run(seconds(60));
  EXPECT_LT(std::chrono::steady_clock::now() - begun, seconds(30));
  other.join();
}

}  // namespace
}  // namespace holdfast::net::http_sender_test
