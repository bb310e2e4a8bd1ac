#include "net/http_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "base/json_writer.h"
#include "holdfast/assert.h"
#include "net/http_text.h"

namespace holdfast::net {

namespace {

constexpr std::array<std::string_view, 4> kOwnHeaders{"content-length", "transfer-encoding",
                                                      "connection", "date"};

bool is_own_header(std::string_view name) {
  return std::any_of(kOwnHeaders.begin(), kOwnHeaders.end(),
                     [&](std::string_view own) { return same_ignoring_case(own, name); });
}

void append_field(std::string& out, std::string_view name, std::string_view value) {
  HOLDFAST_ASSERT(is_token(name));
  out.append(name).append(": ");
  std::transform(value.begin(), value.end(), std::back_inserter(out),
                 [](char c) { return is_value_character(c) ? c : ' '; });
  out.append("\r\n");
}

void append_status_line(std::string& out, int status) {
  const std::string_view reason = reason_of(status);
  if (status == 200) {
    out.append("HTTP/1.1 200 OK\r\n");
  } else {
    fmt::format_to(std::back_inserter(out), "HTTP/1.1 {} {}\r\n", status, reason);
  }
}

void append_body_end(std::string& out, const Response& response, BodyEnd end) {
  if (!may_have_body(response.status)) {
    return;
  }
  switch (end) {
    case BodyEnd::length:
      out.append("Content-Length: ").append(fmt::format_int(response.body.size()).c_str());
      out.append("\r\n");
      return;
    case BodyEnd::chunked:
      out.append("Transfer-Encoding: chunked\r\n");
      return;
    case BodyEnd::close:
      return;
  }
}

}  // namespace

bool may_have_body(int status) { return status != 204 && status != 304; }

std::string response_head(const Response& response, AnswerForm form, std::string_view date) {
  HOLDFAST_ASSERT(response.status >= 200 && response.status <= 599);
  std::string out;
  out.reserve(256);
  append_status_line(out, response.status);
  out.append("Date: ").append(date).append("\r\n");
  if (!response.content_type.empty() && response.status != 204) {
    append_field(out, "Content-Type", response.content_type);
  }
  out.append("X-Content-Type-Options: nosniff\r\n");
  append_body_end(out, response, form.end);
  if (form.after != After::implied) {
    out.append(form.after == After::close ? "Connection: close\r\n" : "Connection: keep-alive\r\n");
  }
  for (const Header& header : response.headers) {
    if (!is_own_header(header.name)) {
      append_field(out, header.name, header.value);
    }
  }
  out.append("\r\n");
  return out;
}

Response problem(const Refusal& refusal, const std::vector<Header>& more) {
  const bool retry = refusal.next == WhatNext::retry;
  JsonWriter json;
  json.begin_object()
      .member("type", "about:blank")
      .member("title", reason_of(refusal.status))
      .member("status", static_cast<std::int64_t>(refusal.status))
      .member("detail", refusal.detail)
      .member("code", refusal.code)
      .member("retry", retry)
      .member("what_next", to_string(refusal.next));
  for (const Header& member : more) {
    json.member(member.name, member.value);
  }
  json.end_object();
  Response response;
  response.status = refusal.status;
  response.content_type = "application/problem+json";
  response.body = std::move(json).take();
  if (retry) {
    response.headers.push_back({"Retry-After", "1"});
  }
  return response;
}

std::string http_date(std::time_t time) {
  constexpr std::array<std::string_view, 7> kDays{"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  constexpr std::array<std::string_view, 12> kMonths{"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                     "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  std::tm at{};
  HOLDFAST_ASSERT(gmtime_r(&time, &at) != nullptr);
  return fmt::format("{}, {:02} {} {:04} {:02}:{:02}:{:02} GMT",
                     kDays[static_cast<std::size_t>(at.tm_wday)], at.tm_mday,
                     kMonths[static_cast<std::size_t>(at.tm_mon)], at.tm_year + 1900, at.tm_hour,
                     at.tm_min, at.tm_sec);
}

std::string chunk_head(std::size_t size) { return fmt::format("{:x}\r\n", size); }

}  // namespace holdfast::net
