// Heads of responses as bytes, and problem documents (RFC 9457) as responses.
#pragma once

#include <cstdint>
#include <ctime>
#include <string>
#include <string_view>

#include "net/http_head.h"

namespace holdfast::net {

// How the end of a body is marked.
enum class BodyEnd : std::uint8_t {
  length,   // Content-Length
  chunked,  // the empty chunk
  close,    // the end of the connection
};

// The Connection header of a response; `implied`: none, the default of the HTTP version applies.
enum class After : std::uint8_t { implied, close, keep_alive };

struct AnswerForm {
  BodyEnd end = BodyEnd::length;
  After after = After::implied;
};

// Everything before the body. Headers of the handler that the server sets itself (Content-Length,
// Transfer-Encoding, Connection, Date) are dropped; control characters in values become spaces, so
// that no value can end its header.
std::string response_head(const Response& response, AnswerForm form, std::string_view date);

// 204 and 304 never have a body.
bool may_have_body(int status);

// `more`: further members, all of them strings.
Response problem(const Refusal& refusal, const std::vector<Header>& more = {});

// "Sun, 06 Nov 1994 08:49:37 GMT"
std::string http_date(std::time_t time);

// "1f4\r\n": the size line before a chunk.
std::string chunk_head(std::size_t size);

}  // namespace holdfast::net
