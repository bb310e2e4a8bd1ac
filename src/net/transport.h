// Transport: the bytes of one connection, plain or TLS. Never blocks. One thread.
#pragma once

#include <sys/uio.h>

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/owned_fd.h"
#include "net/tls.h"

namespace holdfast::net {

// The bytes still to be sent, in the parts in which they were added. Large parts are never copied
// together.
class Output {
 public:
  void add(std::string part) {
    if (!part.empty()) {
      parts_.push_back(std::move(part));
    }
  }
  [[nodiscard]] bool empty() const { return parts_.empty(); }
  // Drops the parts of which nothing was sent yet.
  void drop_unsent();

  // Fills the views with the beginning of the remaining bytes; returns how many were used.
  std::size_t views(std::span<iovec> into);
  // That many bytes were sent. Without remaining bytes it holds no memory.
  void advance(std::size_t bytes);

 private:
  std::vector<std::string> parts_;
  std::size_t first_ = 0;   // the parts before it were sent
  std::size_t offset_ = 0;  // and that many bytes of it
};

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
