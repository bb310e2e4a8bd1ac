// RequestParser: parses one request incrementally. It has no I/O and no clock, and the result does
// not depend on how the bytes are split into pieces.
//
// It follows RFC 9112 and refuses what the RFC merely tolerates: lines that end with a bare LF,
// folded headers, a body with both lengths, several lengths that differ, control characters. One
// empty line before a request is ignored. Trailers are checked and dropped.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "net/http_head.h"

namespace holdfast::net {

struct ParserLimits {
  std::size_t header_bytes = 16U << 10U;  // request line and headers: 414, 431
  std::size_t body_bytes = 8U << 20U;     // 413
};

class RequestParser {
 public:
  enum class State : std::uint8_t { head, body, done, refused };

  explicit RequestParser(const ParserLimits& limits) : limits_(limits) {}

  // The number of bytes that belong to this request; fewer than all only if it is done or refused.
  std::size_t take(std::string_view bytes);

  [[nodiscard]] State state() const { return state_; }
  [[nodiscard]] const Refusal& refusal() const { return refusal_; }
  // Complete from the state `body` on; for a refused request, the parts that were parsed.
  [[nodiscard]] const Head& head() const { return head_; }
  // Once, after the state `done` is reached.
  Request take_request();

 private:
  enum class Part : std::uint8_t { head, sized, chunk_size, chunk_data, chunk_end, trailer };

  std::size_t take_head(std::string_view bytes);
  std::size_t take_body(std::string_view bytes);
  std::size_t take_line(std::string_view bytes);
  void end_head();
  void end_line();
  void end_chunk_size(std::string_view line);
  void refuse(const Refusal& refusal);

  ParserLimits limits_;
  State state_ = State::head;
  Part part_ = Part::head;
  std::string text_;             // the head so far, or the line of a chunked body so far
  std::size_t begin_ = 0;        // of the request line in it
  std::size_t line_begin_ = 0;   // of the incomplete line
  std::uint64_t remaining_ = 0;  // of the body or chunk
  std::size_t extra_bytes_ = 0;  // of chunk extensions and trailers; limited like headers
  Head head_;
  Refusal refusal_;
};

}  // namespace holdfast::net
