// HttpServer: HTTP/1.1 on TCP, TLS and unix sockets. A few threads serve all connections; none of
// them ever waits for a peer, a disk or a handler. The server itself answers requests that are
// malformed, too large or too slow (RFC 9457) and closes the connection; the handler never sees
// them.
//
// A connection handles one request at a time; pipelined requests wait in the socket. A handler may
// turn a connection into a WebSocket.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "holdfast/result.h"
#include "net/http.h"
#include "net/web_socket.h"

namespace holdfast::net {

// A response sent in pieces (server-sent events).
class Stream {
 public:
  Stream() = default;
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  // As finish().
  virtual ~Stream() = default;

  // Any thread. A thread of the server calls `sent` once: with true when the system has accepted
  // the piece, with false if the connection has ended. One piece at a time: write the next after
  // `sent` was called. `sent` must not block.
  virtual void write(std::string piece, std::function<void(bool alive)> sent) = 0;
  // Ends the response.
  virtual void finish() = 0;
};

// One request and the means to answer it. A handler may keep it and answer later, from any thread.
// If it is destroyed without an answer, the peer receives a 500.
class Exchange {
 public:
  Exchange() = default;
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;
  virtual ~Exchange() = default;

  [[nodiscard]] virtual const Request& request() const = 0;
  // Call exactly one of these, once.
  virtual void reply(Response response) = 0;
  virtual std::shared_ptr<Stream> stream(Response head) = 0;
  // The connection becomes a WebSocket. The request must have passed check_ws_request(). The
  // handler is kept until its on_closed() was called.
  virtual std::shared_ptr<WebSocket> upgrade(std::shared_ptr<WebSocketHandler> handler) = 0;
  // A thread of the server calls `gone` once if the peer disconnects before the response, or before
  // the stream is finished, or if the response is too late (Limits::answer). It must not block. Set
  // it once; it is called immediately if the peer is gone already. A peer that only closed its
  // sending side counts as gone; it still receives the response.
  virtual void when_gone(std::function<void()> gone) = 0;
  // The subject of the request, with which the peer can query the outcome: a member of the problem
  // that it receives if the response is too late or missing.
  virtual void identify(std::string_view name, std::string_view value) = 0;
};
using ExchangePtr = std::shared_ptr<Exchange>;

struct Reply {
  ExchangePtr exchange;
  Response response;
};
// Exchange::reply for each. A thread of the server is woken once for all of its connections, not
// for each of them.
void reply_all(std::vector<Reply> replies);

struct Limits {
  std::size_t header_bytes = 16U << 10U;      // request line and headers: 431
  std::size_t body_bytes = 8U << 20U;         // 413
  std::size_t connections = 16'384;           // 503, then closed
  std::chrono::milliseconds idle{75'000};     // between requests; then the connection is closed
  std::chrono::milliseconds receive{15'000};  // from the first byte of a request to its last: 408
  std::chrono::milliseconds send{30'000};     // without progress in sending; then it is closed
  // From the last byte of a request to its response: 503, in doubt unless the method is GET or
  // HEAD. Does not apply to streams.
  std::chrono::milliseconds answer{120'000};
  WebSocketLimits web_socket = {};
};

struct Options {
  // HOST:PORT, [::1]:PORT, or unix:PATH. Port 0: any free port. A socket file without a listening
  // process is replaced; the file is accessible to its owner only (0600) and removed at the end.
  std::vector<std::string> listen = {};
  std::string tls_certificate = {};  // PEM files, for TCP addresses; both or neither
  std::string tls_key = {};
  std::size_t threads = 1;
  Limits limits = {};
};

struct Counters {
  std::uint64_t accepted = 0;  // connections
  std::uint64_t refused = 0;   // over the limit
  std::uint64_t open = 0;
  std::uint64_t requests = 0;   // that reached the handler
  std::uint64_t malformed = 0;  // that did not: malformed, too large or too slow
};

// invalid_argument if it is not an address to listen on.
Result<void> check_address(const std::string& address);

// Called from threads of the server; must not block.
using Handler = std::function<void(ExchangePtr exchange)>;

class HttpServer {
 public:
  // invalid_argument (an address, a certificate), not_found (a certificate), permission_denied,
  // already_exists (the address is in use), io_error. Error fields: address; or file and part
  // (certificate or key).
  static Result<std::unique_ptr<HttpServer>> start(const Options& options, Handler handler);
  HttpServer() = default;
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;
  // As stop().
  virtual ~HttpServer() = default;

  // The addresses it listens on, with the actual ports: http://127.0.0.1:8080, https://…,
  // unix:/path
  [[nodiscard]] virtual std::vector<std::string> urls() const = 0;
  [[nodiscard]] virtual Counters counters() const = 0;

  // Accepts no new connections and requests; connections close after their pending response.
  // Returns true if all have closed within the time. The writers of streams must finish them.
  virtual bool drain(std::chrono::milliseconds grace) = 0;
  // Closes everything and joins the threads; must not be called from one of them. Pending exchanges
  // are notified that the peer is gone, and pending pieces that they were not sent. No callback
  // follows afterwards, not even for a piece that is written then.
  virtual void stop() = 0;
};

}  // namespace holdfast::net
