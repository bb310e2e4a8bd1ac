// The same server with TLS, with a certificate created for the test.
#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <sys/socket.h>

#include <atomic>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include "base/random.h"
#include "net/http_server.h"
#include "net/ws_client.h"
#include "tests/support/must.h"
#include "tests/support/test_client.h"

namespace holdfast::net::http_tls_test {

namespace {

namespace fs = std::filesystem;

template <auto free>
struct Free {
  template <typename T>
  void operator()(T* object) const {
    free(object);
  }
};
using Key = std::unique_ptr<EVP_PKEY, Free<EVP_PKEY_free>>;
using Certificate = std::unique_ptr<X509, Free<X509_free>>;
using Context = std::unique_ptr<SSL_CTX, Free<SSL_CTX_free>>;
using Session = std::unique_ptr<SSL, Free<SSL_free>>;
using File = std::unique_ptr<std::FILE, Free<std::fclose>>;

void write_certificate(const fs::path& certificate_file, const fs::path& key_file) {
  const Key key(EVP_EC_gen("P-256"));
  const Certificate certificate(X509_new());
  X509* const x509 = certificate.get();
  ASN1_INTEGER_set(X509_get_serialNumber(x509), 1);
  X509_gmtime_adj(X509_getm_notBefore(x509), -60);
  X509_gmtime_adj(X509_getm_notAfter(x509), 3'600);
  X509_set_pubkey(x509, key.get());
  X509_NAME* const name = X509_get_subject_name(x509);
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>("localhost"), -1, -1, 0);
  X509_set_issuer_name(x509, name);
  ASSERT_GT(X509_sign(x509, key.get(), EVP_sha256()), 0);
  const File to(std::fopen(certificate_file.c_str(), "w"));
  ASSERT_EQ(PEM_write_X509(to.get(), x509), 1);
  const File key_to(std::fopen(key_file.c_str(), "w"));
  ASSERT_EQ(PEM_write_PrivateKey(key_to.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr),
            1);
}

// TLS over a socket of the tests; it blocks with a time limit.
class TlsClient {
 public:
  explicit TlsClient(const std::string& url, int newest = TLS1_3_VERSION)
      : client_(url), context_(SSL_CTX_new(TLS_client_method())) {
    const timeval patience{static_cast<time_t>(kPatience.count()), 0};
    ::setsockopt(client_.fd(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    SSL_CTX_set_security_level(context_.get(), 0);
    SSL_CTX_set_min_proto_version(context_.get(), TLS1_VERSION);
    SSL_CTX_set_max_proto_version(context_.get(), newest);
    session_.reset(SSL_new(context_.get()));
    SSL_set_fd(session_.get(), client_.fd());
  }
  bool shake_hands() { return SSL_connect(session_.get()) == 1; }
  bool send(const std::string& bytes) {
    return SSL_write(session_.get(), bytes.data(), static_cast<int>(bytes.size())) > 0;
  }
  // Until the mark has arrived, or the connection has ended.
  std::string read_until(std::string_view mark) {
    std::string all;
    char buffer[20'000];  // NOLINT(modernize-avoid-c-arrays)
    while (all.find(mark) == std::string::npos) {
      const int bytes = SSL_read(session_.get(), &buffer[0], sizeof buffer);
      if (bytes <= 0) {
        break;
      }
      all.append(&buffer[0], static_cast<std::size_t>(bytes));
    }
    return all;
  }
  void say_goodbye() { SSL_shutdown(session_.get()); }
  [[nodiscard]] bool received_close() const {
    return (SSL_get_shutdown(session_.get()) & SSL_RECEIVED_SHUTDOWN) != 0;
  }
  TestClient& plain() { return client_; }

 private:
  TestClient client_;
  Context context_;
  Session session_;
};

class HttpTls : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "tls_XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    write_certificate(folder_ / "certificate.pem", folder_ / "key.pem");
    options_.listen = {"127.0.0.1:0", "unix:" + (folder_ / "s").string()};
    options_.tls_certificate = folder_ / "certificate.pem";
    options_.tls_key = folder_ / "key.pem";
  }
  void TearDown() override { fs::remove_all(folder_); }

  fs::path folder_;
  Options options_;
};

TEST_F(HttpTls, requests_and_large_bodies_go_both_ways) {
  const TestServer server(
      [](const ExchangePtr& exchange) {
        const Request& request = exchange->request();
        exchange->reply(text((request.peer.tls ? "tls " : "plain ") + request.body + "END"));
      },
      options_);
  EXPECT_EQ(server.url().find("https://127.0.0.1:"), 0U);
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    TlsClient client(server.url(), version);
    ASSERT_TRUE(client.shake_hands());
    ASSERT_TRUE(client.send(get("/")));
    EXPECT_NE(client.read_until("END").find("\r\n\r\ntls END"), std::string::npos);
    const std::string body(4U << 20U, 'b');
    ASSERT_TRUE(client.send("POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: " +
                            std::to_string(body.size()) + "\r\n\r\n" + body));
    const std::string answer = client.read_until("END");
    EXPECT_TRUE(answer.ends_with("tls " + body + "END")) << answer.size();
    EXPECT_EQ(client.read_until("more"), "");
    EXPECT_TRUE(client.received_close());
  }
  // The unix socket of the same server is plain.
  TestClient local(server.server->urls()[1]);
  EXPECT_EQ(local.call(get("/")).body, "plain END");
}

TEST_F(HttpTls, old_versions_and_other_protocols_are_refused) {
  const TestServer server(echo(), options_);
  TlsClient old(server.url(), TLS1_1_VERSION);
  EXPECT_FALSE(old.shake_hands());
  TestClient plain(server.url());
  ASSERT_TRUE(plain.send(get("/")));
  EXPECT_TRUE(plain.ends());
  EXPECT_TRUE(eventually([&] { return server.server->counters().malformed == 2; }));
  EXPECT_EQ(server.server->counters().requests, 0U);
}

TEST_F(HttpTls, a_handshake_that_does_not_end_times_out) {
  options_.limits.receive = std::chrono::milliseconds(50);
  const TestServer server(echo(), options_);
  TestClient silent(server.url());
  EXPECT_TRUE(silent.ends());
  EXPECT_TRUE(eventually([&] { return server.server->counters().open == 0; }));
}

TEST_F(HttpTls, a_peer_that_leaves_is_noticed_with_and_without_closing_alert) {
  for (const bool polite : {true, false}) {
    Held held;
    const TestServer server(hold_in(held), options_);
    TlsClient client(server.url());
    ASSERT_TRUE(client.shake_hands());
    ASSERT_TRUE(client.send(get("/")));
    const ExchangePtr exchange = held.take();
    ASSERT_NE(exchange, nullptr);
    std::atomic<int> gone = 0;
    exchange->when_gone([&] { ++gone; });
    EXPECT_EQ(gone, 0);
    if (polite) {
      client.say_goodbye();
    } else {
      client.plain().close();
    }
    EXPECT_TRUE(eventually([&] { return gone == 1; })) << polite;
    exchange->reply(text("unread"));
  }
}

TEST_F(HttpTls, writing_to_a_peer_that_reset_does_not_kill) {
  Held held;
  const TestServer server(hold_in(held), options_);
  TlsClient client(server.url());
  ASSERT_TRUE(client.shake_hands());
  ASSERT_TRUE(client.send(get("/")));
  const ExchangePtr exchange = held.take();
  ASSERT_NE(exchange, nullptr);
  const auto stream = exchange->stream(text(""));
  std::atomic<int> alive = -1;
  stream->write(std::string(64U << 20U, 'x'), [&](bool is) { alive = is ? 1 : 0; });
  EXPECT_FALSE(client.read_until("xxx").empty());
  client.plain().reset();
  EXPECT_TRUE(eventually([&] { return alive == 0; }));
}

TEST_F(HttpTls, streams_arrive_as_they_are_written) {
  Held held;
  const TestServer server(hold_in(held), options_);
  TlsClient client(server.url());
  ASSERT_TRUE(client.shake_hands());
  ASSERT_TRUE(client.send(get("/")));
  const ExchangePtr exchange = held.take();
  ASSERT_NE(exchange, nullptr);
  const auto stream = exchange->stream(text(""));
  for (const std::string piece : {"first", "second"}) {
    stream->write(piece, [](bool) {});
    EXPECT_NE(client.read_until(piece + "\r\n").find(piece), std::string::npos);
  }
  stream->finish();
  EXPECT_EQ(client.read_until("0\r\n\r\n"), "0\r\n\r\n");
}

TEST_F(HttpTls, unusable_files_are_named) {
  const auto code_with = [&](const std::string& certificate, const std::string& key) {
    Options options = options_;
    options.tls_certificate = certificate;
    options.tls_key = key;
    const auto started = HttpServer::start(options, echo());
    EXPECT_FALSE(started.ok());
    return started.ok() ? std::string() : started.error().message();
  };
  const std::string certificate = options_.tls_certificate;
  const std::string key = options_.tls_key;
  EXPECT_NE(code_with(certificate, "").find("both"), std::string::npos);
  EXPECT_NE(code_with("", key).find("both"), std::string::npos);
  EXPECT_NE(code_with("missing.pem", key).find("missing.pem"), std::string::npos);
  EXPECT_NE(code_with(certificate, "missing.pem").find("missing.pem"), std::string::npos);
  EXPECT_NE(code_with(certificate, certificate).find("key"), std::string::npos);
  // The key of another certificate.
  write_certificate(folder_ / "other.pem", folder_ / "other_key.pem");
  EXPECT_NE(code_with(certificate, folder_ / "other_key.pem").find("other_key.pem"),
            std::string::npos);
}

class EchoSocket final : public WebSocketHandler {
 public:
  void on_text(std::string text) override { socket->send(text); }
  void on_drained() override {}
  void on_closed(std::uint16_t /*code*/) override { socket.reset(); }
  std::shared_ptr<WebSocket> socket;
};

TEST_F(HttpTls, web_sockets_work_over_tls_in_both_directions) {
  options_.limits.web_socket.message_bytes = 1U << 20U;
  TestServer server(
      [](const ExchangePtr& exchange) {
        auto handler = std::make_shared<EchoSocket>();
        handler->socket = exchange->upgrade(handler);
      },
      options_);
  Url url = must(parse_url(server.url()));
  url.host = "localhost";
  url.authority = "localhost:" + std::to_string(url.port);
  WsClientOptions trusting;
  trusting.http.tls_ca_file = options_.tls_certificate;
  SystemRandom random;
  auto client = must(WsClient::connect(url, trusting, random));
  // More than one record, and several messages in one read.
  for (const std::size_t size : {5U, 100'000U, 900'000U, 1U}) {
    const std::string text(size, 'x');
    for (int i = 0; i < 3; ++i) {
      must(client->send(text));
    }
    for (int i = 0; i < 3; ++i) {
      EXPECT_EQ(client->receive(kPatience).text, text);
    }
  }
  client->close(ws_code::kNormal, "");
  EXPECT_EQ(code_of(WsClient::connect(url, {}, random)), "unavailable") << "an unknown authority";
}

}  // namespace

}  // namespace holdfast::net::http_tls_test
