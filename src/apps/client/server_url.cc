#include "apps/client/server_url.h"

#include <fmt/format.h>
#include <sys/un.h>

#include <algorithm>

#include "base/text.h"

namespace holdfast::client {

namespace {

constexpr std::uint16_t kHttpPort = 80;
constexpr std::uint16_t kHttpsPort = 443;

Error bad_url(std::string_view why) {
  return Error{ErrorCode::invalid_url,
               fmt::format("the URL of the server {}; write http://HOST:PORT, https://HOST:PORT or "
                           "unix:/PATH",
                           why)}
      .with("field", "url");
}

bool is_plain(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < '\x7f'; });
}

bool is_host(std::string_view host) {
  return !host.empty() && host.find_first_of("[]@%\\\"<>") == std::string_view::npos;
}

Result<ServerUrl> parse_unix(std::string_view path) {
  if (!path.starts_with('/') || path.find('\0') != std::string_view::npos) {
    return bad_url("names no absolute path of a socket");
  }
  if (path.size() >= sizeof(sockaddr_un::sun_path)) {
    return bad_url("names a socket with a path that is too long");
  }
  ServerUrl url;
  url.kind = ServerUrl::Kind::unix_socket;
  url.path = path;
  url.authority = "localhost";
  return url;
}

// HOST, HOST:PORT or [ADDRESS]:PORT.
Result<void> read_authority(std::string_view text, ServerUrl& url) {
  const bool brackets = text.starts_with('[');
  const std::size_t behind = brackets ? text.find(']') : 0;
  if (behind == std::string_view::npos) {
    return bad_url("has a bracket without its other half");
  }
  const std::size_t colon = text.find(':', behind);
  const std::string_view host = text.substr(0, colon);
  url.host = brackets ? text.substr(1, behind - 1) : host;
  if (!is_host(url.host) || (brackets && host.size() != behind + 1)) {
    return bad_url("has no host");
  }
  if (colon != std::string_view::npos) {
    const auto port = parse_decimal(text.substr(colon + 1));
    if (!port.has_value() || *port == 0 || *port > UINT16_MAX) {
      return bad_url("has a port that is none");
    }
    url.port = static_cast<std::uint16_t>(*port);
  }
  url.authority = text;
  return {};
}

}  // namespace

std::string ServerUrl::shown() const {
  switch (kind) {
    case Kind::http:
      return "http://" + authority + prefix;
    case Kind::https:
      return "https://" + authority + prefix;
    case Kind::unix_socket:
      break;
  }
  return "unix:" + path;
}

Result<ServerUrl> parse_server_url(std::string_view text) {
  constexpr std::string_view kUnix = "unix:";
  constexpr std::string_view kHttp = "http://";
  constexpr std::string_view kHttps = "https://";
  if (text.starts_with(kUnix)) {
    return parse_unix(text.substr(kUnix.size()));
  }
  ServerUrl url;
  if (text.starts_with(kHttp)) {
    text.remove_prefix(kHttp.size());
    url.port = kHttpPort;
  } else if (text.starts_with(kHttps)) {
    text.remove_prefix(kHttps.size());
    url.kind = ServerUrl::Kind::https;
    url.port = kHttpsPort;
  } else {
    return bad_url("has no scheme that is known");
  }
  if (!is_plain(text) || text.find_first_of("?#") != std::string_view::npos) {
    return bad_url("has something behind the server's own address");
  }
  const std::string_view authority = text.substr(0, text.find('/'));
  if (authority.find('@') != std::string_view::npos) {
    return bad_url("has a user or a password in it, which is no way to give a token");
  }
  url.prefix = text.substr(authority.size());
  while (url.prefix.ends_with('/')) {
    url.prefix.pop_back();
  }
  HOLDFAST_CHECK(read_authority(authority, url));
  return url;
}

std::string percent_encoded(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '.' || c == '_' || c == '~';
    if (plain) {
      out += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      out += '%';
      out += kDigits[byte >> 4U];
      out += kDigits[byte & 15U];
    }
  }
  return out;
}

}  // namespace holdfast::client
