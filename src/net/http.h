// HTTP messages as plain values: requests, responses, and the peer of a connection.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::net {

struct Header {
  std::string name;
  std::string value;
};

// The other end of a connection.
struct Peer {
  std::string address = {};  // 127.0.0.1:51234, [::1]:51234, or unix
  bool loopback = false;     // true for unix sockets, too
  bool tls = false;
  std::optional<unsigned> uid = {};  // of the process at the other end of a unix socket
};

struct Request {
  std::string method;      // as it was sent: GET
  std::string path;        // before the question mark, not decoded: /v1/runs/a%20b
  std::string query = {};  // after it, not decoded
  std::vector<Header> headers = {};
  std::string body = {};
  Peer peer = {};

  // The value of the first header of that name, in any case; empty if there is none.
  [[nodiscard]] std::string_view header(std::string_view name) const;
};

// The server adds Content-Length, Date and Connection.
struct Response {
  int status = 200;                               // 200 to 599
  std::string content_type = "application/json";  // empty: none
  std::vector<Header> headers = {};
  std::string body = {};
};

// "OK" for 200; empty if the status is unknown.
std::string_view reason_of(int status);

// Decodes percent encoding; empty optional if it is malformed. In a query '+' means a space.
enum class UrlPart : std::uint8_t { path, query };
std::optional<std::string> url_decoded(std::string_view text, UrlPart part);
std::string url_encoded(std::string_view text);
// The members of a query, decoded, in order; empty optional if it is malformed.
std::optional<std::vector<Header>> query_members(std::string_view query);

// Seconds since 1970 of a date as in Retry-After (RFC 9110 section 5.6.7); empty if it is not one.
std::optional<std::int64_t> parse_http_date(std::string_view text);

}  // namespace holdfast::net
