// HttpServer: HTTP/1.1 on TCP, TLS and unix sockets. A few threads serve all connections; none of
// them ever waits for a peer, a disk or a handler. What is malformed, too large or too slow is
// answered (RFC 9457) and closed by the server itself; nothing of it reaches the handler.
//
// One request of a connection is answered at a time; requests that were sent ahead wait in the
// socket.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "holdfast/result.h"
#include "net/http.h"

namespace holdfast::net {

// An answer that comes in pieces, as long as there are some (server-sent events).
class Stream {
 public:
  Stream() = default;
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  // As finish().
  virtual ~Stream() = default;

  // Any thread. `sent` is called once, from a thread of the server, when the piece has been handed
  // to the system: true; or the connection is over: false. One piece at a time: write the next
  // when it was called. It must not block.
  virtual void write(std::string piece, std::function<void(bool alive)> sent) = 0;
  // The end of the answer.
  virtual void finish() = 0;
};

// One request and the way to answer it. May be kept and answered later, from any thread. When it is
// destroyed unanswered the peer gets a 500.
class Exchange {
 public:
  Exchange() = default;
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;
  virtual ~Exchange() = default;

  [[nodiscard]] virtual const Request& request() const = 0;
  // Once, either of them.
  virtual void reply(Response response) = 0;
  virtual std::shared_ptr<Stream> stream(Response head) = 0;
  // Called once, from a thread of the server, if the peer goes away before the answer was given,
  // or before the stream was finished, or if the answer is too late (Limits::answer). Must not
  // block. Set it once; at once when it is gone. A peer that only stopped sending looks as if it
  // were gone; it still gets the answer that is given.
  virtual void when_gone(std::function<void()> gone) = 0;
  // What the request was about, by which the peer can find out what became of it: a member of the
  // problem that it gets when the answer is too late or never comes.
  virtual void identify(std::string_view name, std::string_view value) = 0;
};
using ExchangePtr = std::shared_ptr<Exchange>;

struct Limits {
  std::size_t header_bytes = 16U << 10U;      // request line and headers: 431
  std::size_t body_bytes = 8U << 20U;         // 413
  std::size_t connections = 16'384;           // 503, then closed
  std::chrono::milliseconds idle{75'000};     // between requests: closed
  std::chrono::milliseconds receive{15'000};  // from the first byte of a request to its last: 408
  std::chrono::milliseconds send{30'000};     // no progress in sending: closed
  // From the last byte of a request to its answer: 503, in doubt unless the method is GET or HEAD.
  // Streams are not cut.
  std::chrono::milliseconds answer{120'000};
};

struct Options {
  // HOST:PORT, [::1]:PORT, or unix:PATH. Port 0: any free one. A socket file that nobody listens at
  // is replaced; it is made for its owner only (0600) and removed at the end.
  std::vector<std::string> listen = {};
  std::string tls_certificate = {};  // PEM files, for TCP addresses; both or neither
  std::string tls_key = {};
  std::size_t threads = 1;
  Limits limits = {};
};

struct Counters {
  std::uint64_t accepted = 0;  // connections
  std::uint64_t refused = 0;   // too many
  std::uint64_t open = 0;
  std::uint64_t requests = 0;   // that reached the handler
  std::uint64_t malformed = 0;  // that did not: malformed, too large, too slow
};

// invalid_argument when it has not the form of an address to listen at.
Result<void> check_address(const std::string& address);

// Called from threads of the server; must not block.
using Handler = std::function<void(ExchangePtr exchange)>;

class HttpServer {
 public:
  // invalid_argument (an address, a certificate), not_found (a certificate), permission_denied,
  // already_exists (the address is in use), io_error. The fields say what it is about: address; or
  // file and part, certificate or key.
  static Result<std::unique_ptr<HttpServer>> start(const Options& options, Handler handler);
  HttpServer() = default;
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;
  // As stop().
  virtual ~HttpServer() = default;

  // Where it listens, with the real ports: http://127.0.0.1:8080, https://…, unix:/path
  [[nodiscard]] virtual std::vector<std::string> urls() const = 0;
  [[nodiscard]] virtual Counters counters() const = 0;

  // No new connections and no new requests; connections close after the answer they owe. True when
  // all have, before the time was over. Streams must be finished by whoever writes them.
  virtual bool drain(std::chrono::milliseconds grace) = 0;
  // Closes everything and joins the threads; not from one of them. Who has an answer to give is
  // told that the peer is gone, pieces under way that they were not sent. No callback comes
  // afterwards, not even for a piece that is written then.
  virtual void stop() = 0;
};

}  // namespace holdfast::net
