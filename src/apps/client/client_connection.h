// Connection: one socket to the server, TLS or not, that never waits longer than it may. Used by
// one thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "apps/client/client_limits.h"
#include "apps/client/client_tls.h"
#include "apps/client/server_url.h"

namespace holdfast::client {

enum class IoEnd : std::uint8_t { ok, closed, timed_out, stopped, failed };

class Connection {
 public:
  struct Opened;

  // tls: of https. Resolving a name takes as long as the system needs.
  static Opened open(const ServerUrl& url, TlsSettings* tls, const Limits& limits);

  // `written` counts also when it ends early.
  IoEnd write_all(std::string_view data, std::size_t& written, const Limits& limits);
  // At least one byte when it is ok.
  IoEnd read_some(char* data, std::size_t size, std::size_t& count, const Limits& limits);
  // Nothing is expected on an idle connection: whatever is there means that it is over.
  [[nodiscard]] bool is_over() const;
  [[nodiscard]] const std::string& reason() const { return reason_; }

 private:
  Connection(OwnedFd socket, std::unique_ptr<TlsSession> tls)
      : socket_(std::move(socket)), tls_(std::move(tls)) {}

  IoEnd wait_for(short events, const Limits& limits);
  // What a step of TLS that is not done means.
  IoEnd wait_for(TlsStep step, const Limits& limits);
  IoEnd fail(int number);

  OwnedFd socket_;
  std::unique_ptr<TlsSession> tls_;
  std::string reason_;
};

struct Connection::Opened {
  IoEnd end = IoEnd::failed;
  std::unique_ptr<Connection> connection = nullptr;  // when it is ok
  std::string reason = {};                           // otherwise
  bool permanent = false;                            // the same will not work later
};

}  // namespace holdfast::client
