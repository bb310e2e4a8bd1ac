#include "storage/redis/redis_url.h"

#include <algorithm>
#include <optional>

#include "base/text.h"

namespace holdfast {

namespace {

constexpr std::string_view kTcp = "redis://";
constexpr std::string_view kUnix = "redis+unix://";

Error bad_redis_url(std::string message) {
  return Error{ErrorCode::invalid_url, std::move(message)}.with("field", "url");
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') {
    return c - '0';
  }
  const char small = static_cast<char>(c | 0x20);
  return small >= 'a' && small <= 'f' ? small - 'a' + 10 : -1;
}

std::optional<std::string> decoded(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      plain += text[i];
      continue;
    }
    const int high = i + 2 < text.size() ? hex_digit(text[i + 1]) : -1;
    const int low = high >= 0 ? hex_digit(text[i + 2]) : -1;
    if (low < 0) {
      return std::nullopt;
    }
    plain += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return plain;
}

Result<void> take_user(std::string_view user_info, RedisUrl& url) {
  const std::size_t colon = user_info.find(':');
  const auto user = decoded(user_info.substr(0, colon));
  const auto password =
      decoded(colon == std::string_view::npos ? std::string_view() : user_info.substr(colon + 1));
  if (!user.has_value() || !password.has_value() || password->empty()) {
    return bad_redis_url(
        "the part before @ in the Redis URL must be :PASSWORD or USER:PASSWORD, percent-encoded");
  }
  url.user = *user;
  url.password = *password;
  return {};
}

Result<void> take_host(std::string_view text, RedisUrl& url) {
  const bool brackets = text.starts_with('[');
  const std::size_t end = brackets ? text.find(']') : std::min(text.find(':'), text.size());
  const std::string_view host =
      end == std::string_view::npos ? "" : text.substr(brackets ? 1 : 0, end - (brackets ? 1 : 0));
  if (host.empty()) {
    return bad_redis_url("the Redis URL needs a host: redis://HOST[:PORT][/DB]");
  }
  const std::string_view rest = text.substr(end + (brackets ? 1 : 0));
  if (!rest.empty()) {
    const auto port = rest.front() == ':' ? parse_decimal(rest.substr(1)) : std::nullopt;
    if (!port.has_value() || *port == 0 || *port > UINT16_MAX) {
      return bad_redis_url("the port in the Redis URL is not a number from 1 to 65535");
    }
    url.port = static_cast<std::uint16_t>(*port);
  }
  url.host = host;
  return {};
}

Result<void> take_database(std::string_view text, RedisUrl& url) {
  const auto number = parse_decimal(text);
  if (!number.has_value()) {
    return bad_redis_url("the database in the Redis URL is not a number");
  }
  url.database = *number;
  return {};
}

Result<void> take_parameters(std::string_view query, RedisUrl& url) {
  while (!query.empty()) {
    const std::string_view parameter = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(parameter.size() + 1, query.size()));
    const std::size_t equals = parameter.find('=');
    const auto value =
        equals == std::string_view::npos ? std::nullopt : decoded(parameter.substr(equals + 1));
    if (!value.has_value()) {
      return bad_redis_url("the parameters of the Redis URL must have the form NAME=VALUE");
    }
    const std::string name(parameter.substr(0, equals));
    if (name == "db") {
      HOLDFAST_CHECK(take_database(*value, url));
    } else if (!url.parameters.emplace(name, *value).second) {
      return bad_redis_url("the parameter \"" + name + "\" appears twice in the Redis URL");
    }
  }
  return {};
}

Result<void> take_address(std::string_view rest, RedisUrl& url) {
  if (const std::size_t at = rest.rfind('@'); at != std::string_view::npos) {
    HOLDFAST_CHECK(take_user(rest.substr(0, at), url));
    rest.remove_prefix(at + 1);
  }
  const std::size_t slash = std::min(rest.find('/'), rest.size());
  HOLDFAST_CHECK(take_host(rest.substr(0, slash), url));
  if (slash + 1 < rest.size()) {
    HOLDFAST_CHECK(take_database(rest.substr(slash + 1), url));
  }
  const bool address = url.host.find(':') != std::string::npos;
  url.shown = std::string(kTcp) + (address ? "[" + url.host + "]" : url.host) + ":" +
              std::to_string(url.port) + "/" + std::to_string(url.database);
  return {};
}

}  // namespace

Result<RedisUrl> parse_redis_url(std::string_view text) {
  if (text.starts_with("rediss://")) {
    return bad_redis_url(
        "TLS to Redis is not supported: use redis:// through a TLS proxy, or redis+unix://");
  }
  const bool unix_socket = text.starts_with(kUnix);
  if (!unix_socket && !text.starts_with(kTcp)) {
    return bad_redis_url("a Redis URL begins with redis:// or redis+unix://");
  }
  std::string_view rest = text.substr(unix_socket ? kUnix.size() : kTcp.size());
  RedisUrl url;
  if (const std::size_t question = rest.find('?'); question != std::string_view::npos) {
    HOLDFAST_CHECK(take_parameters(rest.substr(question + 1), url));
    rest = rest.substr(0, question);
  }
  if (!unix_socket) {
    HOLDFAST_CHECK(take_address(rest, url));
    return url;
  }
  const auto path = decoded(rest);
  if (!path.has_value() || !path->starts_with('/')) {
    return bad_redis_url("redis+unix:// needs the absolute path of a socket");
  }
  url.socket = *path;
  url.shown = std::string(kUnix) + url.socket;
  return url;
}

}  // namespace holdfast
