#include "server/problem.h"

#include <array>

#include "base/json.h"

namespace holdfast {

namespace {

// Fields whose text is JSON itself.
bool is_json_field(std::string_view name) { return name == "faults" || name == "errors"; }

bool is_own_member(std::string_view name) {
  static constexpr std::array<std::string_view, 6> kOwn{"type",   "title", "status",
                                                        "detail", "code",  "retry"};
  for (const std::string_view own : kOwn) {
    if (own == name) {
      return true;
    }
  }
  return false;
}

}  // namespace

JsonText problem_json(const Error& error, int status) {
  const ErrorInfo& info = error_info(error.code());
  JsonWriter json;
  json.begin_object();
  json.member("type", "urn:holdfast:error:" + std::string(info.name));
  json.member("title", info.line)
      .member("status", std::int64_t{status == 0 ? info.http_status : status});
  json.member("detail", error.text()).member("code", info.name);
  json.member("retry", error.what_next() == WhatNext::retry);
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

net::Response problem_response(const Error& error, int status) {
  net::Response response;
  response.status = status == 0 ? error_info(error.code()).http_status : status;
  response.content_type = "application/problem+json";
  response.body = std::string(problem_json(error, status).view());
  if (error.code() == ErrorCode::unauthenticated) {
    response.headers.push_back({"WWW-Authenticate", "Bearer"});
  }
  if (response.status == 503 || response.status == 429) {
    response.headers.push_back({"Retry-After", "1"});
  }
  return response;
}

}  // namespace holdfast
