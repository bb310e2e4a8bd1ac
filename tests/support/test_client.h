// A client for tests of the server: real sockets, everything with a deadline. And a server to call.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/owned_fd.h"
#include "net/http_server.h"

namespace holdfast::net {

inline constexpr std::chrono::seconds kPatience{20};

struct Answer {
  int status = 0;  // 0: no response
  std::vector<Header> headers = {};
  std::string body = {};
  bool complete = false;

  [[nodiscard]] std::string header(std::string_view name) const;
};

class TestClient {
 public:
  // An address as from HttpServer::urls(): http://… or unix:…
  enum class Connect : std::uint8_t { now, later };
  explicit TestClient(const std::string& url, int receive_buffer_bytes = 0,
                      Connect when = Connect::now);
  void connect();

  [[nodiscard]] bool connected() const { return connected_; }
  [[nodiscard]] int fd() const { return socket_.get(); }
  // Sends everything; false if the peer does not accept it.
  bool send(std::string_view bytes) const;
  // Reads one response; a response to HEAD has no body.
  Answer receive(std::string_view method = "GET");
  Answer call(std::string_view request, std::string_view method = "GET");
  // Reads at least one more byte; false at the end or after the deadline.
  bool read_some();
  // Bytes that were read and not used yet.
  [[nodiscard]] const std::string& unread() const { return unread_; }
  bool read_until(std::string_view mark);
  // True if the peer ends the connection; earlier bytes stay in unread().
  bool ends();
  void finish_sending() const;
  void close() { socket_.close(); }
  // Closes with a reset.
  void reset();

 private:
  bool read_body(Answer& answer);
  bool take_exactly(std::size_t bytes, std::string& into);

  std::string url_;
  OwnedFd socket_;
  bool connected_ = false;
  bool ended_ = false;
  std::string unread_;
};

// Waits until the condition is true; false after the deadline.
bool eventually(const std::function<bool()>& condition);

std::string get(std::string_view path);

// Exchanges that the test answers.
class Held {
 public:
  void put(ExchangePtr exchange);
  // Waits for the next one; nullptr after the deadline.
  ExchangePtr take();

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<ExchangePtr> exchanges_;
};

struct TestServer {
  // Listens on a free port of 127.0.0.1 by default.
  explicit TestServer(Handler handler, Options options = {});
  // Echoes method, path, query and body, one per line.
  TestServer();

  [[nodiscard]] std::string url() const { return server->urls().at(0); }
  [[nodiscard]] TestClient client(int receive_buffer_bytes = 0) const {
    return TestClient(url(), receive_buffer_bytes);
  }

  std::unique_ptr<HttpServer> server;
};

Handler echo();
Handler hold_in(Held& held);
Response text(std::string body);

}  // namespace holdfast::net
