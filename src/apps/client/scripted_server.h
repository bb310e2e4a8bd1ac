// A server for tests: each connection is given to a script, which reads requests and writes
// whatever bytes it likes. Loopback or a unix socket; one thread for each connection.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "runs/steps/owned_fd.h"

namespace holdfast::client {

struct SeenRequest {
  std::string head;  // with its last empty line
  std::string body;

  [[nodiscard]] std::string method() const { return head.substr(0, head.find(' ')); }
  [[nodiscard]] std::string target() const;
  [[nodiscard]] bool has_line(std::string_view line) const;
};

// What a script does with its connection.
class ScriptedPeer {
 public:
  // One connection: how bytes are moved; 0 or less is the end.
  struct Bytes {
    std::function<long(char*, std::size_t)> read;
    std::function<long(const char*, std::size_t)> write;
  };

  ScriptedPeer(int socket, std::size_t number, Bytes bytes)
      : socket_(socket), number_(number), bytes_(std::move(bytes)) {}

  // From 0.
  [[nodiscard]] std::size_t number() const { return number_; }
  // The next request; empty when the client has gone, or the server ends.
  std::optional<SeenRequest> read();
  // False when the client has gone.
  bool write(std::string_view bytes);
  bool answer(std::string_view body, std::string_view status = "200 OK",
              std::string_view headers = "");
  // Until the client has closed its side.
  void wait_for_end();
  // It has closed its side already.
  [[nodiscard]] bool is_gone() const;
  [[nodiscard]] int socket() const { return socket_; }

 private:
  int socket_;
  std::size_t number_;
  Bytes bytes_;
  std::string buffer_;
};

class ScriptedServer {
 public:
  using Script = std::function<void(ScriptedPeer&)>;
  // Makes what moves bytes of a socket: TLS, for one. Empty reads mean that there is none.
  using Wrap = std::function<ScriptedPeer::Bytes(int socket)>;

  // unix_path empty: 127.0.0.1 and the port, 0: any.
  explicit ScriptedServer(Script script, std::string unix_path = "", std::uint16_t port = 0,
                          Wrap wrap = nullptr);
  // Closes every connection and waits for the scripts.
  ~ScriptedServer();
  ScriptedServer(const ScriptedServer&) = delete;
  ScriptedServer& operator=(const ScriptedServer&) = delete;

  [[nodiscard]] std::string url() const;
  [[nodiscard]] std::uint16_t port() const { return port_; }
  [[nodiscard]] std::size_t connections() const { return accepted_; }

 private:
  void accept_all();

  Script script_;
  std::string unix_path_;
  Wrap wrap_;
  OwnedFd listener_;
  OwnedFd quit_;
  std::uint16_t port_ = 0;
  std::atomic<std::size_t> accepted_ = 0;
  std::mutex mutex_;  // guards what follows
  std::vector<int> open_;
  std::vector<std::thread> scripts_;
  std::thread acceptor_;
};

std::string http_text(std::string_view body, std::string_view status = "200 OK",
                      std::string_view headers = "");

}  // namespace holdfast::client
