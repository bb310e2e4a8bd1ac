// What is said over HTTP: requests, answers, and who is at the other end. Plain values.
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

// Who is at the other end of a connection.
struct Peer {
  std::string address = {};  // 127.0.0.1:51234, [::1]:51234, or unix
  bool loopback = false;     // also of a unix socket
  bool tls = false;
  std::optional<unsigned> uid = {};  // of the process at the other end of a unix socket
};

struct Request {
  std::string method;      // as it was sent: GET
  std::string path;        // up to the question mark, not decoded: /v1/runs/a%20b
  std::string query = {};  // after it, not decoded
  std::vector<Header> headers = {};
  std::string body = {};
  Peer peer = {};

  // The value of the first header of that name, in whatever case; empty when there is none.
  [[nodiscard]] std::string_view header(std::string_view name) const;
};

// Content-Length, Date and Connection are added when it is sent.
struct Response {
  int status = 200;                               // 200 to 599
  std::string content_type = "application/json";  // empty: none
  std::vector<Header> headers = {};
  std::string body = {};
};

// "OK" of 200; empty when the code is not known.
std::string_view reason_of(int status);

// %20 and so on become what they stand for; empty optional when it is not well formed. In a query
// '+' stands for a space.
enum class UrlPart : std::uint8_t { path, query };
std::optional<std::string> url_decoded(std::string_view text, UrlPart part);
std::string url_encoded(std::string_view text);
// The members of a query, decoded, in their order; empty optional when it is not well formed.
std::optional<std::vector<Header>> query_members(std::string_view query);

// Seconds since 1970 of a date as in Retry-After (RFC 9110 section 5.6.7); empty if it is not one.
std::optional<std::int64_t> parse_http_date(std::string_view text);

}  // namespace holdfast::net
