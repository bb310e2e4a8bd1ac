// HttpLoad: many calls to one server at once, from one thread, with callbacks: for programs that
// put load on a server. Everything happens in run_until, on the thread that calls it.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/owned_fd.h"
#include "holdfast/result.h"
#include "net/http_client.h"

namespace holdfast::net {

class HttpTransfer;

class HttpLoad {
 public:
  using Done = std::function<void(const HttpOutcome& response)>;

  // Sends nothing. invalid_url, invalid_argument, io_error.
  static Result<std::unique_ptr<HttpLoad>> create(std::string_view url);
  ~HttpLoad();
  HttpLoad(const HttpLoad&) = delete;
  HttpLoad& operator=(const HttpLoad&) = delete;

  // One more caller with a connection of its own; returns its number.
  std::size_t add_caller();
  // A caller has one call at a time. `done` runs in run_until, only for a response; it may begin
  // the next call.
  void get(std::size_t caller, std::string_view path, Done done);
  void post(std::size_t caller, std::string_view path, std::string_view body, Done done);
  // Runs calls until `finished` returns true. unavailable if a call has no response, or if no
  // response arrives for a minute.
  Result<void> run_until(const std::function<bool()>& finished);

 private:
  struct Caller;
  struct Callbacks;

  HttpLoad(Url url, OwnedFd epoll);

  void begin(Caller& caller, const HttpCall& call, Done done);
  void act(int socket, int events);
  Result<void> finish_calls();

  Url url_;
  HttpOptions options_;
  OwnedFd epoll_;
  void* multi_;
  std::vector<std::unique_ptr<Caller>> callers_;
  std::chrono::steady_clock::time_point timer_ = std::chrono::steady_clock::time_point::max();
};

}  // namespace holdfast::net
