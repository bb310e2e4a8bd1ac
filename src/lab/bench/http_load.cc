#include "lab/bench/http_load.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>

namespace holdfast {

namespace {

constexpr int kPatienceMs = 60'000;
constexpr std::size_t kMostEvents = 512;

Error broken(std::string_view what) {
  return Error{ErrorCode::unavailable, fmt::format("the connection to the server broke: {} ({})",
                                                   what, std::strerror(errno))};
}

// The number behind "Content-Length:", as our server writes it.
std::size_t length_of(std::string_view head) {
  constexpr std::string_view kName = "Content-Length: ";
  const std::size_t at = head.find(kName);
  std::size_t length = 0;
  if (at != std::string_view::npos) {
    const std::string_view digits = head.substr(at + kName.size());
    std::from_chars(digits.data(), digits.data() + digits.size(), length);
  }
  return length;
}

}  // namespace

Result<std::unique_ptr<HttpLoad>> HttpLoad::create(std::uint16_t port) {
  const int epoll = epoll_create1(EPOLL_CLOEXEC);
  if (epoll < 0) {
    return Error{ErrorCode::io_error, "epoll cannot be used"};
  }
  return std::unique_ptr<HttpLoad>(new HttpLoad(epoll, port));
}

HttpLoad::~HttpLoad() {
  for (const Connection& connection : connections_) {
    ::close(connection.fd);
  }
  ::close(epoll_);
}

Result<std::size_t> HttpLoad::connect() {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) {
    return broken("no socket");
  }
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port_);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int one = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = connections_.size();
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event) != 0) {
    ::close(fd);
    return broken("cannot connect");
  }
  connections_.push_back(Connection{fd, {}, 0, {}, nullptr});
  return connections_.size() - 1;
}

void HttpLoad::get(std::size_t connection, std::string_view path, Done done) {
  send(connection, fmt::format("GET {} HTTP/1.1\r\nHost: localhost\r\n\r\n", path),
       std::move(done));
}

void HttpLoad::post(std::size_t connection, std::string_view path, std::string_view body,
                    Done done) {
  send(connection,
       fmt::format("POST {} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                   "Content-Length: {}\r\n\r\n{}",
                   path, body.size(), body),
       std::move(done));
}

void HttpLoad::send(std::size_t connection, std::string request, Done done) {
  Connection& to = connections_[connection];
  to.out = std::move(request);
  to.sent = 0;
  to.done = std::move(done);
  // A failure shows when the answer is waited for.
  static_cast<void>(flush(to).ok());
}

// Requests fit into the buffer of a socket on this machine, or nearly: a rest is sent at once too.
Result<void> HttpLoad::flush(Connection& connection) {
  while (connection.sent < connection.out.size()) {
    const ssize_t sent = ::send(connection.fd, connection.out.data() + connection.sent,
                                connection.out.size() - connection.sent, MSG_NOSIGNAL);
    if (sent < 0) {
      return broken("cannot send");
    }
    connection.sent += static_cast<std::size_t>(sent);
  }
  return {};
}

Result<void> HttpLoad::take_in(std::size_t number) {
  std::array<char, 65536> room{};
  const ssize_t got = ::recv(connections_[number].fd, room.data(), room.size(), 0);
  if (got <= 0 && connections_[number].done == nullptr) {
    // One that nobody uses any more; the server need not keep it.
    epoll_ctl(epoll_, EPOLL_CTL_DEL, connections_[number].fd, nullptr);
    return {};
  }
  if (got <= 0) {
    return broken("it was closed");
  }
  std::string& in = connections_[number].in;
  in.append(room.data(), static_cast<std::size_t>(got));
  const std::size_t head = in.find("\r\n\r\n");
  if (head == std::string::npos) {
    return {};
  }
  const std::size_t begin = head + 4;
  const std::size_t length = length_of(std::string_view(in).substr(0, begin));
  if (in.size() < begin + length) {
    return {};
  }
  constexpr std::size_t kStatusAt = 9;  // HTTP/1.1 200 OK
  HttpAnswer answer;
  std::from_chars(in.data() + kStatusAt, in.data() + kStatusAt + 3, answer.status);
  // What is done may send the next request on the same connection, or open others.
  const std::string whole = std::exchange(in, {});
  answer.body = std::string_view(whole).substr(begin, length);
  if (answer.body.ends_with('\n')) {
    answer.body.remove_suffix(1);
  }
  const Done done = std::exchange(connections_[number].done, nullptr);
  if (done) {
    done(answer);
  }
  return {};
}

Result<void> HttpLoad::run_until(const std::function<bool()>& finished) {
  std::array<epoll_event, kMostEvents> events{};
  while (!finished()) {
    const int count = epoll_wait(epoll_, events.data(), events.size(), kPatienceMs);
    if (count == 0) {
      return Error{ErrorCode::unavailable, "the server did not answer for a minute"};
    }
    for (int i = 0; i < count; ++i) {
      HOLDFAST_CHECK(take_in(events[static_cast<std::size_t>(i)].data.u64));
    }
  }
  return {};
}

}  // namespace holdfast
