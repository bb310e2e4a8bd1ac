// WireLoad: connections to one service on loopback, each with one request at a time, all of them
// driven by one thread. Every service gets the same load from the same code; only the bytes of its
// protocol differ, so that the cost of a client library is not counted for or against it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/owned_fd.h"
#include "holdfast/result.h"

namespace holdfast {

// The bytes of a service's protocol.
class WireProtocol {
 public:
  virtual ~WireProtocol() = default;

  // What a client sends first; empty: nothing.
  [[nodiscard]] virtual std::string greeting(std::size_t client) const = 0;
  // The length of the answer to the greeting; 0: it is not complete. unavailable: refused.
  virtual Result<std::size_t> greeted(std::string_view received) const = 0;
  // A request; no two have the same number.
  virtual void write(std::size_t client, std::uint64_t number, std::string& out) const = 0;
  // The answer of a client, complete; for protocols whose next request depends on it.
  virtual Result<void> note(std::size_t /*client*/, std::string_view /*answer*/) { return {}; }
  // As greeted, for the answer to a request.
  virtual Result<std::size_t> answered(std::string_view received) const = 0;
};

struct WireSlice {
  double per_second = 0;
  std::vector<double> latencies_us = {};  // of each request
};

class WireLoad {
 public:
  // Connects all clients and greets. unavailable, io_error.
  static Result<std::unique_ptr<WireLoad>> connect(std::uint16_t port,
                                                   std::unique_ptr<WireProtocol> protocol,
                                                   std::size_t clients);
  // The same through a unix socket.
  static Result<std::unique_ptr<WireLoad>> connect(const std::string& socket,
                                                   std::unique_ptr<WireProtocol> protocol,
                                                   std::size_t clients);
  ~WireLoad();
  WireLoad(const WireLoad&) = delete;
  WireLoad& operator=(const WireLoad&) = delete;

  // Requests from all clients until that many were answered; first_number is that of the first
  // one. unavailable: a request was refused, or nothing was answered for a minute.
  Result<WireSlice> run(std::uint64_t requests, std::uint64_t first_number);

 private:
  struct Client;

  using Dial = std::function<Result<OwnedFd>()>;

  explicit WireLoad(std::unique_ptr<WireProtocol> protocol);
  static Result<std::unique_ptr<WireLoad>> connect_with(const Dial& dial,
                                                        std::unique_ptr<WireProtocol> protocol,
                                                        std::size_t clients);
  Result<void> wait_for_bytes(std::vector<Client*>& readable);

  std::unique_ptr<WireProtocol> protocol_;
  OwnedFd epoll_;
  std::vector<std::unique_ptr<Client>> clients_;
};

}  // namespace holdfast
