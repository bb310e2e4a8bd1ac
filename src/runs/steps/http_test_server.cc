#include "runs/steps/http_test_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>

#include "holdfast/assert.h"

namespace holdfast {
namespace {

constexpr std::chrono::seconds kLongestWait{10};

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return text;
}

SeenRequest parse_head(std::string_view head) {
  SeenRequest request;
  const std::string_view line = head.substr(0, head.find("\r\n"));
  const std::size_t first = line.find(' ');
  const std::size_t second = line.find(' ', first + 1);
  request.method = line.substr(0, first);
  request.target = line.substr(first + 1, second - first - 1);
  head.remove_prefix(line.size() + 2);
  while (!head.empty()) {
    const std::size_t end = head.find("\r\n");
    const std::string_view header = head.substr(0, end);
    const std::size_t colon = header.find(':');
    if (colon != std::string_view::npos) {
      const std::size_t value = std::min(header.find_first_not_of(' ', colon + 1), header.size());
      request.headers[lower(std::string(header.substr(0, colon)))] = header.substr(value);
    }
    head.remove_prefix(end == std::string_view::npos ? head.size() : end + 2);
  }
  return request;
}

}  // namespace

HttpTestServer::HttpTestServer(std::string answer, Manner manner)
    : answer_(std::move(answer)),
      manner_(manner),
      quit_(eventfd(0, EFD_CLOEXEC)),
      listener_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  socklen_t size = sizeof address;
  HOLDFAST_ASSERT(bind(listener_.get(), generic, size) == 0);
  HOLDFAST_ASSERT(listen(listener_.get(), 16) == 0);
  HOLDFAST_ASSERT(getsockname(listener_.get(), generic, &size) == 0);
  port_ = ntohs(address.sin_port);
  thread_ = std::thread([this] { serve(); });
}

HttpTestServer::~HttpTestServer() {
  eventfd_write(quit_.get(), 1);
  thread_.join();
}

std::string HttpTestServer::authority() const { return "127.0.0.1:" + std::to_string(port_); }

std::string HttpTestServer::url(std::string_view path) const {
  return "http://" + authority() + std::string(path);
}

std::optional<SeenRequest> HttpTestServer::wait_for_request() {
  std::unique_lock lock(mutex_);
  if (!changed_.wait_for(lock, kLongestWait, [this] { return !seen_.empty(); })) {
    return std::nullopt;
  }
  return seen_.front();
}

bool HttpTestServer::wait_for_hang_up() {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, kLongestWait, [this] { return hung_up_; });
}

std::size_t HttpTestServer::requests() {
  const std::lock_guard lock(mutex_);
  return seen_.size();
}

std::vector<SeenRequest> HttpTestServer::seen() {
  const std::lock_guard lock(mutex_);
  return seen_;
}

bool HttpTestServer::wait_until(const OwnedFd& fd, short events) const {
  std::array<pollfd, 2> fds{{{quit_.get(), POLLIN, 0}, {fd.get(), events, 0}}};
  while (poll(fds.data(), fds.size(), -1) == -1 && errno == EINTR) {
  }
  return fds[0].revents == 0;
}

void HttpTestServer::serve() {
  while (wait_until(listener_, POLLIN)) {
    const OwnedFd connection(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (connection.is_open()) {
      serve_one(connection);
    }
  }
}

void HttpTestServer::serve_one(const OwnedFd& connection) {
  if (!read_request(connection)) {
    return;
  }
  if (manner_ == Manner::answer) {
    send_answer(connection);
  } else if (manner_ == Manner::stay_silent) {
    std::array<char, 1> byte{};
    if (wait_until(connection, POLLIN) && recv(connection.get(), byte.data(), 1, 0) <= 0) {
      const std::lock_guard lock(mutex_);
      hung_up_ = true;
      changed_.notify_all();
    }
  }
}

bool HttpTestServer::read_request(const OwnedFd& connection) {
  std::string data;
  std::size_t head = std::string::npos;
  std::size_t expected = 0;
  SeenRequest request;
  while (head == std::string::npos || data.size() < expected) {
    std::array<char, 65536> buffer;
    if (!wait_until(connection, POLLIN)) {
      return false;
    }
    const ssize_t got = recv(connection.get(), buffer.data(), buffer.size(), 0);
    if (got <= 0) {
      return false;
    }
    data.append(buffer.data(), static_cast<std::size_t>(got));
    if (head == std::string::npos && data.find("\r\n\r\n") != std::string::npos) {
      head = data.find("\r\n\r\n") + 4;
      request = parse_head(std::string_view(data).substr(0, head - 2));
      const auto length = request.headers.find("content-length");
      expected =
          head +
          (length == request.headers.end() ? 0 : std::strtoul(length->second.c_str(), nullptr, 10));
    }
  }
  request.body = data.substr(head);
  const std::lock_guard lock(mutex_);
  seen_.push_back(std::move(request));
  changed_.notify_all();
  return true;
}

void HttpTestServer::send_answer(const OwnedFd& connection) {
  std::string_view rest = answer_;
  while (!rest.empty() && wait_until(connection, POLLOUT)) {
    const ssize_t sent =
        send(connection.get(), rest.data(), rest.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent == -1 && (errno == EAGAIN || errno == EINTR)) {
      continue;
    }
    if (sent == -1) {
      return;
    }
    rest.remove_prefix(static_cast<std::size_t>(sent));
  }
  shutdown(connection.get(), SHUT_WR);
}

std::string http_answer(std::string_view status, const std::vector<std::string>& header_lines,
                        std::string_view body) {
  std::string answer = "HTTP/1.1 " + std::string(status) + "\r\n";
  for (const std::string& line : header_lines) {
    answer += line + "\r\n";
  }
  answer += "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n";
  answer += body;
  return answer;
}

}  // namespace holdfast
