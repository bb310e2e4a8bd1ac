#include "tests/support/scripted_server.h"

#include <arpa/inet.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>

#include "holdfast/assert.h"
#include "net/http_text.h"

namespace holdfast::net {

namespace {

constexpr std::chrono::seconds kLongestWait{10};

SeenRequest parse_head(std::string head) {
  SeenRequest seen;
  seen.head = std::move(head);
  std::string_view rest = seen.head;
  const std::string_view line = rest.substr(0, rest.find("\r\n"));
  const std::size_t first = line.find(' ');
  seen.method = line.substr(0, first);
  seen.target = line.substr(first + 1, line.find(' ', first + 1) - first - 1);
  rest.remove_prefix(line.size() + 2);
  while (!rest.empty()) {
    const std::string_view header = rest.substr(0, rest.find("\r\n"));
    rest.remove_prefix(header.size() + 2);
    if (const std::size_t colon = header.find(':'); colon != std::string_view::npos) {
      seen.headers[lowered(header.substr(0, colon))] = trimmed(header.substr(colon + 1));
    }
  }
  return seen;
}

}  // namespace

bool SeenRequest::has_line(std::string_view line) const {
  return head.find("\r\n" + std::string(line) + "\r\n") != std::string::npos;
}

std::string http_text(std::string_view body, std::string_view status, std::string_view headers) {
  return "HTTP/1.1 " + std::string(status) + "\r\nContent-Length: " + std::to_string(body.size()) +
         "\r\n" + std::string(headers) + "\r\n" + std::string(body);
}

std::optional<SeenRequest> ScriptedPeer::read() {
  for (;;) {
    const std::size_t end = buffer_.find("\r\n\r\n");
    if (end != std::string::npos) {
      SeenRequest seen = parse_head(buffer_.substr(0, end + 4));
      const auto length = seen.headers.find("content-length");
      const std::size_t bytes = length == seen.headers.end() ? 0 : std::stoul(length->second);
      if (buffer_.size() >= seen.head.size() + bytes) {
        seen.body = buffer_.substr(seen.head.size(), bytes);
        buffer_.erase(0, seen.head.size() + bytes);
        return seen;
      }
    }
    std::array<char, 65536> piece{};
    const long count = bytes_.read(piece.data(), piece.size());
    if (count <= 0) {
      return std::nullopt;
    }
    buffer_.append(piece.data(), static_cast<std::size_t>(count));
  }
}

bool ScriptedPeer::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const long count = bytes_.write(bytes.data(), bytes.size());
    if (count <= 0) {
      return false;
    }
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

bool ScriptedPeer::answer(std::string_view body, std::string_view status,
                          std::string_view headers) {
  return write(http_text(body, status, headers));
}

void ScriptedPeer::wait_for_end() {
  std::array<char, 4096> piece{};
  while (bytes_.read(piece.data(), piece.size()) > 0) {
  }
}

bool ScriptedPeer::is_gone() const {
  char byte = 0;
  return recv(socket_, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

ScriptedServer::ScriptedServer(Script script, std::string unix_path, std::uint16_t port, Wrap wrap)
    : script_(std::move(script)),
      unix_path_(std::move(unix_path)),
      wrap_(std::move(wrap)),
      quit_(eventfd(0, EFD_CLOEXEC)) {
  if (unix_path_.empty()) {
    listener_ = OwnedFd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const int on = 1;
    setsockopt(listener_.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    auto* const name = reinterpret_cast<sockaddr*>(&address);
    socklen_t size = sizeof address;
    HOLDFAST_ASSERT(bind(listener_.get(), name, size) == 0);
    HOLDFAST_ASSERT(getsockname(listener_.get(), name, &size) == 0);
    port_ = ntohs(address.sin_port);
  } else {
    listener_ = OwnedFd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, unix_path_.c_str(), unix_path_.size() + 1);
    HOLDFAST_ASSERT(bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) ==
                    0);
  }
  constexpr int kBacklog = 64;
  HOLDFAST_ASSERT(listen(listener_.get(), kBacklog) == 0);
  acceptor_ = std::thread([this] { accept_all(); });
}

ScriptedServer::~ScriptedServer() {
  const std::uint64_t one = 1;
  static_cast<void>(!::write(quit_.get(), &one, sizeof one));
  acceptor_.join();
  {
    const std::scoped_lock lock(mutex_);
    for (const int socket : open_) {
      shutdown(socket, SHUT_RDWR);
    }
  }
  for (std::thread& script : scripts_) {
    script.join();
  }
  if (!unix_path_.empty()) {
    unlink(unix_path_.c_str());
  }
}

std::string ScriptedServer::url() const {
  if (!unix_path_.empty()) {
    return "unix:" + unix_path_;
  }
  return (wrap_ == nullptr ? "http://127.0.0.1:" : "https://127.0.0.1:") + std::to_string(port_);
}

void ScriptedServer::accept_all() {
  for (;;) {
    std::array<pollfd, 2> fds{pollfd{listener_.get(), POLLIN, 0}, pollfd{quit_.get(), POLLIN, 0}};
    poll(fds.data(), fds.size(), -1);
    if (fds[1].revents != 0) {
      listener_.close();
      return;
    }
    const int socket = accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC);
    if (socket < 0) {
      continue;
    }
    const std::scoped_lock lock(mutex_);
    open_.push_back(socket);
    const std::size_t number = accepted_++;
    scripts_.emplace_back([this, socket, number] {
      const ScriptedPeer::Bytes plain{
          [socket](char* data, std::size_t size) { return recv(socket, data, size, 0); },
          [socket](const char* data, std::size_t size) {
            return ::send(socket, data, size, MSG_NOSIGNAL);
          }};
      const ScriptedPeer::Bytes bytes = wrap_ == nullptr ? plain : wrap_(socket);
      if (bytes.read != nullptr) {
        ScriptedPeer peer(socket, number, bytes);
        script_(peer);
      }
      const std::scoped_lock closing(mutex_);
      std::erase(open_, socket);
      close(socket);
    });
  }
}

RecordingServer::RecordingServer(std::string answer, Manner manner)
    : answer_(std::move(answer)),
      manner_(manner),
      server_([this](ScriptedPeer& peer) { serve(peer); }) {}

std::string RecordingServer::authority() const {
  return "127.0.0.1:" + std::to_string(server_.port());
}

std::string RecordingServer::url(std::string_view path) const {
  return server_.url() + std::string(path);
}

void RecordingServer::serve(ScriptedPeer& peer) {
  auto request = peer.read();
  if (!request.has_value()) {
    return;
  }
  {
    const std::scoped_lock lock(mutex_);
    seen_.push_back(std::move(*request));
    changed_.notify_all();
  }
  if (manner_ == Manner::answer) {
    peer.write(answer_);
    shutdown(peer.socket(), SHUT_WR);
  } else if (manner_ == Manner::stay_silent) {
    peer.wait_for_end();
    const std::scoped_lock lock(mutex_);
    hung_up_ = true;
    changed_.notify_all();
  }
}

std::optional<SeenRequest> RecordingServer::wait_for_request() {
  std::unique_lock lock(mutex_);
  if (!changed_.wait_for(lock, kLongestWait, [this] { return !seen_.empty(); })) {
    return std::nullopt;
  }
  return seen_.front();
}

bool RecordingServer::wait_for_hang_up() {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, kLongestWait, [this] { return hung_up_; });
}

std::size_t RecordingServer::requests() {
  const std::scoped_lock lock(mutex_);
  return seen_.size();
}

std::vector<SeenRequest> RecordingServer::seen() {
  const std::scoped_lock lock(mutex_);
  return seen_;
}

std::string http_answer(std::string_view status, const std::vector<std::string>& header_lines,
                        std::string_view body) {
  std::string headers;
  for (const std::string& line : header_lines) {
    headers += line + "\r\n";
  }
  return http_text(body, status, headers);
}

}  // namespace holdfast::net
