#include "apps/client/client_tls.h"

#include <arpa/inet.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstdint>

namespace holdfast::client {

namespace {

std::string newest_error() {
  std::array<char, 256> text{};
  const unsigned long code = ERR_peek_last_error();
  ERR_error_string_n(code, text.data(), text.size());
  ERR_clear_error();
  return code == 0 ? "the connection broke" : text.data();
}

bool is_address(const std::string& host) {
  std::array<unsigned char, sizeof(in6_addr)> address{};
  return inet_pton(AF_INET, host.c_str(), address.data()) == 1 ||
         inet_pton(AF_INET6, host.c_str(), address.data()) == 1;
}

// The library's own way to a socket raises SIGPIPE, which is not ours to decide about.
int socket_of(BIO* bio) {
  return static_cast<int>(reinterpret_cast<std::intptr_t>(BIO_get_data(bio)));
}

int send_bytes(BIO* bio, const char* data, int size) {
  BIO_clear_retry_flags(bio);
  const ssize_t count = send(socket_of(bio), data, static_cast<std::size_t>(size), MSG_NOSIGNAL);
  if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) {
    BIO_set_retry_write(bio);
  }
  return static_cast<int>(count);
}

int receive_bytes(BIO* bio, char* data, int size) {
  BIO_clear_retry_flags(bio);
  const ssize_t count = recv(socket_of(bio), data, static_cast<std::size_t>(size), 0);
  if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) {
    BIO_set_retry_read(bio);
  }
  return static_cast<int>(count);
}

long control(BIO* /*bio*/, int command, long /*number*/, void* /*pointer*/) {
  return command == BIO_CTRL_FLUSH ? 1 : 0;
}

struct FreeMethod {
  void operator()(BIO_METHOD* method) const { BIO_meth_free(method); }
};
struct FreeSsl {
  void operator()(SSL* ssl) const { SSL_free(ssl); }
};
struct FreeContext {
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
};

class OpenSslSession final : public TlsSession {
 public:
  explicit OpenSslSession(SSL* ssl) : ssl_(ssl) {}

  TlsStep handshake() override {
    ERR_clear_error();
    return step_of(SSL_connect(ssl_.get()));
  }
  TlsStep read(char* data, std::size_t size, std::size_t& count) override {
    ERR_clear_error();
    return step_of(SSL_read_ex(ssl_.get(), data, size, &count));
  }
  TlsStep write(std::string_view data, std::size_t& count) override {
    ERR_clear_error();
    return step_of(SSL_write_ex(ssl_.get(), data.data(), data.size(), &count));
  }
  [[nodiscard]] std::string reason() const override { return reason_; }
  [[nodiscard]] bool refused_peer() const override {
    return SSL_get_verify_result(ssl_.get()) != X509_V_OK;
  }

 private:
  TlsStep step_of(int result) {
    if (result == 1) {
      return TlsStep::done;
    }
    switch (SSL_get_error(ssl_.get(), result)) {
      case SSL_ERROR_WANT_READ:
        return TlsStep::want_read;
      case SSL_ERROR_WANT_WRITE:
        return TlsStep::want_write;
      case SSL_ERROR_ZERO_RETURN:
        return TlsStep::closed;
      default:
        break;
    }
    const long verified = SSL_get_verify_result(ssl_.get());
    reason_ = verified == X509_V_OK ? newest_error() : X509_verify_cert_error_string(verified);
    return TlsStep::failed;
  }

  std::unique_ptr<SSL, FreeSsl> ssl_;
  std::string reason_;
};

class OpenSslSettings final : public TlsSettings {
 public:
  explicit OpenSslSettings(SSL_CTX* context)
      : context_(context),
        method_(BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "socket")) {
    if (method_ != nullptr) {
      BIO_meth_set_write(method_.get(), send_bytes);
      BIO_meth_set_read(method_.get(), receive_bytes);
      BIO_meth_set_ctrl(method_.get(), control);
    }
  }

  std::unique_ptr<TlsSession> open(int socket, const std::string& host) override {
    std::unique_ptr<SSL, FreeSsl> ssl(SSL_new(context_.get()));
    BIO* const bio = method_ == nullptr ? nullptr : BIO_new(method_.get());
    if (ssl == nullptr || bio == nullptr) {
      BIO_free(bio);
      return nullptr;
    }
    BIO_set_data(bio, reinterpret_cast<void*>(static_cast<std::intptr_t>(socket)));
    BIO_set_init(bio, 1);
    SSL_set_bio(ssl.get(), bio, bio);
    bool named = false;
    if (is_address(host)) {
      named = X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl.get()), host.c_str()) == 1;
    } else {
      SSL_set_hostflags(ssl.get(), X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
      named = SSL_set1_host(ssl.get(), host.c_str()) == 1 &&
              SSL_ctrl(ssl.get(), SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name,
                       const_cast<char*>(host.c_str())) == 1;
    }
    return named ? std::make_unique<OpenSslSession>(ssl.release()) : nullptr;
  }

 private:
  std::unique_ptr<SSL_CTX, FreeContext> context_;
  std::unique_ptr<BIO_METHOD, FreeMethod> method_;
};

}  // namespace

Result<std::unique_ptr<TlsSettings>> TlsSettings::create(const std::string& ca_file) {
  std::unique_ptr<SSL_CTX, FreeContext> context(SSL_CTX_new(TLS_client_method()));
  if (context == nullptr) {
    return Error{ErrorCode::io_error, "TLS cannot be used: " + newest_error()};
  }
  SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
  SSL_CTX_set_options(context.get(), SSL_OP_NO_RENEGOTIATION);
  SSL_CTX_set_mode(context.get(),
                   SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  const bool loaded =
      ca_file.empty() ? SSL_CTX_set_default_verify_paths(context.get()) == 1
                      : SSL_CTX_load_verify_locations(context.get(), ca_file.c_str(), nullptr) == 1;
  if (!loaded) {
    ERR_clear_error();
    return Error{ErrorCode::invalid_argument, ca_file.empty()
                                                  ? "the system has no certificate authorities"
                                                  : "no certificates can be read from " + ca_file}
        .with("field", "tls_ca_file");
  }
  return std::unique_ptr<TlsSettings>(std::make_unique<OpenSslSettings>(context.release()));
}

}  // namespace holdfast::client
