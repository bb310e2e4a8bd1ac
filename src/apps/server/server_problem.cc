#include "apps/server/server_problem.h"

#include <array>

#include "base/json_value.h"

namespace holdfast {

namespace {

// Fields whose text is JSON itself.
bool is_json_field(std::string_view name) { return name == "faults" || name == "errors"; }

bool is_own_member(std::string_view name) {
  static constexpr std::array<std::string_view, 8> kOwn{
      "type", "title", "status", "detail", "code", "retry", "what_next", "retry_after_s"};
  for (const std::string_view own : kOwn) {
    if (own == name) {
      return true;
    }
  }
  return false;
}

std::string_view advice_of(WhatNext next) {
  switch (next) {
    case WhatNext::retry:
      return "nothing was done; try again";
    case WhatNext::in_doubt:
      return "the request may have been executed: check whether it was, or repeat it with the same "
             "idempotency key";
    case WhatNext::permanent:
    case WhatNext::refresh:
      break;
  }
  return "see the log of the server";
}

}  // namespace

Error public_error(const Error& error) {
  constexpr int kFirstInternal = 500;
  const ErrorInfo& info = error_info(error.code());
  const std::string_view meant_for_clients = error.field("detail");
  if (info.http_status < kFirstInternal) {
    return error;
  }
  // A stopped engine executes nothing, so the request can be repeated.
  const bool stopped =
      error.code() == ErrorCode::engine_stopped || error.code() == ErrorCode::log_stopped;
  const WhatNext next =
      stopped && error.what_next() == WhatNext::refresh ? WhatNext::retry : error.what_next();
  const ErrorInfo& shown = stopped ? error_info(ErrorCode::unavailable) : info;
  Error outside{shown.code, meant_for_clients.empty()
                                ? std::string(shown.line) + "; " + std::string(advice_of(next))
                                : std::string(meant_for_clients)};
  for (const std::string_view name : {"run_id", "idempotency_key", "retry_after_s", "error"}) {
    if (!error.field(name).empty()) {
      static_cast<void>(std::move(outside).with(name, error.field(name)));
    }
  }
  return std::move(outside).with(next);
}

JsonText problem_json(const Error& inside, int status) {
  const Error error = public_error(inside);
  const ErrorInfo& info = error_info(error.code());
  JsonWriter json;
  json.begin_object();
  json.member("type", "urn:holdfast:error:" + std::string(info.name));
  json.member("title", info.line)
      .member("status", std::int64_t{status == 0 ? info.http_status : status});
  json.member("detail", error.text()).member("code", info.name);
  json.member("retry", error.what_next() == WhatNext::retry);
  json.member("what_next", to_string(error.what_next()));
  for (const auto& [name, value] : error.fields()) {
    if (is_own_member(name)) {
      continue;
    }
    const auto parsed = is_json_field(name) ? JsonText::parse(value)
                                            : Result<JsonText>(Error{error.code(), "not JSON"});
    if (parsed.ok()) {
      json.member(name, parsed.value());
    } else {
      json.member(name, value);
    }
  }
  json.end_object();
  return std::move(json).take_text();
}

net::Response problem_response(const Error& inside, int status) {
  const Error error = public_error(inside);
  net::Response response;
  response.status = status == 0 ? error_info(error.code()).http_status : status;
  response.content_type = "application/problem+json";
  response.body = std::string(problem_json(inside, status).view());
  if (error.code() == ErrorCode::unauthenticated) {
    response.headers.push_back({"WWW-Authenticate", "Bearer"});
  }
  const bool later = response.status == 503 || response.status == 429;
  if (later && error.what_next() == WhatNext::retry) {
    const std::string_view seconds = error.field("retry_after_s");
    response.headers.push_back({"Retry-After", seconds.empty() ? "1" : std::string(seconds)});
  }
  return response;
}

}  // namespace holdfast
