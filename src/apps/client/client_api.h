// Api: calls of the HTTP API (docs/http-api.md) with our own errors, repeated while that can help.
//
// Repeated are calls of which nothing was sent (the server is being restarted) and calls that were
// refused for now (429, 503) when the answer says that nothing was done; calls that may have been
// carried out only when they are safe to repeat. In between it waits a random time, longer from one
// to the next, and no less than the server asks for.
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

// False when it was stopped before the time was over.
bool pause_for(std::chrono::milliseconds time, const std::stop_token& stop);
using Pause = std::function<bool(std::chrono::milliseconds, const std::stop_token&)>;

struct ApiCall {
  std::string_view method = "GET";
  std::string path = {};  // with its query
  std::string body = {};  // JSON; empty: none
  // Doing it twice is the same as doing it once.
  bool repeatable = true;
  std::chrono::milliseconds timeout{30'000};  // of one try
};

class Api {
 public:
  // `patience`: how long calls are repeated. Both of them outlive this.
  Api(std::unique_ptr<net::HttpClient> http, Random& random, std::chrono::milliseconds patience,
      Pause pause = pause_for);

  // The body of the answer, JSON.
  Result<std::string> call(const ApiCall& call, const std::stop_token& stop = {});
  // Without repeating.
  Result<std::string> call_once(const ApiCall& call, const std::stop_token& stop);
  // Whether the same call may work later, or may have been carried out.
  static bool is_passing(const Error& error) {
    return error.what_next() == WhatNext::retry || error.what_next() == WhatNext::in_doubt;
  }

  net::HttpClient& http() { return *http_; }
  Random& random() { return random_; }

 private:
  Result<std::string> try_once(const ApiCall& call, const std::stop_token& stop, bool& again,
                               std::chrono::milliseconds& least);

  std::unique_ptr<net::HttpClient> http_;
  Random& random_;
  std::chrono::milliseconds patience_;
  Pause pause_;
};

// Members of a query: "?a=1&b=2", encoded; empty ones are left out.
class Query {
 public:
  Query& add(std::string_view name, std::string_view value);
  Query& add(std::string_view name, std::uint64_t value) {
    return add(name, std::to_string(value));
  }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::string text_;
};

}  // namespace holdfast::client
