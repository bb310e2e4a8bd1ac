#include "apps/client/client_connection.h"

#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace holdfast::client {

namespace {

std::string words_of(int number) {
  std::array<char, 128> text{};
  return strerror_r(number, text.data(), text.size());
}

// Until something of `events` is possible at the socket; -1: nothing, only the time passes.
IoEnd wait_at(int socket, short events, const Limits& limits) {
  for (;;) {
    if (limits.stop.stopped()) {
      return IoEnd::stopped;
    }
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(
        limits.until - std::chrono::steady_clock::now());
    if (left.count() <= 0) {
      return IoEnd::timed_out;
    }
    constexpr std::int64_t kLongestMs = 3'600'000;
    std::array<pollfd, 2> fds{pollfd{socket, events, 0}, pollfd{limits.stop.fd(), POLLIN, 0}};
    const int ready =
        poll(fds.data(), fds.size(), static_cast<int>(std::min(left.count(), kLongestMs)));
    if (ready < 0 && errno != EINTR) {
      return IoEnd::failed;
    }
    if (ready > 0 && fds[1].revents == 0) {
      return IoEnd::ok;
    }
  }
}

struct Address {
  int family = 0;
  socklen_t size = 0;
  sockaddr_storage storage = {};

  [[nodiscard]] const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
};

Address unix_address(const std::string& path) {
  Address address{AF_UNIX, sizeof(sockaddr_un), {}};
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  std::memcpy(name.sun_path, path.c_str(), path.size() + 1);  // its length was checked
  std::memcpy(&address.storage, &name, sizeof name);
  return address;
}

std::vector<Address> addresses_of(const ServerUrl& url, std::string& reason) {
  if (url.kind == ServerUrl::Kind::unix_socket) {
    return {unix_address(url.path)};
  }
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV | AI_ADDRCONFIG;
  // Addresses of the loopback work also on a machine that has no other.
  if (url.host == "localhost" || url.host.starts_with("127.") || url.host == "::1") {
    hints.ai_flags = AI_NUMERICSERV;
  }
  addrinfo* found = nullptr;
  const int failed =
      getaddrinfo(url.host.c_str(), std::to_string(url.port).c_str(), &hints, &found);
  if (failed != 0) {
    reason = fmt::format("the host {} is not known: {}", url.host, gai_strerror(failed));
    return {};
  }
  std::vector<Address> addresses;
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
    Address& address = addresses.emplace_back();
    address.family = one->ai_family;
    address.size = one->ai_addrlen;
    std::memcpy(&address.storage, one->ai_addr, one->ai_addrlen);
  }
  freeaddrinfo(found);
  return addresses;
}

IoEnd connect_to(const Address& address, OwnedFd& socket, std::string& reason,
                 const Limits& limits) {
  socket = OwnedFd(::socket(address.family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket.is_open()) {
    reason = words_of(errno);
    return IoEnd::failed;
  }
  if (connect(socket.get(), address.get(), address.size) != 0) {
    if (errno != EINPROGRESS && errno != EINTR) {
      reason = words_of(errno);
      return IoEnd::failed;
    }
    if (const IoEnd end = wait_at(socket.get(), POLLOUT, limits); end != IoEnd::ok) {
      return end;
    }
    int number = 0;
    socklen_t size = sizeof number;
    getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &number, &size);
    if (number != 0) {
      reason = words_of(number);
      return IoEnd::failed;
    }
  }
  if (address.family != AF_UNIX) {
    const int on = 1;
    setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    setsockopt(socket.get(), SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  }
  return IoEnd::ok;
}

}  // namespace

