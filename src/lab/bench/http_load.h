// HttpLoad: many connections to one server on this machine, from one thread that does nothing
// else, so that what is measured is the server. It understands what our server answers with a
// Content-Length, and nothing else.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "holdfast/result.h"

namespace holdfast {

struct HttpAnswer {
  int status = 0;
  std::string_view body;
};

class HttpLoad {
 public:
  using Done = std::function<void(const HttpAnswer& answer)>;

  // On loopback. io_error.
  static Result<std::unique_ptr<HttpLoad>> create(std::uint16_t port);
  ~HttpLoad();
  HttpLoad(const HttpLoad&) = delete;
  HttpLoad& operator=(const HttpLoad&) = delete;

  // A new connection; its number. unavailable.
  Result<std::size_t> connect();
  // One request of a connection at a time.
  void get(std::size_t connection, std::string_view path, Done done);
  void post(std::size_t connection, std::string_view path, std::string_view body, Done done);
  // Calls what is done as answers come, until `finished` says so. unavailable when a connection
  // broke, or nothing came for a minute.
  Result<void> run_until(const std::function<bool()>& finished);

 private:
  struct Connection {
    int fd = -1;
    std::string out;
    std::size_t sent = 0;
    std::string in;
    Done done;
  };

  HttpLoad(int epoll, std::uint16_t port) : epoll_(epoll), port_(port) {}
  void send(std::size_t connection, std::string request, Done done);
  Result<void> flush(Connection& connection);
  Result<void> take_in(std::size_t number);

  int epoll_;
  std::uint16_t port_;
  std::vector<Connection> connections_;
};

}  // namespace holdfast
