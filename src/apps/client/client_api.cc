#include "apps/client/client_api.h"

#include <condition_variable>
#include <mutex>

#include "apps/client/client_problem.h"

namespace holdfast::client {

using std::chrono::milliseconds;

bool pause_for(milliseconds time, const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any stopped;
  std::unique_lock lock(mutex);
  stopped.wait_for(lock, stop, time, [&] { return stop.stop_requested(); });
  return !stop.stop_requested();
}

Api::Api(std::unique_ptr<net::HttpClient> http, Random& random, milliseconds patience, Pause pause)
    : http_(std::move(http)), random_(random), patience_(patience), pause_(std::move(pause)) {}

Result<std::string> Api::try_once(const ApiCall& call, const std::stop_token& stop, Retry& retry) {
  net::HttpCall http;
  http.method = call.method;
  http.target = call.path;
  if (call.method != "GET") {
    http.body = call.body;
    http.content_type = "application/json";
  }
  http.repeatable = call.repeatable;
  http.timeout = call.timeout;
  net::HttpOutcome outcome = http_->send(http, stop);
  if (outcome.kind != net::HttpOutcome::Kind::answered) {
    const bool nothing_sent = outcome.kind == net::HttpOutcome::Kind::nothing_sent;
    retry.allowed = !outcome.stopped() && !outcome.permanent() && (nothing_sent || call.repeatable);
    retry.not_http = outcome.failure == net::HttpFailure::malformed;
    return error_without_response(outcome);
  }
  constexpr int kFirstRefusal = 300;
  if (outcome.status < kFirstRefusal) {
    // The trailing line break is for terminals; the JSON slicer does not accept it.
    outcome.body.erase(outcome.body.find_last_not_of(" \r\n") + 1);
    return std::move(outcome.body);
  }
  constexpr int kTooMany = 429;
  constexpr int kUnavailable = 503;
  retry.least = retry_after(outcome).value_or(milliseconds(0));
  Error error = error_of_response(outcome);
  retry.allowed = (outcome.status == kTooMany || outcome.status == kUnavailable) &&
                  (error.what_next() == WhatNext::retry || call.repeatable);
  return error;
}

Result<std::string> Api::call_once(const ApiCall& call, const std::stop_token& stop) {
  Retry retry;
  return try_once(call, stop, retry);
}

Result<std::string> Api::call(const ApiCall& call, const std::stop_token& stop) {
  milliseconds left = patience_;
  RetryPause backoff(random_);
  for (;;) {
    Retry retry;
    const auto begin = std::chrono::steady_clock::now();
    auto answer = try_once(call, stop, retry);
    if (answer.ok() || !retry.allowed) {
      return answer;
    }
    left -= std::chrono::ceil<milliseconds>(std::chrono::steady_clock::now() - begin);
    // Clients that were refused together must not return together.
    const milliseconds wait = retry.least + backoff.next();
    if (wait > left || !pause_(wait, stop)) {
      return answer;
    }
    left -= wait;
  }
}

Result<std::string> Api::call_when_available(const ApiCall& call, const std::stop_token& stop,
                                             const Waiting& waiting) {
  HOLDFAST_ASSERT(call.repeatable);
  constexpr milliseconds kReportEvery{30'000};
  milliseconds unreported = kReportEvery;
  RetryPause backoff(random_);
  for (;;) {
    Retry retry;
    const auto begin = std::chrono::steady_clock::now();
    auto answer = try_once(call, stop, retry);
    if (answer.ok() || retry.not_http || !may_return(answer.error()) || stop.stop_requested()) {
      return answer;
    }
    unreported += std::chrono::ceil<milliseconds>(std::chrono::steady_clock::now() - begin);
    if (unreported >= kReportEvery) {
      waiting(answer.error());
      unreported = milliseconds(0);
    }
    const milliseconds wait = retry.least + backoff.next();
    if (!pause_(wait, stop)) {
      return answer;
    }
    unreported += wait;
  }
}

}  // namespace holdfast::client
