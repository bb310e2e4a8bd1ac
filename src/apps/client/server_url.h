// Where a server is: http://HOST:PORT, https://HOST:PORT, either with a path in front of everything
// it serves, or unix:/PATH of a socket.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "holdfast/result.h"

namespace holdfast::client {

struct ServerUrl {
  enum class Kind : std::uint8_t { http, https, unix_socket };

  Kind kind = Kind::http;
  std::string host = {};  // without the brackets of an IPv6 address
  std::uint16_t port = 0;
  std::string path = {};       // of the socket
  std::string prefix = {};     // of every request: empty, or /a/b without a slash at its end
  std::string authority = {};  // what the header Host says

  // For messages.
  [[nodiscard]] std::string shown() const;
};

// invalid_url: the message says why; a URL with a user or a password in it is not shown.
Result<ServerUrl> parse_server_url(std::string_view url);

// Letters, digits and -._~ as they are, the rest as %20.
std::string percent_encoded(std::string_view text);

}  // namespace holdfast::client
