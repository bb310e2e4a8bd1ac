// An HTTP server for tests: one thread, loopback only, one connection at a time, one request per
// connection. It remembers what it was asked and answers with the bytes it was given.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "runs/steps/owned_fd.h"

namespace holdfast {

struct SeenRequest {
  std::string method;
  std::string target;                          // path and query, as they came
  std::map<std::string, std::string> headers;  // lower-case names
  std::string body;
};

class HttpTestServer {
 public:
  enum class Manner { answer, stay_silent, hang_up };

  // Binds 127.0.0.1 and a free port, and listens when this returns.
  explicit HttpTestServer(std::string answer, Manner manner = Manner::answer);
  ~HttpTestServer();
  HttpTestServer(const HttpTestServer&) = delete;
  HttpTestServer& operator=(const HttpTestServer&) = delete;

  [[nodiscard]] std::string authority() const;
  [[nodiscard]] std::string url(std::string_view path) const;
  // The first request, as soon as it came; empty after ten seconds.
  std::optional<SeenRequest> wait_for_request();
  // True once a client closed its connection without an answer; false after ten seconds.
  bool wait_for_hang_up();
  [[nodiscard]] std::size_t requests();
  [[nodiscard]] std::vector<SeenRequest> seen();

 private:
  void serve();
  void serve_one(const OwnedFd& connection);
  bool read_request(const OwnedFd& connection);
  void send_answer(const OwnedFd& connection);
  // False when the server is to end.
  [[nodiscard]] bool wait_until(const OwnedFd& fd, short events) const;

  const std::string answer_;
  const Manner manner_;
  OwnedFd quit_;
  OwnedFd listener_;
  std::uint16_t port_ = 0;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<SeenRequest> seen_;
  bool hung_up_ = false;
  std::thread thread_;
};

// "HTTP/1.1 200 OK", the header lines, a content-length and the body.
std::string http_answer(std::string_view status, const std::vector<std::string>& header_lines,
                        std::string_view body);

}  // namespace holdfast
