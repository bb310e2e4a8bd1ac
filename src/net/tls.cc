#include "net/tls.h"

#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace holdfast::net {

namespace {

std::string reason() {
  std::array<char, 256> text{};
  const unsigned long error = ERR_peek_last_error();
  ERR_error_string_n(error, text.data(), text.size());
  ERR_clear_error();
  return text.data();
}

Error about(Error error, const std::string& file, std::string_view part) {
  return std::move(error).with("file", file).with("part", part);
}

Error unusable(const std::string& file, std::string_view part, std::string_view expected) {
  return about(Error(ErrorCode::invalid_argument,
                     fmt::format("{} cannot be used: expected {} ({})", file, expected, reason())),
               file, part);
}

// OpenSSL reports little about files that it cannot open.
Result<void> check_readable(const std::string& file, std::string_view part) {
  if (::access(file.c_str(), R_OK) == 0) {
    return {};
  }
  const bool missing = errno == ENOENT || errno == ENOTDIR;
  return about(Error(missing ? ErrorCode::not_found : ErrorCode::permission_denied,
                     fmt::format("{} {}", file,
                                 missing ? "does not exist; give a PEM file"
                                         : "cannot be read by the user that runs the server")),
               file, part);
}

int verify_certificate(X509_STORE_CTX* store, void* reason) {
  const int result = X509_verify_cert(store);
  if (result <= 0) {
    *static_cast<std::string*>(reason) =
        X509_verify_cert_error_string(X509_STORE_CTX_get_error(store));
  }
  return result;
}

// A key with a passphrase is refused: a server cannot prompt for one.
int no_passphrase(char* /*buffer*/, int /*size*/, int /*writing*/, void* /*data*/) { return 0; }

}  // namespace

Result<void> check_authorities(const std::string& ca_file) {
  const std::unique_ptr<X509_STORE, decltype(&X509_STORE_free)> store(X509_STORE_new(),
                                                                      &X509_STORE_free);
  if (store == nullptr || X509_STORE_load_file(store.get(), ca_file.c_str()) != 1) {
    ERR_clear_error();
    return Error{ErrorCode::invalid_argument,
                 fmt::format("{} contains no certificates that can be read; give a PEM file with "
                             "the certificate of the authority",
                             ca_file)}
        .with("field", "tls_ca_file");
  }
  return {};
}

void report_rejected_certificates(void* ssl_context, std::string* reason) {
  SSL_CTX_set_cert_verify_callback(static_cast<SSL_CTX*>(ssl_context), &verify_certificate, reason);
}

Result<std::unique_ptr<TlsContext>> TlsContext::create(const std::string& certificate_file,
                                                       const std::string& key_file) {
  HOLDFAST_CHECK(check_readable(certificate_file, "certificate"));
  HOLDFAST_CHECK(check_readable(key_file, "key"));
  ERR_clear_error();
  SSL_CTX* const context = SSL_CTX_new(TLS_server_method());
  if (context == nullptr) {
    return Error(ErrorCode::io_error, fmt::format("TLS cannot be used: {}", reason()));
  }
  std::unique_ptr<TlsContext> owner(new TlsContext(context));
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  // HTTP messages carry their length: a missing closing alert cannot hide a truncation.
  SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_IGNORE_UNEXPECTED_EOF |
                                   SSL_OP_CIPHER_SERVER_PREFERENCE);
  SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_default_passwd_cb(context, no_passphrase);
  if (SSL_CTX_use_certificate_chain_file(context, certificate_file.c_str()) != 1) {
    return unusable(certificate_file, "certificate", "a certificate chain in PEM form");
  }
  if (SSL_CTX_use_PrivateKey_file(context, key_file.c_str(), SSL_FILETYPE_PEM) != 1) {
    return unusable(key_file, "key", "a private key in PEM form, without a passphrase");
  }
  if (SSL_CTX_check_private_key(context) != 1) {
    return unusable(key_file, "key", "the key of the certificate " + certificate_file);
  }
  return owner;
}

TlsContext::~TlsContext() { SSL_CTX_free(context_); }

std::unique_ptr<TlsSession> TlsSession::create(const TlsContext& context, int socket) {
  ERR_clear_error();
  SSL* const session = SSL_new(context.context_);
  if (session == nullptr) {
    return nullptr;
  }
  std::unique_ptr<TlsSession> owner(new TlsSession(session));
  if (SSL_set_fd(session, socket) != 1) {
    return nullptr;
  }
  SSL_set_accept_state(session);
  return owner;
}

TlsSession::~TlsSession() { SSL_free(session_); }

Io TlsSession::outcome(int result) {
  switch (SSL_get_error(session_, result)) {
    case SSL_ERROR_NONE:
      return Io::done;
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE:
      return Io::blocked;
    case SSL_ERROR_ZERO_RETURN:
      return Io::closed;
    default:
      broken_ = true;
      return Io::failed;
  }
}

Io TlsSession::handshake() {
  ERR_clear_error();
  return outcome(SSL_do_handshake(session_));
}

IoResult TlsSession::read(std::span<char> into) {
  ERR_clear_error();
  std::size_t bytes = 0;
  const Io io = outcome(SSL_read_ex(session_, into.data(), into.size(), &bytes));
  return {io, bytes};
}

IoResult TlsSession::write(std::string_view bytes) {
  ERR_clear_error();
  std::size_t written = 0;
  const Io io = outcome(SSL_write_ex(session_, bytes.data(), bytes.size(), &written));
  return {io, written};
}

bool TlsSession::peer_finished() {
  ERR_clear_error();
  char byte = 0;
  std::size_t bytes = 0;
  const Io io = outcome(SSL_peek_ex(session_, &byte, 1, &bytes));
  return io == Io::closed || io == Io::failed;
}

void TlsSession::send_close() {
  if (!broken_ && SSL_is_init_finished(session_) == 1) {
    ERR_clear_error();
    SSL_shutdown(session_);
    ERR_clear_error();
  }
}

}  // namespace holdfast::net
