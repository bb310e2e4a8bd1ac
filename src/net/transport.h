// Transport: the bytes of one connection, plain or by TLS. Nothing in it blocks. One thread.
#pragma once

#include <memory>
#include <span>

#include "base/owned_fd.h"
#include "net/http_output.h"
#include "net/tls.h"

namespace holdfast::net {

class Transport {
 public:
  // Without a context the bytes are plain. When there is no memory for TLS the socket is closed.
  Transport(OwnedFd socket, const TlsContext* tls);

  [[nodiscard]] int fd() const { return socket_.get(); }
  [[nodiscard]] bool is_tls() const { return tls_ != nullptr; }

  // `done` when bytes can flow.
  Io handshake();
  IoResult read(std::span<char> into);
  // Sends as much as the socket takes; `done` when nothing is left.
  IoResult write(Output& output);
  // Reads what nobody wants any more.
  IoResult discard(std::span<char> into);
  // The peer will send nothing more. Of plain sockets, epoll tells.
  bool peer_finished();
  // The last byte was sent: says so to the peer. It can still send.
  void end();
  void close();

 private:
  IoResult write_plain(Output& output);
  IoResult write_tls(Output& output);

  OwnedFd socket_;
  std::unique_ptr<TlsSession> tls_;
};

}  // namespace holdfast::net
