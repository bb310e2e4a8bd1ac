// The head of a request (RFC 9112): request line and headers, as one text. Strict: what two readers
// could understand differently is refused, because that is how requests are smuggled past one of
// them. No I/O.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "holdfast/error.h"
#include "net/http.h"

namespace holdfast::net {

// Why a request is not taken: what the peer is told (RFC 9457).
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
  // Of the body; the largest number when it does not fit.
  std::uint64_t content_length = 0;
};

// The text is everything before the empty line, each line with its CR LF. What was read stays in
// `head` also when it is refused, for what the answer needs to know.
//
// A target in absolute form (http://host/path) becomes its path, and its host the value of Host:
// RFC 9112 section 3.2.2 says that it wins over the header.
Refused read_head(std::string_view text, Head& head);

// One line "Name: value" without its line break.
Refused read_field(std::string_view line, Header& field);

}  // namespace holdfast::net
