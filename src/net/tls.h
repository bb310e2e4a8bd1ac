// TLS 1.2 and 1.3 by OpenSSL: sessions of the server on sockets that never block, and what the
// client needs besides libcurl. One thread per session.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "holdfast/result.h"

// OpenSSL's own names for its types.
struct ssl_ctx_st;
struct ssl_st;

namespace holdfast::net {

enum class Io : std::uint8_t {
  done,     // some bytes
  blocked,  // nothing now; wait for the socket
  closed,   // the peer has ended its side
  failed,
};

struct IoResult {
  Io io = Io::failed;
  std::size_t bytes = 0;
};

// Checks that the file contains certificates of authorities in PEM form. invalid_argument.
Result<void> check_authorities(const std::string& ca_file);
// Makes connections of this context write to *reason why they reject a certificate.
void report_rejected_certificates(void* ssl_context, std::string* reason);

// The certificate and key of a server; any thread.
class TlsContext {
 public:
  // invalid_argument names the file.
  static Result<std::unique_ptr<TlsContext>> create(const std::string& certificate_file,
                                                    const std::string& key_file);
  TlsContext(const TlsContext&) = delete;
  TlsContext& operator=(const TlsContext&) = delete;
  ~TlsContext();

 private:
  friend class TlsSession;
  explicit TlsContext(ssl_ctx_st* context) : context_(context) {}
  ssl_ctx_st* context_;
};

// The thread must have SIGPIPE blocked: OpenSSL writes in a way that raises it.
class TlsSession {
 public:
  // nullptr if there is no memory. The caller keeps the socket.
  static std::unique_ptr<TlsSession> create(const TlsContext& context, int socket);
  TlsSession(const TlsSession&) = delete;
  TlsSession& operator=(const TlsSession&) = delete;
  ~TlsSession();

  Io handshake();
  IoResult read(std::span<char> into);
  // After `blocked` the next call must begin with the same bytes.
  IoResult write(std::string_view bytes);
  // Whether the peer has closed its side. Reads ahead, at most one record.
  bool peer_finished();
  // Sends the closing alert, once, as far as the socket accepts it.
  void send_close();

 private:
  explicit TlsSession(ssl_st* session) : session_(session) {}
  [[nodiscard]] Io outcome(int result);
  ssl_st* session_;
  bool broken_ = false;  // after a fatal error no closing alert may be sent
};

}  // namespace holdfast::net
