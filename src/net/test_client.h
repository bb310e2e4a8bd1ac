// A client of the tests: real sockets, everything with a deadline. And a server for it to talk to.
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
  int status = 0;  // 0: none came
  std::vector<Header> headers = {};
  std::string body = {};
  bool complete = false;

  [[nodiscard]] std::string header(std::string_view name) const;
};

class TestClient {
 public:
  // An address as of HttpServer::urls(): http://… or unix:…
  enum class Connect : std::uint8_t { now, later };
  explicit TestClient(const std::string& url, int receive_buffer_bytes = 0,
                      Connect when = Connect::now);
  void connect();

  [[nodiscard]] bool connected() const { return connected_; }
  [[nodiscard]] int fd() const { return socket_.get(); }
  // Everything, or false when the peer does not take it.
  bool send(std::string_view bytes) const;
  // Reads one answer; to HEAD there is no body.
  Answer receive(std::string_view method = "GET");
  Answer call(std::string_view request, std::string_view method = "GET");
  // At least one more byte; false at the end or when nothing comes.
  bool read_some();
  // What came and was not used yet.
  [[nodiscard]] const std::string& unread() const { return unread_; }
  bool read_until(std::string_view mark);
  // True when the peer ends the connection; what comes before stays in unread().
  bool ends();
  void finish_sending() const;
  void close() { socket_.close(); }
  // Not a polite end: the peer gets a reset.
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

// Waits until it is true; false when it never is.
bool eventually(const std::function<bool()>& condition);

std::string get(std::string_view path);

// Exchanges that the handler leaves to the test.
class Held {
 public:
  void put(ExchangePtr exchange);
  // Waits for the next one; nullptr when none comes.
  ExchangePtr take();

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<ExchangePtr> exchanges_;
};

struct TestServer {
  // Listens at a free port of 127.0.0.1 if nothing is said.
  explicit TestServer(Handler handler, Options options = {});
  // Echoes: method, path, query and body, each in a line.
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
