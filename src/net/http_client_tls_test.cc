// TLS with our own certificate authority: which servers are trusted.
#include <gtest/gtest.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>

#include "net/http_client.h"
#include "tests/support/scripted_server.h"

namespace holdfast::net::http_client_tls_test {
namespace {

using Key = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;
using Certificate = std::unique_ptr<X509, decltype(&X509_free)>;

Key new_key() { return {EVP_EC_gen("P-256"), &EVP_PKEY_free}; }

void extend(X509* certificate, X509* issuer, int kind, const char* value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, kind, value);
  ASSERT_NE(extension, nullptr);
  X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
}

// names: "IP:127.0.0.1"; empty: an authority, signed by itself.
Certificate certify(EVP_PKEY* key, EVP_PKEY* issuer_key, X509* issuer, const std::string& names,
                    long valid_from_s = -3600, long valid_to_s = 3600) {
  static long serial = 1;
  Certificate made(X509_new(), &X509_free);
  X509_set_version(made.get(), 2);
  ASN1_INTEGER_set(X509_get_serialNumber(made.get()), serial++);
  X509_gmtime_adj(X509_getm_notBefore(made.get()), valid_from_s);
  X509_gmtime_adj(X509_getm_notAfter(made.get()), valid_to_s);
  X509_set_pubkey(made.get(), key);
  const std::string name = names.empty() ? "authority" : "server";
  X509_NAME_add_entry_by_txt(X509_get_subject_name(made.get()), "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
  X509* const by = issuer == nullptr ? made.get() : issuer;
  X509_set_issuer_name(made.get(), X509_get_subject_name(by));
  if (names.empty()) {
    extend(made.get(), by, NID_basic_constraints, "critical,CA:TRUE");
  } else {
    extend(made.get(), by, NID_subject_alt_name, names.c_str());
  }
  EXPECT_GT(X509_sign(made.get(), issuer_key, EVP_sha256()), 0);
  return made;
}

struct Authority {
  Key key = new_key();
  Certificate certificate = certify(key.get(), key.get(), nullptr, "");
  std::string file;

  explicit Authority(const std::string& name)
      : file(testing::TempDir() + name + std::to_string(getpid()) + ".pem") {
    std::FILE* const out = std::fopen(file.c_str(), "w");
    PEM_write_X509(out, certificate.get());
    std::fclose(out);
  }
  ~Authority() { unlink(file.c_str()); }
  Authority(const Authority&) = delete;
  Authority& operator=(const Authority&) = delete;
};

// A server with a certificate for these names.
class TlsServer {
 public:
  TlsServer(const Authority& authority, const std::string& names, long valid_to_s = 3600)
      : context_(SSL_CTX_new(TLS_server_method()), &SSL_CTX_free),
        server_([](ScriptedPeer& peer) { answer_all(peer); }, "", 0,
                [this](int socket) { return wrap(socket); }) {
    // The server writes to clients that may have closed; the client raises no SIGPIPE.
    signal(SIGPIPE, SIG_IGN);
    const Key key = new_key();
    const Certificate made = certify(key.get(), authority.key.get(), authority.certificate.get(),
                                     names, -7200, valid_to_s);
    SSL_CTX_use_certificate(context_.get(), made.get());
    SSL_CTX_use_PrivateKey(context_.get(), key.get());
  }
  [[nodiscard]] std::uint16_t port() const { return server_.port(); }
  [[nodiscard]] std::size_t connections() const { return server_.connections(); }

 private:
  static void answer_all(ScriptedPeer& peer) {
    while (const auto seen = peer.read()) {
      if (seen->body == "cut") {
        peer.write("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n12345");
        return;
      }
      peer.answer(seen->body);
    }
  }
  ScriptedPeer::Bytes wrap(int socket) {
    const std::shared_ptr<SSL> ssl(SSL_new(context_.get()), &SSL_free);
    SSL_set_fd(ssl.get(), socket);
    if (SSL_accept(ssl.get()) != 1) {
      return {};
    }
    return {[ssl](char* data, std::size_t size) -> long {
              return SSL_read(ssl.get(), data, static_cast<int>(size));
            },
            [ssl](const char* data, std::size_t size) -> long {
              return SSL_write(ssl.get(), data, static_cast<int>(size));
            }};
  }

  std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context_;
  ScriptedServer server_;
};

std::unique_ptr<HttpClient> client_of(const TlsServer& server, const std::string& ca_file,
                                      const std::string& host = "127.0.0.1") {
  HttpOptions options;
  options.tls_ca_file = ca_file;
  auto made = HttpClient::create("https://" + host + ":" + std::to_string(server.port()), options);
  EXPECT_TRUE(made.ok());
  return std::move(made).value();
}

HttpCall post(std::string_view body) {
  HttpCall call;
  call.method = "POST";
  call.body = body;
  call.content_type = "application/json";
  return call;
}

TEST(HttpClientTls, calls_a_server_with_a_trusted_certificate) {
  const Authority authority("ours");
  const TlsServer server(authority, "IP:127.0.0.1,DNS:localhost");
  for (const char* host : {"127.0.0.1", "localhost"}) {
    const auto client = client_of(server, authority.file, host);
    for (const std::size_t size : {0UL, 10UL, 3'000'000UL}) {
      const std::string body(size, 'x');
      const HttpOutcome outcome = client->send(post(body));
      EXPECT_EQ(outcome.kind, HttpOutcome::Kind::answered) << outcome.reason;
      EXPECT_EQ(outcome.body, body);
    }
  }
  EXPECT_EQ(server.connections(), 2U) << "each is reused";
}

TEST(HttpClientTls, sends_nothing_to_a_server_that_is_not_trusted) {
  const Authority ours("ours");
  const Authority theirs("theirs");
  const auto refused = [](const HttpOutcome& outcome) {
    EXPECT_EQ(outcome.kind, HttpOutcome::Kind::nothing_sent);
    EXPECT_TRUE(outcome.permanent()) << outcome.reason;
    EXPECT_NE(outcome.reason.find("TLS"), std::string::npos) << outcome.reason;
  };
  const TlsServer foreign(theirs, "IP:127.0.0.1");
  refused(client_of(foreign, ours.file)->send(post("{}")));
  refused(client_of(foreign, "")->send(post("{}")));
  const TlsServer other_name(ours, "DNS:other.example");
  refused(client_of(other_name, ours.file)->send(post("{}")));
  refused(client_of(other_name, ours.file, "localhost")->send(post("{}")));
  const TlsServer expired(ours, "IP:127.0.0.1", -3600);
  refused(client_of(expired, ours.file)->send(post("{}")));
}

TEST(HttpClientTls, a_truncated_response_leaves_the_call_in_doubt) {
  const Authority authority("ours");
  const TlsServer server(authority, "IP:127.0.0.1");
  EXPECT_EQ(client_of(server, authority.file)->send(post("cut")).kind,
            HttpOutcome::Kind::maybe_done);
}

TEST(HttpClientTls, sends_nothing_to_a_server_without_tls) {
  ScriptedServer server([](ScriptedPeer& peer) {
    peer.write("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
    peer.wait_for_end();
  });
  const auto client =
      HttpClient::create("https://127.0.0.1:" + std::to_string(server.port()), {}).value();
  EXPECT_EQ(client->send(post("{}")).kind, HttpOutcome::Kind::nothing_sent);
}

TEST(HttpClientTls, a_file_without_certificates_is_refused) {
  HttpOptions options;
  options.tls_ca_file = "/nonexistent/ca.pem";
  EXPECT_EQ(HttpClient::create("https://localhost", options).error().code(),
            ErrorCode::invalid_argument);
}

}  // namespace
}  // namespace holdfast::net::http_client_tls_test
