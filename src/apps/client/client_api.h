// Api: calls of the HTTP API (docs/http-api.md), with retries and typed errors.
//
// It repeats calls that were not sent (the server is restarting) and calls that the server refused
// temporarily (429, 503) if the response states that nothing was done. It repeats calls that may
// have been processed only if they are repeatable. Between two tries it waits a random, increasing
// time, at least as long as the server requests.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>

#include "base/json_value.h"
#include "base/random.h"
#include "base/retry_pause.h"
#include "net/http_client.h"

namespace holdfast::client {

// False if it was stopped before the end of the time.
bool pause_for(std::chrono::milliseconds time, const std::stop_token& stop);
using Pause = std::function<bool(std::chrono::milliseconds, const std::stop_token&)>;

struct ApiCall {
  std::string_view method = "GET";
  std::string path = {};  // with its query
  std::string body = {};  // JSON; empty: none
  // Processing the call twice has the effect of processing it once.
  bool repeatable = true;
  std::chrono::milliseconds timeout{30'000};  // of one try
};

class Api {
 public:
  // `patience`: how long calls are repeated. `random` must outlive this object.
  Api(std::unique_ptr<net::HttpClient> http, Random& random, std::chrono::milliseconds patience,
      Pause pause = pause_for);

  // Returns the body of the response, JSON.
  Result<std::string> call(const ApiCall& call, const std::stop_token& stop = {});
  // For callers that have nothing to do without the server: repeats a repeatable call until there
  // is a response that is not temporary, or until stop is requested. `waiting` receives the reason
  // when the wait begins, and again every 30 seconds. A peer that does not speak the protocol ends
  // the wait at once.
  using Waiting = std::function<void(const Error&)>;
  Result<std::string> call_when_available(const ApiCall& call, const std::stop_token& stop,
                                          const Waiting& waiting);
  // Without retries.
  Result<std::string> call_once(const ApiCall& call, const std::stop_token& stop);
  // Whether the same call may succeed later, or may have been processed.
  static bool is_temporary(const Error& error) {
    return error.what_next() == WhatNext::retry || error.what_next() == WhatNext::in_doubt;
  }
  // Whether a server may return after this error: it is temporary, or the server is restarting.
  static bool may_return(const Error& error) {
    return is_temporary(error) || error.code() == ErrorCode::engine_stopped ||
           error.code() == ErrorCode::log_stopped;
  }

  net::HttpClient& http() { return *http_; }
  Random& random() { return random_; }

 private:
  struct Retry {
    bool allowed = false;                // the same call may succeed, and does no harm
    std::chrono::milliseconds least{0};  // as long as the server requests
    bool not_http = false;               // the peer does not speak HTTP, or not with TLS
  };
  Result<std::string> try_once(const ApiCall& call, const std::stop_token& stop, Retry& retry);

  std::unique_ptr<net::HttpClient> http_;
  Random& random_;
  std::chrono::milliseconds patience_;
  Pause pause_;
};

}  // namespace holdfast::client
