#include "net/url.h"

#include <sys/un.h>

#include <algorithm>

#include "base/text.h"
#include "net/http_text.h"

namespace holdfast::net {

namespace {

constexpr std::uint16_t kHttpPort = 80;
constexpr std::uint16_t kHttpsPort = 443;

Error bad_url(std::string_view what) {
  return Error{ErrorCode::invalid_url, std::string(what)}.with("field", "url");
}

bool is_name_character(char c) {
  return (lower(c) >= 'a' && lower(c) <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.' ||
         c == '_';
}

bool is_address_character(char c) { return hex_value(c) >= 0 || c == ':' || c == '.'; }

Result<Url> parse_unix(std::string_view path) {
  if (!path.starts_with('/') || path.find('\0') != std::string_view::npos) {
    return bad_url("the URL needs an absolute path after unix:");
  }
  if (path.size() >= sizeof(sockaddr_un::sun_path)) {
    return bad_url("the path of the unix socket is too long");
  }
  Url url;
  url.kind = Url::Kind::unix_socket;
  url.path = path;
  url.authority = "localhost";
  return url;
}

}  // namespace

std::string Url::origin() const {
  switch (kind) {
    case Kind::http:
      return "http://" + authority;
    case Kind::https:
      return "https://" + authority;
    case Kind::unix_socket:
      break;
  }
  return "unix:" + path;
}

std::optional<HostPort> parse_authority(std::string_view text) {
  const bool brackets = text.starts_with('[');
  const std::size_t end = brackets ? text.find(']') : std::min(text.find(':'), text.size());
  if (end == std::string_view::npos) {
    return std::nullopt;
  }
  const std::string_view name = brackets ? text.substr(1, end - 1) : text.substr(0, end);
  if (name.empty() ||
      !std::all_of(name.begin(), name.end(), brackets ? is_address_character : is_name_character)) {
    return std::nullopt;
  }
  const std::string_view host = text.substr(0, brackets ? end + 1 : end);
  const std::string_view rest = text.substr(host.size());
  HostPort parts{lowered(host), std::nullopt};
  if (!rest.empty()) {
    const auto port = rest.front() == ':' ? parse_decimal(rest.substr(1)) : std::nullopt;
    if (!port.has_value() || *port == 0 || *port > UINT16_MAX) {
      return std::nullopt;
    }
    parts.port = static_cast<std::uint16_t>(*port);
  }
  return parts;
}

Result<Url> parse_url(std::string_view text) {
  constexpr std::string_view kUnix = "unix:";
  if (text.starts_with(kUnix)) {
    return parse_unix(text.substr(kUnix.size()));
  }
  const std::size_t scheme_end = std::min(text.find("://"), text.size());
  const std::string scheme = lowered(text.substr(0, scheme_end));
  if ((scheme != "http" && scheme != "https") || scheme_end == text.size()) {
    return bad_url("the URL does not start with http:// or https://");
  }
  const std::string_view rest = text.substr(scheme_end + 3);
  if (rest.find_first_of("?#") != std::string_view::npos) {
    return bad_url("the URL has a query or a fragment");
  }
  const std::size_t slash = std::min(rest.find('/'), rest.size());
  if (rest.substr(0, slash).find('@') != std::string_view::npos) {
    return bad_url("the URL has a user name or a password");
  }
  const auto host = parse_authority(rest.substr(0, slash));
  if (!host.has_value()) {
    return bad_url("the URL has no valid host and port");
  }
  Url url;
  url.kind = scheme == "http" ? Url::Kind::http : Url::Kind::https;
  url.host = host->host.starts_with('[') ? host->host.substr(1, host->host.size() - 2) : host->host;
  url.port = host->port.value_or(url.kind == Url::Kind::http ? kHttpPort : kHttpsPort);
  url.authority = lowered(rest.substr(0, slash));
  url.path = rest.substr(slash);
  if (!std::all_of(url.path.begin(), url.path.end(),
                   [](char c) { return c > ' ' && c < '\x7f'; })) {
    return bad_url("the path of the URL has characters that must be percent-encoded");
  }
  return url;
}

}  // namespace holdfast::net
