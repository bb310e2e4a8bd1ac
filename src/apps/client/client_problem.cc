#include "apps/client/client_problem.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json_slice.h"
#include "base/json_value.h"
#include "base/text.h"

namespace holdfast::client {

namespace {

std::optional<ErrorCode> code_of(std::string_view name) {
  for (const ErrorInfo& info : error_table()) {
    if (info.name == name) {
      return info.code;
    }
  }
  return std::nullopt;
}

ErrorCode code_of(int status) {
  switch (status) {
    case 401:
      return ErrorCode::unauthenticated;
    case 403:
      return ErrorCode::permission_denied;
    case 404:
    case 410:
      return ErrorCode::not_found;
    case 409:
      return ErrorCode::conflict;
    case 413:
    case 414:
    case 431:
      return ErrorCode::too_large;
    case 429:
      return ErrorCode::rate_limited;
    case 408:
    case 502:
    case 503:
    case 504:
      return ErrorCode::unavailable;
    case 507:
      return ErrorCode::disk_full;
    default:
      return status < 500 ? ErrorCode::invalid_argument : ErrorCode::io_error;
  }
}

// Strings without quotes, other values as JSON.
std::string text_of(std::string_view slice) {
  return json_string_value(slice).value_or(std::string(slice));
}

std::optional<WhatNext> what_next_of(std::string_view text) {
  for (const WhatNext next :
       {WhatNext::permanent, WhatNext::retry, WhatNext::refresh, WhatNext::in_doubt}) {
    if (to_string(next) == text) {
      return next;
    }
  }
  return std::nullopt;
}

// For a response without what_next. Only an explicit statement that nothing was done counts: a
// proxy also returns 503 for a request that it has forwarded.
WhatNext cautious(WhatNext usual, int status) {
  constexpr int kFirstOfServer = 500;
  return usual == WhatNext::retry && status >= kFirstOfServer ? WhatNext::in_doubt : usual;
}

Error without_problem(int status, std::string_view body) {
  constexpr std::size_t kShown = 200;
  std::string shown(body.substr(0, kShown));
  std::replace_if(
      shown.begin(), shown.end(), [](char c) { return c < ' '; }, ' ');
  Error error{code_of(status), fmt::format("the server returned status {}{}{}", status,
                                           shown.empty() ? "" : ": ", shown)};
  const WhatNext next = cautious(error.what_next(), status);
  return std::move(error).with("status", static_cast<std::uint64_t>(status)).with(next);
}

}  // namespace

Error error_of_problem(std::string_view json, int status) {
  std::optional<ErrorCode> code;
  std::string title;
  std::string detail;
  std::optional<bool> retry;
  std::optional<WhatNext> next;
  std::vector<std::pair<std::string_view, std::string>> fields;
  JsonSlicer slicer(json.starts_with('{') ? json : "");
  while (const auto member = slicer.next()) {
    const auto [name, value] = *member;
    if (name == "code") {
      code = code_of(text_of(value));
      if (!code.has_value()) {
        fields.emplace_back("code", text_of(value));
      }
    } else if (name == "detail") {
      detail = text_of(value);
    } else if (name == "title") {
      title = text_of(value);
    } else if (name == "retry") {
      retry = value == "true";
    } else if (name == "what_next") {
      next = what_next_of(text_of(value));
    } else if (name == "status") {
      status = status != 0 ? status : static_cast<int>(parse_decimal(value).value_or(0));
    } else if (name != "type") {
      fields.emplace_back(name, text_of(value));
    }
  }
  if (!slicer.valid() || (!code.has_value() && detail.empty() && title.empty())) {
    return without_problem(status, json);
  }
  const std::string message =
      !detail.empty() ? detail : (!title.empty() ? title : std::string(error_info(*code).line));
  Error error{code.value_or(code_of(status)), message};
  for (const auto& [name, value] : fields) {
    static_cast<void>(std::move(error).with(name, value));
  }
  if (!next.has_value()) {
    next = retry == true ? WhatNext::retry
           : retry == false && error.what_next() == WhatNext::retry
               ? WhatNext::in_doubt
               : cautious(error.what_next(), status);
  }
  return std::move(error).with(*next);
}

Error error_of_response(const net::HttpOutcome& response) {
  const auto compact = JsonText::parse(response.body);
  return compact.ok() ? error_of_problem(compact.value().view(), response.status)
                      : without_problem(response.status, response.body);
}

Error error_without_response(const net::HttpOutcome& outcome) {
  Error error{ErrorCode::unavailable, outcome.reason};
  if (outcome.kind == net::HttpOutcome::Kind::maybe_done) {
    return std::move(error).with(WhatNext::in_doubt);
  }
  return outcome.permanent() ? std::move(error).with(WhatNext::permanent) : error;
}

std::optional<std::chrono::milliseconds> retry_after(const net::HttpOutcome& response) {
  constexpr std::uint64_t kDay = 86'400;
  const auto seconds = parse_decimal(response.header("retry-after"));
  if (!seconds.has_value()) {
    return std::nullopt;
  }
  return std::chrono::seconds(std::min(*seconds, kDay));
}

}  // namespace holdfast::client