Connection::Opened Connection::open(const ServerUrl& url, TlsSettings* tls, const Limits& limits) {
  Opened opened;
  OwnedFd socket;
  for (const Address& address : addresses_of(url, opened.reason)) {
    opened.end = connect_to(address, socket, opened.reason, limits);
    if (opened.end != IoEnd::failed) {
      break;
    }
  }
  if (opened.end != IoEnd::ok) {
    if (opened.end == IoEnd::timed_out) {
      opened.reason = "it did not answer in time";
    }
    return opened;
  }
  const int fd = socket.get();
  opened.connection.reset(new Connection(std::move(socket), nullptr));
  if (url.kind != ServerUrl::Kind::https) {
    return opened;
  }
  Connection& connection = *opened.connection;
  connection.tls_ = tls->open(fd, url.host);
  TlsStep step = connection.tls_ == nullptr ? TlsStep::failed : connection.tls_->handshake();
  opened.end = IoEnd::ok;
  while (step != TlsStep::done && opened.end == IoEnd::ok) {
    opened.end = connection.wait_for(step, limits);
    if (opened.end == IoEnd::ok) {
      step = connection.tls_->handshake();
    }
  }
  if (opened.end != IoEnd::ok) {
    opened.permanent = connection.tls_ != nullptr && connection.tls_->refused_peer();
    opened.reason = "TLS: " + (opened.end == IoEnd::failed ? connection.reason_
                                                           : std::string("no agreement was made"));
    opened.connection = nullptr;
  }
  return opened;
}

IoEnd Connection::fail(int number) {
  reason_ = words_of(number);
  return number == ECONNRESET || number == EPIPE ? IoEnd::closed : IoEnd::failed;
}

IoEnd Connection::wait_for(short events, const Limits& limits) {
  return wait_at(socket_.get(), events, limits);
}

IoEnd Connection::wait_for(TlsStep step, const Limits& limits) {
  switch (step) {
    case TlsStep::done:
      return IoEnd::ok;
    case TlsStep::want_read:
      return wait_for(POLLIN, limits);
    case TlsStep::want_write:
      return wait_for(POLLOUT, limits);
    case TlsStep::closed:
      reason_ = "the connection was closed";
      return IoEnd::closed;
    case TlsStep::failed:
      break;
  }
  reason_ = tls_ == nullptr ? "it cannot be used" : tls_->reason();
  return IoEnd::failed;
}

IoEnd Connection::write_all(std::string_view data, std::size_t& written, const Limits& limits) {
  written = 0;
  while (written < data.size()) {
    const std::string_view rest = data.substr(written);
    IoEnd end = IoEnd::ok;
    if (tls_ != nullptr) {
      std::size_t count = 0;
      const TlsStep step = tls_->write(rest, count);
      written += step == TlsStep::done ? count : 0;
      end = wait_for(step, limits);
    } else {
      const ssize_t count = send(socket_.get(), rest.data(), rest.size(), MSG_NOSIGNAL);
      if (count >= 0) {
        written += static_cast<std::size_t>(count);
      } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
        end = wait_for(POLLOUT, limits);
      } else if (errno != EINTR) {
        end = fail(errno);
      }
    }
    if (end != IoEnd::ok) {
      return end;
    }
  }
  return IoEnd::ok;
}

IoEnd Connection::read_some(char* data, std::size_t size, std::size_t& count,
                            const Limits& limits) {
  for (;;) {
    count = 0;
    IoEnd end = IoEnd::ok;
    if (tls_ != nullptr) {
      const TlsStep step = tls_->read(data, size, count);
      if (step == TlsStep::done) {
        return IoEnd::ok;
      }
      end = wait_for(step, limits);
    } else {
      const ssize_t got = recv(socket_.get(), data, size, 0);
      if (got > 0) {
        count = static_cast<std::size_t>(got);
        return IoEnd::ok;
      }
      if (got == 0) {
        reason_ = "the connection was closed";
        return IoEnd::closed;
      }
      if (errno == EAGAIN || errno == EWOULDBLOCK) {
        end = wait_for(POLLIN, limits);
      } else if (errno != EINTR) {
        end = fail(errno);
      }
    }
    if (end != IoEnd::ok) {
      return end;
    }
  }
}

bool Connection::is_over() const {
  pollfd fd{socket_.get(), POLLIN, 0};
  return poll(&fd, 1, 0) != 0;
}

}  // namespace holdfast::client
