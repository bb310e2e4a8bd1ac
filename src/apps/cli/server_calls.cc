#include "apps/cli/server_calls.h"

#include <fmt/format.h>

#include "apps/client/client_problem.h"

namespace holdfast::cli {

using net::HttpOutcome;
using std::chrono::milliseconds;

namespace {

constexpr int kFirstRefusal = 300;
constexpr int kUnauthorized = 401;
constexpr milliseconds kSilence{60'000};  // a live server sends data more often

std::string_view accepted(Form form) {
  return form == Form::json ? "application/json" : "text/plain";
}

}  // namespace

Result<std::unique_ptr<ServerCalls>> ServerCalls::open(const NamedServer& server) {
  net::HttpOptions options;
  options.token = server.token;
  options.tls_ca_file = server.tls_ca;
  options.user_agent = "holdfast/" HOLDFAST_VERSION;
  HOLDFAST_TRY(auto http, net::HttpClient::create(server.url, options));
  return std::unique_ptr<ServerCalls>(new ServerCalls(server, std::move(http)));
}

Error ServerCalls::refused(const HttpOutcome& answer) const {
  Error error = client::error_of_response(answer);
  if (answer.status != kUnauthorized) {
    return error;
  }
  return advised(error, server_.token.empty()
                            ? "give a token in HOLDFAST_TOKEN or with --token-file FILE; "
                              "`holdfast token create` creates one"
                            : "the token is unknown to the server, revoked or expired");
}

Error ServerCalls::unanswered(const HttpOutcome& outcome) const {
  const Error error = client::error_without_response(outcome);
  switch (error.what_next()) {
    case WhatNext::in_doubt:
      return advised(error, "the request may have taken effect: check before repeating it");
    case WhatNext::permanent:
      return error;
    case WhatNext::retry:
    case WhatNext::refresh:
      break;
  }
  return advised(error,
                 "`holdfast server` starts one, or name another with --server or HOLDFAST_SERVER");
}

Result<HttpOutcome> ServerCalls::send(const Call& call, const std::stop_token& stop) {
  net::HttpCall http;
  http.method = call.method;
  http.target = call.path;
  if (call.method == "POST") {
    http.body = call.body;
    http.content_type = "application/json";
  }
  http.repeatable = call.repeatable || call.method == "GET";
  http.timeout = call.timeout;
  http.headers.emplace_back("Accept", accepted(call.form));
  // HTTP strips spaces around values; the server adds the leading one again.
  const std::string_view suffix = server_.suffix;
  if (call.form == Form::text && !suffix.empty()) {
    http.headers.emplace_back("Holdfast-Command-Suffix", suffix.substr(1));
  }
  HttpOutcome outcome = http_->send(http, stop);
  if (outcome.kind != HttpOutcome::Kind::answered) {
    return unanswered(outcome);
  }
  if (outcome.status >= kFirstRefusal) {
    return refused(outcome);
  }
  return outcome;
}

Result<std::string> ServerCalls::get(std::string_view path) {
  Call call;
  call.path = path;
  HOLDFAST_TRY(HttpOutcome answer, send(call));
  return std::move(answer.body);
}

Result<ServerCalls::StreamEnd> ServerCalls::follow(
    const Stream& stream, const std::function<bool(const net::ServerEvent&)>& seen,
    const std::stop_token& stop) {
  net::HttpCall http;
  http.target = stream.path;
  http.headers.emplace_back("Accept", "text/event-stream");
  if (!stream.after.empty()) {
    http.headers.emplace_back("Last-Event-ID", stream.after);
  }
  const HttpOutcome outcome = http_->events(http, stream.silence, seen, stop);
  const bool answered = outcome.kind == HttpOutcome::Kind::answered;
  if (answered && outcome.status >= kFirstRefusal) {
    const Error error = refused(outcome);
    return error.what_next() == WhatNext::retry ? Result<StreamEnd>(StreamEnd::broken)
                                                : Result<StreamEnd>(error);
  }
  if (answered || outcome.stopped()) {
    return StreamEnd::stopped;
  }
  if (outcome.permanent()) {
    return unanswered(outcome);
  }
  return outcome.status != 0 ? StreamEnd::quiet : StreamEnd::broken;
}

Result<void> ServerCalls::download(std::string_view path, std::ostream& out,
                                   const Progress& progress) {
  std::uint64_t bytes = 0;
  const auto sink = [&](std::string_view piece) {
    out.write(piece.data(), static_cast<std::streamsize>(piece.size()));
    bytes += piece.size();
    if (progress) {
      progress(ProgressPoint{bytes, 0});
    }
    return static_cast<bool>(out);
  };
  net::HttpCall http;
  http.target = path;
  const HttpOutcome outcome = http_->download(http, kSilence, sink);
  if (outcome.kind != HttpOutcome::Kind::answered) {
    return unanswered(outcome);
  }
  return outcome.status >= kFirstRefusal ? Result<void>(refused(outcome)) : Result<void>();
}

}  // namespace holdfast::cli
