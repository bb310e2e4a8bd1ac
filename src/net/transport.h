// Transport: the bytes of one connection, plain or TLS. Never blocks. One thread.
#pragma once

#include <memory>
#include <span>

#include "base/owned_fd.h"
#include "net/http_output.h"
#include "net/tls.h"

namespace holdfast::net {

class Transport {
 public:
  // Without a context the connection is plain. Closes the socket if there is no memory for TLS.
  Transport(OwnedFd socket, const TlsContext* tls);

  [[nodiscard]] int fd() const { return socket_.get(); }
  [[nodiscard]] bool is_tls() const { return tls_ != nullptr; }

  // `done` once data can be sent.
  Io handshake();
  IoResult read(std::span<char> into);
  // Sends as much as the socket accepts; `done` if nothing is left.
  IoResult write(Output& output);
  // Reads and discards data.
  IoResult discard(std::span<char> into);
  // The peer has closed its sending side. For plain sockets epoll reports that.
  bool peer_finished();
  // Closes the sending side. The peer can still send.
  void end();
  void close();

 private:
  IoResult write_plain(Output& output);
  IoResult write_tls(Output& output);

  OwnedFd socket_;
  std::unique_ptr<TlsSession> tls_;
};

}  // namespace holdfast::net
