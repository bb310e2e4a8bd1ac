// Listener: a socket that accepts connections.
#pragma once

#include <sys/stat.h>

#include <optional>
#include <string>

#include "base/owned_fd.h"
#include "holdfast/result.h"
#include "net/http.h"

namespace holdfast::net {

class Listener {
 public:
  // HOST:PORT, [IPV6]:PORT or unix:PATH; errors as for HttpServer::start. `[::]` is IPv6 only, so
  // that a server can listen on 0.0.0.0 as well.
  static Result<Listener> open(const std::string& address);
  Listener(Listener&&) noexcept = default;
  Listener& operator=(Listener&&) noexcept = delete;
  ~Listener() { close(); }

  // Also removes the socket file, unless another process has replaced it.
  void close();

  [[nodiscard]] int fd() const { return socket_.get(); }
  [[nodiscard]] bool is_unix() const { return !path_.empty(); }
  // 127.0.0.1:8080, [::1]:8080 or unix:/path, with the actual port.
  [[nodiscard]] const std::string& name() const { return name_; }

  struct Accepted {
    OwnedFd socket;  // not open if no connection was waiting, or on failure
    Peer peer = {};
    int error = 0;  // errno; EAGAIN if no connection was waiting
  };
  [[nodiscard]] Accepted accept() const;

 private:
  Listener() = default;
  static Result<Listener> open_tcp(const std::string& address);
  static Result<Listener> open_unix(const std::string& path);

  OwnedFd socket_;
  std::string name_;
  std::string path_;  // of a unix socket
  dev_t device_ = 0;  // of its file
  ino_t inode_ = 0;
};

}  // namespace holdfast::net
