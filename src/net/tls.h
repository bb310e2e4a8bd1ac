// TLS 1.2 and 1.3 on sockets that never block, by OpenSSL. One thread per session.
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
  blocked,  // nothing now; the socket will tell
  closed,   // the peer has said all it had to say
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

// A certificate and its key; any thread.
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
  // nullptr when there is no memory for it. The socket stays with the caller.
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
  // Tells the peer that nothing more comes; once, as far as the socket takes it.
  void say_goodbye();

 private:
  explicit TlsSession(ssl_st* session) : session_(session) {}
  [[nodiscard]] Io outcome(int result);
  ssl_st* session_;
  bool broken_ = false;  // after a fatal error a session must not be closed politely
};

}  // namespace holdfast::net
