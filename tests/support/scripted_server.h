// Servers for tests, on loopback or a unix socket. ScriptedServer gives each connection to a
// script, which reads requests and writes any bytes. RecordingServer answers every request with the
// same bytes and records the requests.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/owned_fd.h"

namespace holdfast::net {

struct SeenRequest {
  std::string head = {};  // with its last empty line
  std::string method = {};
  std::string target = {};                          // path and query, as they were sent
  std::map<std::string, std::string> headers = {};  // names in lower case
  std::string body = {};

  [[nodiscard]] bool has_line(std::string_view line) const;
};

// One connection, for its script.
class ScriptedPeer {
 public:
  // How bytes are moved; 0 or less is the end.
  struct Bytes {
    std::function<long(char*, std::size_t)> read;
    std::function<long(const char*, std::size_t)> write;
  };

  ScriptedPeer(int socket, std::size_t number, Bytes bytes)
      : socket_(socket), number_(number), bytes_(std::move(bytes)) {}

  // From 0.
  [[nodiscard]] std::size_t number() const { return number_; }
  // The next request; empty when the client has closed the connection, or the server ends.
  std::optional<SeenRequest> read();
  // False when the client has closed the connection.
  bool write(std::string_view bytes);
  bool answer(std::string_view body, std::string_view status = "200 OK",
              std::string_view headers = "");
  // Until the client has closed its side.
  void wait_for_end();
  // The client has closed its side already.
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
  // Creates what moves the bytes of a socket: TLS, for example. Empty functions close it.
  using Wrap = std::function<ScriptedPeer::Bytes(int socket)>;

  // unix_path empty: 127.0.0.1 and the port; 0: any port. Listens when this returns.
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

class RecordingServer {
 public:
  enum class Manner { answer, stay_silent, hang_up };

  explicit RecordingServer(std::string answer, Manner manner = Manner::answer);

  [[nodiscard]] std::string authority() const;
  [[nodiscard]] std::string url(std::string_view path) const;
  // The first request, as soon as it has arrived; empty after ten seconds.
  std::optional<SeenRequest> wait_for_request();
  // True once a client has closed its connection without an answer; false after ten seconds.
  bool wait_for_hang_up();
  [[nodiscard]] std::size_t requests();
  [[nodiscard]] std::vector<SeenRequest> seen();

 private:
  void serve(ScriptedPeer& peer);

  const std::string answer_;
  const Manner manner_;
  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::vector<SeenRequest> seen_;
  bool hung_up_ = false;
  ScriptedServer server_;  // last: its threads use the others
};

// A response with its Content-Length. `headers`: lines, each with its line break.
std::string http_text(std::string_view body, std::string_view status = "200 OK",
                      std::string_view headers = "");
// The same from lines without line breaks.
std::string http_answer(std::string_view status, const std::vector<std::string>& header_lines,
                        std::string_view body);

}  // namespace holdfast::net
