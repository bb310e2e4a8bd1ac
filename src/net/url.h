// URLs of HTTP servers: http://HOST[:PORT][/PATH], https://HOST[:PORT][/PATH], or unix:/PATH of a
// socket. There is no user, query or fragment.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "holdfast/result.h"

namespace holdfast::net {

struct Url {
  enum class Kind : std::uint8_t { http, https, unix_socket };

  Kind kind = Kind::http;
  std::string host = {};       // lower case, without the brackets of an IPv6 address
  std::uint16_t port = 0;      // the standard port of the scheme if the URL names none
  std::string authority = {};  // HOST[:PORT] as in the header Host; lower case
  std::string path = {};       // empty or /A/B of http and https; the path of a unix socket

  // The URL without its path, for messages: http://HOST:PORT or unix:/PATH.
  [[nodiscard]] std::string origin() const;
};

// invalid_url: the message says what is wrong, but never shows the URL: it may contain a password.
Result<Url> parse_url(std::string_view text);

struct HostPort {
  std::string host;  // lower case; an IPv6 address with its brackets
  std::optional<std::uint16_t> port;
};

// HOST, HOST:PORT, [ADDRESS] or [ADDRESS]:PORT; empty optional if it is none of these.
std::optional<HostPort> parse_authority(std::string_view text);

}  // namespace holdfast::net
