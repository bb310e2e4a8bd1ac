#include "net/listener.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "base/text.h"
#include "net/http_server.h"

namespace holdfast::net {

namespace {

constexpr int kSocketFlags = SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK;
constexpr std::string_view kUnix = "unix:";

std::string_view advice_on(int error) {
  switch (error) {
    case EADDRINUSE:
      return "; stop the program that listens there, or choose another port";
    case EACCES:
    case EPERM:
      return "; ports below 1024 need root, and a socket a folder that may be written";
    case EADDRNOTAVAIL:
      return "; give an address of this machine, or 0.0.0.0 for all of them";
    case ENOENT:
    case ENOTDIR:
      return "; make the folder first";
    default:
      return "";
  }
}

Error failure(const std::string& address, std::string_view what, int error) {
  ErrorCode code = ErrorCode::io_error;
  if (error == EADDRINUSE) {
    code = ErrorCode::already_exists;
  } else if (error == EACCES || error == EPERM) {
    code = ErrorCode::permission_denied;
  } else if (error == EADDRNOTAVAIL || error == ENOENT || error == ENOTDIR) {
    code = ErrorCode::invalid_argument;
  }
  return Error(code, fmt::format("{}: cannot {}: {}{}", address, what, std::strerror(error),
                                 advice_on(error)))
      .with("address", address);
}

Error not_an_address(const std::string& address) {
  return Error(ErrorCode::invalid_argument,
               fmt::format("{}: not an address; give HOST:PORT, [IPV6]:PORT or unix:PATH, for "
                           "example 127.0.0.1:7717",
                           address))
      .with("address", address);
}

// The generic address type of the socket calls.
const sockaddr* generic(const void* address) { return static_cast<const sockaddr*>(address); }
sockaddr* generic(void* address) { return static_cast<sockaddr*>(address); }

struct HostAndPort {
  std::string host;
  std::string port;
};

std::optional<HostAndPort> split(const std::string& address) {
  const std::size_t colon = address.rfind(':');
  if (colon == std::string::npos || colon == 0) {
    return std::nullopt;
  }
  HostAndPort parts{address.substr(0, colon), address.substr(colon + 1)};
  const bool brackets = parts.host.front() == '[' && parts.host.back() == ']';
  if (brackets) {
    parts.host = parts.host.substr(1, parts.host.size() - 2);
  }
  const bool colons = parts.host.find(':') != std::string::npos;
  const auto port = parse_decimal(parts.port);
  if (parts.host.empty() || colons != brackets || !port.has_value() || *port > 65'535) {
    return std::nullopt;
  }
  return parts;
}

std::string text_of(const sockaddr_storage& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (address.ss_family == AF_INET6) {
    sockaddr_in6 six{};
    std::memcpy(&six, &address, sizeof six);
    inet_ntop(AF_INET6, &six.sin6_addr, text.data(), text.size());
    return fmt::format("[{}]:{}", text.data(), ntohs(six.sin6_port));
  }
  sockaddr_in four{};
  std::memcpy(&four, &address, sizeof four);
  inet_ntop(AF_INET, &four.sin_addr, text.data(), text.size());
  return fmt::format("{}:{}", text.data(), ntohs(four.sin_port));
}

bool is_loopback(const sockaddr_storage& address) {
  if (address.ss_family == AF_INET6) {
    sockaddr_in6 six{};
    std::memcpy(&six, &address, sizeof six);
    return IN6_IS_ADDR_LOOPBACK(&six.sin6_addr);
  }
  sockaddr_in four{};
  std::memcpy(&four, &address, sizeof four);
  return (ntohl(four.sin_addr.s_addr) >> 24U) == IN_LOOPBACKNET;
}

void set_option(int socket, int level, int option) {
  const int on = 1;
  ::setsockopt(socket, level, option, &on, sizeof on);
}

// Whether a server listens on a socket file. The file of a server that crashed remains.
bool has_listener(const sockaddr_un& address) {
  const OwnedFd probe(::socket(AF_UNIX, kSocketFlags, 0));
  return ::connect(probe.get(), generic(&address), sizeof address) == 0 || errno != ECONNREFUSED;
}

Result<void> remove_stale_socket(const std::string& path, const sockaddr_un& address) {
  struct stat file {};
  if (::lstat(path.c_str(), &file) != 0) {
    return {};
  }
  if (!S_ISSOCK(file.st_mode)) {
    return Error(ErrorCode::already_exists,
                 fmt::format("unix:{}: the file is not a socket; remove it, or choose "
                             "another path",
                             path))
        .with("address", "unix:" + path);
  }
  if (has_listener(address)) {
    return failure("unix:" + path, "listen", EADDRINUSE);
  }
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) {
    return failure("unix:" + path, "replace the old socket", errno);
  }
  return {};
}

}  // namespace

