// ResponseReader: the bytes of one HTTP/1.1 answer, in whatever pieces they come. Strict: what is
// malformed, ambiguous or too large is refused, and so is a body that does not say where it ends.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast::client {

struct ResponseLimits {
  std::size_t head_bytes = 64U << 10U;  // status line, headers, trailers, each line of a chunk
  std::size_t body_bytes = 64U << 20U;  // that are in memory at once
};

class ResponseReader {
 public:
  using Headers = std::vector<std::pair<std::string, std::string>>;  // names in lower case

  explicit ResponseReader(ResponseLimits limits = {}) : limits_(limits) {}

  // False: it is no answer that can be used; fault() says why.
  bool feed(std::string_view bytes);

  [[nodiscard]] bool begun() const { return begun_; }  // a byte has come
  [[nodiscard]] bool head_done() const { return state_ > State::head; }
  [[nodiscard]] bool done() const { return state_ == State::done; }
  // The connection may be used again after it.
  [[nodiscard]] bool keeps_alive() const { return done() && keep_alive_ && buffer_.empty(); }
  [[nodiscard]] const std::string& fault() const { return fault_; }

  [[nodiscard]] int status() const { return status_; }
  [[nodiscard]] Headers& headers() { return headers_; }
  // The first of that name (lower case); empty when there is none.
  [[nodiscard]] std::string_view header(std::string_view name) const;
  // What has come of the body and was not taken yet.
  [[nodiscard]] std::string take_body() { return std::exchange(body_, {}); }

 private:
  enum class State : std::uint8_t { head, length, chunk_size, chunk, chunk_end, trailers, done };

  bool refuse(std::string_view why);
  bool read_head();
  bool read_status_line(std::string_view line);
  bool read_header(std::string_view line);
  bool begin_body();
  bool read_body();
  bool read_chunk_size();
  bool read_trailers();
  bool take(State next);
  // The next line without its end; empty optional: it is not complete.
  std::optional<std::string_view> line();

  ResponseLimits limits_;
  State state_ = State::head;
  std::string buffer_;
  std::size_t at_ = 0;  // what of the buffer is dealt with
  std::string body_;
  std::uint64_t left_ = 0;  // of the body or the chunk
  std::size_t head_size_ = 0;
  int status_ = 0;
  Headers headers_;
  bool begun_ = false;
  bool keep_alive_ = true;
  std::string fault_;
};

}  // namespace holdfast::client
