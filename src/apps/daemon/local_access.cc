#include "apps/daemon/local_access.h"

#include <unistd.h>

#include <algorithm>

#include "net/http_text.h"
#include "net/url.h"

namespace holdfast::delivery {

namespace {

constexpr double kRequestsPerSecond = 100;
constexpr double kBurst = 1000;
constexpr double kMsPerSecond = 1000;

std::size_t count_of(const net::Request& request, std::string_view name) {
  return static_cast<std::size_t>(std::count_if(
      request.headers.begin(), request.headers.end(),
      [&](const net::Header& header) { return net::same_ignoring_case(header.name, name); }));
}

Error forbidden(std::string_view why) {
  return Error{ErrorCode::permission_denied, std::string(why)};
}

Result<void> check_browser(const net::Request& request) {
  if (count_of(request, "Origin") > 0) {
    return forbidden("requests of web pages (header Origin) are not allowed");
  }
  if (count_of(request, "Host") > 1) {
    return forbidden("more than one header Host");
  }
  const std::string_view host = request.header("Host");
  if (host.empty()) {
    return {};
  }
  const auto parsed = net::parse_authority(host);
  const bool own = parsed.has_value() && (parsed->host == "localhost" ||
                                          parsed->host == "127.0.0.1" || parsed->host == "[::1]");
  return own ? Result<void>() : forbidden("the header Host must name this machine");
}

bool has_token_in_query(const net::Request& request) {
  const auto members = net::query_members(request.query);
  return members.has_value() &&
         std::any_of(members->begin(), members->end(),
                     [](const net::Header& member) { return member.name == "token"; });
}

}  // namespace

LocalAccess::LocalAccess(std::string_view token, Health health)
    : health_(health), current_(sha256(token)), tokens_(kBurst) {}

Result<void> LocalAccess::check(const net::Request& request, std::int64_t now) {
  if (has_token_in_query(request)) {
    return Error{ErrorCode::invalid_argument,
                 "a token belongs into the header Authorization, never into the URL"}
        .with("security", "token_in_url");
  }
  if (request.peer.uid.has_value()) {
    return *request.peer.uid == ::geteuid()
               ? Result<void>()
               : forbidden("the socket is for the user of the daemon only");
  }
  HOLDFAST_CHECK(check_browser(request));
  if (health_ == Health::open && request.method == "GET" && request.path == "/v1/health") {
    return {};
  }
  const std::lock_guard lock(mutex_);
  HOLDFAST_CHECK(check_token(request, now));
  return take_from_bucket(now);
}

Result<void> LocalAccess::check_token(const net::Request& request, std::int64_t now) {
  constexpr std::string_view kScheme = "Bearer ";
  const std::string_view value = request.header("Authorization");
  if (count_of(request, "Authorization") != 1 || !value.starts_with(kScheme)) {
    return Error{ErrorCode::unauthenticated,
                 "send one header \"Authorization: Bearer TOKEN\"; the token is in the file "
                 "local_token of the daemon"};
  }
  const std::string given = to_hex(sha256(value.substr(kScheme.size())));
  const bool fits = equal_secrets(given, to_hex(current_));
  const bool fitted = equal_secrets(given, to_hex(previous_));
  if (fits || (fitted && now < previous_until_)) {
    return {};
  }
  return Error{ErrorCode::unauthenticated, "the token is not the one of this daemon"};
}

Result<void> LocalAccess::take_from_bucket(std::int64_t now) {
  const double passed = static_cast<double>(std::max<std::int64_t>(now - filled_at_, 0));
  tokens_ = std::min(kBurst, tokens_ + passed / kMsPerSecond * kRequestsPerSecond);
  filled_at_ = now;
  if (tokens_ < 1) {
    return Error{ErrorCode::rate_limited, "too many requests with this token"}
        .with("error", "too_many_requests")
        .with("retry_after_s", std::uint64_t{1});
  }
  tokens_ -= 1;
  return {};
}

void LocalAccess::rotate(std::string_view fresh, std::int64_t now) {
  const std::lock_guard lock(mutex_);
  previous_ = current_;
  previous_until_ = now + kTokenGraceMs;
  current_ = sha256(fresh);
}

}  // namespace holdfast::delivery