Result<void> check_address(const std::string& address) {
  if (!address.starts_with(kUnix) && !split(address).has_value()) {
    return not_an_address(address);
  }
  return {};
}

Result<Listener> Listener::open(const std::string& address) {
  if (address.starts_with(kUnix)) {
    return open_unix(address.substr(kUnix.size()));
  }
  return open_tcp(address);
}

Result<Listener> Listener::open_tcp(const std::string& address) {
  const auto parts = split(address);
  if (!parts.has_value()) {
    return not_an_address(address);
  }
  addrinfo hints{};
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int error = ::getaddrinfo(parts->host.c_str(), parts->port.c_str(), &hints, &found);
      error != 0) {
    return Error(ErrorCode::invalid_argument,
                 fmt::format("{}: the host is not known here ({}); give an address or a name of "
                             "this machine",
                             address, ::gai_strerror(error)))
        .with("address", address);
  }
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(found, &::freeaddrinfo);
  Listener listener;
  listener.socket_ = OwnedFd(::socket(found->ai_family, kSocketFlags, 0));
  if (!listener.socket_.is_open()) {
    return failure(address, "create a socket", errno);
  }
  const int socket = listener.fd();
  set_option(socket, SOL_SOCKET, SO_REUSEADDR);
  if (found->ai_family == AF_INET6) {
    set_option(socket, IPPROTO_IPV6, IPV6_V6ONLY);
  }
  if (::bind(socket, found->ai_addr, found->ai_addrlen) != 0 || ::listen(socket, SOMAXCONN) != 0) {
    return failure(address, "listen", errno);
  }
  sockaddr_storage bound{};
  socklen_t size = sizeof bound;
  if (::getsockname(socket, generic(&bound), &size) != 0) {
    return failure(address, "read the port", errno);
  }
  listener.name_ = text_of(bound);
  return listener;
}

Result<Listener> Listener::open_unix(const std::string& path) {
  const std::string address = std::string(kUnix) + path;
  sockaddr_un name{};
  if (path.empty() || path.size() >= sizeof name.sun_path || path.find('\0') != std::string::npos) {
    return Error(ErrorCode::invalid_argument,
                 fmt::format("{}: the path of a socket has 1 to {} bytes", address,
                             sizeof name.sun_path - 1))
        .with("address", address);
  }
  name.sun_family = AF_UNIX;
  path.copy(&name.sun_path[0], path.size());
  HOLDFAST_CHECK(remove_stale_socket(path, name));
  Listener listener;
  listener.socket_ = OwnedFd(::socket(AF_UNIX, kSocketFlags, 0));
  if (!listener.socket_.is_open()) {
    return failure(address, "create a socket", errno);
  }
  // Before bind: other users must not be able to connect even for a moment.
  if (::fchmod(listener.fd(), S_IRUSR | S_IWUSR) != 0 ||
      ::bind(listener.fd(), generic(&name), sizeof name) != 0) {
    return failure(address, "listen", errno);
  }
  struct stat file {};
  if (::lstat(path.c_str(), &file) == 0) {
    listener.device_ = file.st_dev;
    listener.inode_ = file.st_ino;
  }
  listener.path_ = path;
  listener.name_ = address;
  if (::listen(listener.fd(), SOMAXCONN) != 0) {
    return failure(address, "listen", errno);
  }
  return listener;
}

void Listener::close() {
  if (!socket_.is_open()) {
    return;
  }
  struct stat file {};
  if (is_unix() && ::lstat(path_.c_str(), &file) == 0 && file.st_dev == device_ &&
      file.st_ino == inode_) {
    ::unlink(path_.c_str());
  }
  socket_.close();
}

Listener::Accepted Listener::accept() const {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  Accepted accepted;
  accepted.socket =
      OwnedFd(::accept4(fd(), generic(&address), &size, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (!accepted.socket.is_open()) {
    accepted.error = errno;
    return accepted;
  }
  if (!is_unix()) {
    set_option(accepted.socket.get(), IPPROTO_TCP, TCP_NODELAY);
    accepted.peer.address = text_of(address);
    accepted.peer.loopback = is_loopback(address);
    return accepted;
  }
  accepted.peer.address = "unix";
  accepted.peer.loopback = true;
  ucred credentials{};
  socklen_t length = sizeof credentials;
  if (::getsockopt(accepted.socket.get(), SOL_SOCKET, SO_PEERCRED, &credentials, &length) == 0) {
    accepted.peer.uid = credentials.uid;
  }
  return accepted;
}

}  // namespace holdfast::net
