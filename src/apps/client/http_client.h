// HttpClient: one server over HTTP/1.1. A call blocks its thread and no other; connections are kept
// and shared by all threads. There are no redirects and no proxies.
//
// An answer is an answer, whatever its status. Without one it is said whether the request can have
// been carried out: nothing of it was sent, or it may have been.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "apps/client/client_connection.h"
#include "apps/client/event_reader.h"
#include "apps/client/response_reader.h"
#include "apps/client/server_url.h"
#include "holdfast/result.h"

namespace holdfast::client {

struct HttpCall {
  std::string_view method = "GET";
  std::string_view target = "/";  // path and query, encoded
  std::string_view body = {};
  std::string_view content_type = {};  // empty: there is no body
  std::vector<std::pair<std::string_view, std::string_view>> headers = {};
  // It may be sent again although it may have been carried out.
  bool repeatable = false;
  std::chrono::milliseconds timeout{30'000};  // from the connection to the end of the answer
};

struct HttpOutcome {
  enum class Kind : std::uint8_t { answered, nothing_sent, maybe_done };

  Kind kind = Kind::nothing_sent;
  int status = 0;
  ResponseReader::Headers headers = {};  // names in lower case
  std::string body = {};
  std::string reason = {};  // why there is no answer
  bool stopped = false;     // because somebody stopped it
  bool permanent = false;   // the same will not work later: the server is not who it should be

  // The first of that name; empty when there is none.
  [[nodiscard]] std::string_view header(std::string_view name) const;
};

struct HttpOptions {
  std::string token = {};        // of the header Authorization
  std::string tls_ca_file = {};  // empty: the system's authorities
  std::string user_agent = "holdfast";
  std::chrono::milliseconds connect_timeout{5'000};
  std::chrono::milliseconds idle{60'000};  // an idle connection is not used again after that
  ResponseLimits limits = {};
};

class HttpClient {
 public:
  // Nothing is sent. invalid_url, invalid_argument.
  static Result<std::unique_ptr<HttpClient>> create(std::string_view url,
                                                    const HttpOptions& options);

  // Any thread. Returns soon after stop is requested.
  HttpOutcome send(const HttpCall& call, const std::stop_token& stop = {});

  // A stream of server-sent events. Returns when it ends, breaks, is silent for `silence`, is
  // stopped, or when `seen` returns false: then it is answered, without a reason. An answer that is
  // no stream is an answer with its body.
  HttpOutcome events(const HttpCall& call, std::chrono::milliseconds silence,
                     const std::function<bool(const ServerEvent&)>& seen,
                     const std::stop_token& stop);

  [[nodiscard]] const ServerUrl& url() const { return url_; }

 private:
  struct Idle {
    std::unique_ptr<Connection> connection;
    Instant since;
  };

  HttpClient(ServerUrl url, HttpOptions options, std::unique_ptr<TlsSettings> tls);

  [[nodiscard]] std::string request_text(const HttpCall& call) const;
  std::unique_ptr<Connection> take_idle();
  void give_back(std::unique_ptr<Connection> connection);
  std::unique_ptr<Connection> open(HttpOutcome& outcome, const Limits& limits);
  // True when the outcome is final; false: the connection was over before anything came.
  bool exchange(Connection& connection, std::string_view request, ResponseReader& reader,
                HttpOutcome& outcome, const Limits& limits) const;
  HttpOutcome follow(Connection& connection, const HttpCall& call,
                     std::chrono::milliseconds silence,
                     const std::function<bool(const ServerEvent&)>& seen, const StopSignal& signal);

  ServerUrl url_;
  HttpOptions options_;
  std::unique_ptr<TlsSettings> tls_;  // of https
  std::mutex mutex_;                  // guards what follows
  std::vector<Idle> idle_;            // the one used last is the last
};

}  // namespace holdfast::client
