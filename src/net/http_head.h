// The head of a request (RFC 9112): request line and headers. Strict: a text that two parsers could
// interpret differently is refused, because that is how requests are smuggled past one of them. No
// I/O.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "holdfast/error.h"
#include "net/http.h"

namespace holdfast::net {

// Why a request is refused: the problem that the peer receives (RFC 9457).
struct Refusal {
  int status = 400;
  std::string_view code;    // a name of holdfast/error_codes.h where one fits
  std::string_view detail;  // a constant
  WhatNext next = WhatNext::permanent;
};
using Refused = std::optional<Refusal>;

inline Refusal bad_request(std::string_view detail) { return {400, "invalid_argument", detail}; }
inline Refusal too_large(int status, std::string_view detail) {
  return {status, "too_large", detail};
}

struct Head {
  Request request = {};
  int minor = 1;  // of HTTP/1.minor: 0 or 1
  bool keep_alive = true;
  bool expects_continue = false;
  bool chunked = false;
  // Length of the body; the largest number if it does not fit.
  std::uint64_t content_length = 0;
};

// The text is everything before the empty line, each line with its CR LF. The parts that were read
// stay in `head` if the request is refused, because the response depends on them.
//
// A target in absolute form (http://host/path) becomes its path, and its host the value of Host:
// by RFC 9112 section 3.2.2 it takes precedence over the header.
Refused read_head(std::string_view text, Head& head);

// One line "Name: value" without its line break.
Refused read_field(std::string_view line, Header& field);

}  // namespace holdfast::net
