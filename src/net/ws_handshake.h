// The opening handshake of WebSocket (RFC 6455 section 4), both sides, without I/O.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "net/http.h"
#include "net/http_head.h"

namespace holdfast::net {

// The value of Sec-WebSocket-Accept that answers the key.
std::string ws_accept_of(std::string_view key);

// Whether the request names WebSocket as its upgrade, valid or not.
bool requests_web_socket(const Request& request);

struct WsRules {
  // What a browser may name in the header Origin, as it spells it: https://app.example. A request
  // with another origin is refused; one without comes from a program and is not.
  std::vector<std::string> origins = {};
};

// No value if the request may become a WebSocket: a GET of HTTP/1.1 without a body, with Upgrade,
// Connection, a key of 16 bytes and version 13. The status of a refusal is 400, 403 (an origin
// that is not allowed) or 426 (another version, or no upgrade; see upgrade_headers()).
Refused check_ws_request(const Request& request, const WsRules& rules);
// Of a response with the status 426.
std::vector<Header> upgrade_headers();

// The head of the response that ends HTTP on the connection.
std::string ws_response_head(std::string_view key, std::string_view date);

// The client's side: a key from 16 random bytes, and the check of the response.
std::string ws_key(const std::array<std::byte, 16>& random);
// What is wrong with the headers of a response with the status 101; empty: nothing. Extensions and
// subprotocols are refused, because none was requested.
std::string_view ws_response_fault(const std::vector<Header>& headers, std::string_view key);

}  // namespace holdfast::net
