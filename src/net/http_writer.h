// What the server says: heads of answers as bytes, and problems (RFC 9457) as answers.
#pragma once

#include <cstdint>
#include <ctime>
#include <string>
#include <string_view>

#include "net/http_head.h"

namespace holdfast::net {

// How the end of a body is known.
enum class BodyEnd : std::uint8_t {
  length,   // Content-Length
  chunked,  // the empty chunk
  close,    // the end of the connection
};

// What is said about the connection after the answer; `implied` is what the version means anyway.
enum class After : std::uint8_t { implied, close, keep_alive };

struct AnswerForm {
  BodyEnd end = BodyEnd::length;
  After after = After::implied;
};

// Everything up to the body. Headers of the response that belong to the server (Content-Length,
// Transfer-Encoding, Connection, Date) are left out; control characters in values become spaces, so
// that no value can end its header.
std::string response_head(const Response& response, AnswerForm form, std::string_view date);

// 204 and 304 have no body, whatever the handler says.
bool may_have_body(int status);

// `more`: further members, all of them texts.
Response problem(const Refusal& refusal, const std::vector<Header>& more = {});

// "Sun, 06 Nov 1994 08:49:37 GMT"
std::string http_date(std::time_t time);

// "1f4\r\n": what stands before a chunk.
std::string chunk_head(std::size_t size);

}  // namespace holdfast::net
