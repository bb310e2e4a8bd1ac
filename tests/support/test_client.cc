#include "tests/support/test_client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "holdfast/assert.h"
#include "net/http_text.h"

namespace holdfast::net {

namespace {

using Clock = std::chrono::steady_clock;

bool ready(int fd, short events) {
  pollfd wanted{fd, events, 0};
  const auto patience = std::chrono::duration_cast<std::chrono::milliseconds>(kPatience);
  return ::poll(&wanted, 1, static_cast<int>(patience.count())) == 1;
}

template <typename Name>
bool connect_to(int socket, const Name& name) {
  return ::connect(socket, reinterpret_cast<const sockaddr*>(&name), sizeof name) == 0;
}

bool connect_unix(int socket, const std::string& path) {
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  path.copy(&name.sun_path[0], sizeof name.sun_path - 1);
  return connect_to(socket, name);
}

bool connect_tcp(int socket, std::string_view address) {
  const std::size_t colon = address.rfind(':');
  const auto port =
      htons(static_cast<std::uint16_t>(std::stoi(std::string(address.substr(colon + 1)))));
  if (address.front() == '[') {
    sockaddr_in6 name{};
    name.sin6_family = AF_INET6;
    name.sin6_port = port;
    name.sin6_addr = in6addr_loopback;
    return connect_to(socket, name);
  }
  sockaddr_in name{};
  name.sin_family = AF_INET;
  name.sin_port = port;
  inet_pton(AF_INET, std::string(address.substr(0, colon)).c_str(), &name.sin_addr);
  return connect_to(socket, name);
}

}  // namespace

std::string Answer::header(std::string_view name) const {
  for (const Header& one : headers) {
    if (same_ignoring_case(one.name, name)) {
      return one.value;
    }
  }
  return {};
}

TestClient::TestClient(const std::string& url, int receive_buffer_bytes, Connect when) : url_(url) {
  const bool six = url.find("//[") != std::string::npos;
  const int family = url.starts_with("unix:") ? AF_UNIX : six ? AF_INET6 : AF_INET;
  socket_ = OwnedFd(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (receive_buffer_bytes > 0) {
    ::setsockopt(fd(), SOL_SOCKET, SO_RCVBUF, &receive_buffer_bytes, sizeof receive_buffer_bytes);
  }
  if (when == Connect::now) {
    connect();
  }
}

void TestClient::connect() {
  connected_ = url_.starts_with("unix:")
                   ? connect_unix(fd(), url_.substr(5))
                   : connect_tcp(fd(), std::string_view(url_).substr(url_.find("//") + 2));
}

bool TestClient::send(std::string_view bytes) const {
  while (!bytes.empty()) {
    if (!ready(fd(), POLLOUT)) {
      return false;
    }
    const ssize_t sent = ::send(fd(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent <= 0) {
      return false;
    }
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

bool TestClient::read_some() {
  std::array<char, 65'536> buffer{};
  if (ended_ || !ready(fd(), POLLIN)) {
    return false;
  }
  const ssize_t bytes = ::recv(fd(), buffer.data(), buffer.size(), 0);
  if (bytes <= 0) {
    ended_ = true;
    return false;
  }
  unread_.append(buffer.data(), static_cast<std::size_t>(bytes));
  return true;
}

bool TestClient::read_until(std::string_view mark) {
  while (unread_.find(mark) == std::string::npos) {
    if (!read_some()) {
      return false;
    }
  }
  return true;
}

bool TestClient::ends() {
  while (read_some()) {
  }
  return ended_;
}

bool TestClient::take_exactly(std::size_t bytes, std::string& into) {
  while (unread_.size() < bytes) {
    if (!read_some()) {
      return false;
    }
  }
  into.append(unread_, 0, bytes);
  unread_.erase(0, bytes);
  return true;
}

bool TestClient::read_body(Answer& answer) {
  if (answer.header("transfer-encoding") == "chunked") {
    std::size_t size = 1;
    while (size > 0) {
      if (!read_until("\r\n")) {
        return false;
      }
      size = std::stoul(unread_, nullptr, 16);
      unread_.erase(0, unread_.find("\r\n") + 2);
      std::string end;
      if (!take_exactly(size, answer.body) || !take_exactly(2, end) || end != "\r\n") {
        return false;
      }
    }
    return true;
  }
  if (const std::string length = answer.header("content-length"); !length.empty()) {
    return take_exactly(std::stoul(length), answer.body);
  }
  const bool ended = ends();
  answer.body = std::exchange(unread_, {});
  return ended;
}

Answer TestClient::receive(std::string_view method) {
  Answer answer;
  if (!read_until("\r\n\r\n")) {
    return answer;
  }
  const std::size_t end = unread_.find("\r\n\r\n");
  std::string head = unread_.substr(0, end + 2);
  unread_.erase(0, end + 4);
  answer.status = std::stoi(head.substr(9, 3));
  std::size_t at = head.find("\r\n") + 2;
  while (at < head.size()) {
    const std::size_t line_end = head.find("\r\n", at);
    const std::string line = head.substr(at, line_end - at);
    const std::size_t colon = line.find(": ");
    answer.headers.push_back({line.substr(0, colon), line.substr(colon + 2)});
    at = line_end + 2;
  }
  const bool bodyless =
      method == "HEAD" || answer.status == 204 || answer.status == 304 || answer.status == 100;
  answer.complete = bodyless || read_body(answer);
  return answer;
}

Answer TestClient::call(std::string_view request, std::string_view method) {
  return send(request) ? receive(method) : Answer{};
}

void TestClient::finish_sending() const { ::shutdown(fd(), SHUT_WR); }

void TestClient::reset() {
  const linger hard{1, 0};
  ::setsockopt(fd(), SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
  socket_.close();
}

bool eventually(const std::function<bool()>& condition) {
  const auto deadline = Clock::now() + kPatience;
  while (!condition()) {
    if (Clock::now() > deadline) {
      return false;
    }
    ::poll(nullptr, 0, 1);
  }
  return true;
}

std::string get(std::string_view path) {
  return "GET " + std::string(path) + " HTTP/1.1\r\nHost: test\r\n\r\n";
}

void Held::put(ExchangePtr exchange) {
  const std::lock_guard lock(mutex_);
  exchanges_.push_back(std::move(exchange));
  changed_.notify_all();
}

ExchangePtr Held::take() {
  std::unique_lock lock(mutex_);
  if (!changed_.wait_for(lock, kPatience, [this] { return !exchanges_.empty(); })) {
    return nullptr;
  }
  ExchangePtr first = std::move(exchanges_.front());
  exchanges_.erase(exchanges_.begin());
  return first;
}

TestServer::TestServer(Handler handler, Options options) {
  if (options.listen.empty()) {
    options.listen = {"127.0.0.1:0"};
  }
  auto started = HttpServer::start(options, std::move(handler));
  HOLDFAST_ASSERT(started.ok());
  server = std::move(started).value();
}

TestServer::TestServer() : TestServer(echo()) {}

Response text(std::string body) {
  Response response;
  response.content_type = "text/plain";
  response.body = std::move(body);
  return response;
}

Handler echo() {
  return [](const ExchangePtr& exchange) {
    const Request& request = exchange->request();
    exchange->reply(
        text(request.method + "\n" + request.path + "\n" + request.query + "\n" + request.body));
  };
}

Handler hold_in(Held& held) {
  return [&held](ExchangePtr exchange) { held.put(std::move(exchange)); };
}

}  // namespace holdfast::net
