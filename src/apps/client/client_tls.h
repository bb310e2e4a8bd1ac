// TLS over a socket that does not block. Certificates are checked against the system's authorities
// or those of a file, and against the name of the host; there is no way to leave that out.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "holdfast/result.h"

namespace holdfast::client {

// What one try came to.
enum class TlsStep : std::uint8_t { done, want_read, want_write, closed, failed };

class TlsSession {
 public:
  TlsSession() = default;
  TlsSession(const TlsSession&) = delete;
  TlsSession& operator=(const TlsSession&) = delete;
  virtual ~TlsSession() = default;

  virtual TlsStep handshake() = 0;
  // `count` is what was read or written, when it is done.
  virtual TlsStep read(char* data, std::size_t size, std::size_t& count) = 0;
  virtual TlsStep write(std::string_view data, std::size_t& count) = 0;
  // Why it failed; whether the peer is not who it should be.
  [[nodiscard]] virtual std::string reason() const = 0;
  [[nodiscard]] virtual bool refused_peer() const = 0;
};

// What all sessions with one server share.
class TlsSettings {
 public:
  // ca_file: PEM; empty: the system's. invalid_argument when it has no certificates.
  static Result<std::unique_ptr<TlsSettings>> create(const std::string& ca_file);
  TlsSettings() = default;
  TlsSettings(const TlsSettings&) = delete;
  TlsSettings& operator=(const TlsSettings&) = delete;
  virtual ~TlsSettings() = default;

  // host: a name, or an address. The socket must outlive the session. nullptr: no memory.
  [[nodiscard]] virtual std::unique_ptr<TlsSession> open(int socket, const std::string& host) = 0;
};

}  // namespace holdfast::client
