// HttpClient: calls to one HTTP server over TCP, TLS or a unix socket, on libcurl.
//
// A call blocks its thread and no other. Connections are kept and shared by all threads. Redirects
// are not followed; proxies, netrc files and cookies are not used.
//
// Every response is an answer, whatever its status. Without a response the outcome reports whether
// the server can have processed the request: the request was not sent completely, or it may have
// been processed. A request that may have been processed is sent a second time only if the call is
// repeatable, and only if the connection had been idle and broke before a response began.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "holdfast/result.h"
#include "net/url.h"

namespace holdfast::net {

class HttpTransfer;

struct HttpCall {
  std::string_view method = "GET";
  std::string_view target = "/";  // path and query, percent-encoded
  std::optional<std::string_view> body = {};
  std::string_view content_type = {};  // of the body; empty: none
  std::vector<std::pair<std::string_view, std::string_view>> headers = {};
  bool repeatable = false;  // processing the request twice has the effect of processing it once
  std::chrono::milliseconds timeout{30'000};  // from the connection to the end of the response
};

// Why a call has no response.
enum class HttpFailure : std::uint8_t {
  none,
  stopped,      // by the stop token
  timed_out,    // waiting for the connection or the response
  unreachable,  // no connection
  untrusted,    // the certificate of the server is not accepted; the same call fails again
  interrupted,  // the connection broke
  malformed,    // the response is not HTTP, or not as HttpOptions requires
  too_large,    // the response exceeds the limits
  ended,        // by the receiver of a stream
  rejected,     // libcurl does not accept the request
};

struct HttpOutcome {
  enum class Kind : std::uint8_t { answered, nothing_sent, maybe_done };

  Kind kind = Kind::nothing_sent;
  HttpFailure failure = HttpFailure::none;
  int status = 0;
  std::vector<std::pair<std::string, std::string>> headers = {};  // names in lower case
  std::string body = {};         // its first HttpLimits::kept_bytes
  std::uint64_t body_bytes = 0;  // of the whole body
  std::string reason = {};       // why there is no response; names the server
  std::string_view cause = {};   // the same as a fixed text, which shows nothing of the request

  // The first of that name, in lower case; empty if there is none.
  [[nodiscard]] std::string_view header(std::string_view name) const;
  [[nodiscard]] bool stopped() const { return failure == HttpFailure::stopped; }
  [[nodiscard]] bool permanent() const { return failure == HttpFailure::untrusted; }
};

// Of one response.
struct HttpLimits {
  std::size_t head_bytes = 64U << 10U;  // status line and headers together
  std::size_t body_bytes = 64U << 20U;  // not of streams
  std::size_t kept_bytes = SIZE_MAX;    // of the body
};

struct HttpOptions {
  std::string token = {};        // for the header Authorization: Bearer
  std::string tls_ca_file = {};  // PEM; empty: the authorities of the system
  std::string user_agent = "holdfast";
  std::chrono::milliseconds connect_timeout{5'000};
  std::chrono::milliseconds idle{60'000};  // an idle connection is not reused after that
  std::size_t max_idle = 16;               // connections kept; 0: one connection per call
  // Responses must declare their length and must not be compressed, as those of holdfast servers.
  bool strict = true;
  HttpLimits limits = {};
};

// One event of a stream of server-sent events.
struct ServerEvent {
  std::string id = {};  // the last id that the stream has set
  std::string event = "message";
  std::string data = {};
};

class HttpClient {
 public:
  // Sends nothing. invalid_url, invalid_argument.
  static Result<std::unique_ptr<HttpClient>> create(std::string_view url,
                                                    const HttpOptions& options);
  static Result<std::unique_ptr<HttpClient>> create(Url url, const HttpOptions& options);
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  // Any thread. Returns soon after stop is requested.
  HttpOutcome send(const HttpCall& call, const std::stop_token& stop = {});

  // A stream of server-sent events. Returns when the stream ends, breaks, is silent for `silence`,
  // is stopped, or when `receive` returns false: then it is answered, without a reason. A response
  // that is not an event stream is returned with its body.
  HttpOutcome events(const HttpCall& call, std::chrono::milliseconds silence,
                     const std::function<bool(const ServerEvent&)>& receive,
                     const std::stop_token& stop);

  // A body of any size: `sink` receives the pieces of a response with status 200, and ends the
  // download by returning false. Other responses are returned with their body. `silence` limits the
  // time between two pieces.
  HttpOutcome download(const HttpCall& call, std::chrono::milliseconds silence,
                       const std::function<bool(std::string_view)>& sink,
                       const std::stop_token& stop = {});

 private:
  struct Stream;
  struct Idle {
    std::unique_ptr<HttpTransfer> transfer;
    std::chrono::steady_clock::time_point since;
  };

  HttpClient(Url url, HttpOptions options);

  HttpOutcome run(const HttpCall& call, const Stream* stream, const std::stop_token& stop);
  std::unique_ptr<HttpTransfer> take_idle();
  void give_back(std::unique_ptr<HttpTransfer> transfer);

  Url url_;
  HttpOptions options_;
  std::mutex mutex_;        // guards what follows
  std::vector<Idle> idle_;  // the one used last is the last
};

}  // namespace holdfast::net
