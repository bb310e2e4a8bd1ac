#include "net/http_parser.h"

#include <algorithm>
#include <utility>

#include "holdfast/assert.h"
#include "net/http_text.h"

namespace holdfast::net {

namespace {

// A declared length is not trusted: memory is allocated as bytes arrive.
constexpr std::uint64_t kReserveBytes = 64U << 10U;
constexpr std::size_t kChunkDigits = 15;  // so that a size cannot overflow

constexpr std::string_view kBareLineFeed = "a line does not end with CR LF";

}  // namespace

std::size_t RequestParser::take(std::string_view bytes) {
  std::size_t used = 0;
  while (used < bytes.size() && (state_ == State::head || state_ == State::body)) {
    const std::string_view rest = bytes.substr(used);
    used += state_ == State::head ? take_head(rest) : take_body(rest);
  }
  return used;
}

Request RequestParser::take_request() {
  HOLDFAST_ASSERT(state_ == State::done);
  return std::move(head_.request);
}

void RequestParser::refuse(const Refusal& refusal) {
  state_ = State::refused;
  refusal_ = refusal;
}

std::size_t RequestParser::take_head(std::string_view bytes) {
  // A peer that uses another protocol, such as TLS, is refused before the time limit.
  if (text_.empty() && !is_value_character(bytes.front()) && bytes.front() != '\r' &&
      bytes.front() != '\n') {
    refuse(bad_request("this is not HTTP"));
    return 1;
  }
  const std::string_view allowed = bytes.substr(0, limits_.header_bytes - text_.size());
  std::size_t found = allowed.find('\n');
  for (; found != std::string_view::npos; found = allowed.find('\n', found + 1)) {
    const std::size_t at = text_.size() + found;
    const char before = found > 0 ? allowed[found - 1] : text_.empty() ? '\0' : text_.back();
    if (before != '\r') {
      refuse(bad_request(kBareLineFeed));
      return found + 1;
    }
    const bool empty = at == line_begin_ + 1;
    if (empty && line_begin_ == begin_) {
      if (begin_ > 0) {
        refuse(bad_request("the request line is empty"));
        return found + 1;
      }
      begin_ = at + 1;
    } else if (empty) {
      text_.append(allowed.substr(0, found));
      end_head();
      return found + 1;
    }
    line_begin_ = at + 1;
  }
  text_.append(allowed);
  if (text_.size() >= limits_.header_bytes) {
    refuse(line_begin_ == begin_ ? too_large(414, "the request line is too long")
                                 : too_large(431, "the headers are too large"));
  }
  return allowed.size();
}

void RequestParser::end_head() {
  const std::string_view lines = std::string_view(text_).substr(begin_, line_begin_ - begin_);
  if (const Refused refused = read_head(lines, head_)) {
    refuse(*refused);
    return;
  }
  text_ = std::string();
  if (!head_.chunked && head_.content_length > limits_.body_bytes) {
    refuse(too_large(413, "the body is too large"));
    return;
  }
  remaining_ = head_.content_length;
  part_ = head_.chunked ? Part::chunk_size : Part::sized;
  state_ = head_.chunked || remaining_ > 0 ? State::body : State::done;
  head_.request.body.reserve(static_cast<std::size_t>(std::min(remaining_, kReserveBytes)));
}

std::size_t RequestParser::take_body(std::string_view bytes) {
  if (part_ != Part::sized && part_ != Part::chunk_data) {
    return take_line(bytes);
  }
  const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(remaining_, bytes.size()));
  head_.request.body.append(bytes.substr(0, size));
  remaining_ -= size;
  if (remaining_ == 0 && part_ == Part::sized) {
    state_ = State::done;
  } else if (remaining_ == 0) {
    part_ = Part::chunk_end;
  }
  return size;
}

// The lines between chunks are short: one byte at a time handles every split.
std::size_t RequestParser::take_line(std::string_view bytes) {
  std::size_t used = 0;
  while (used < bytes.size()) {
    const char c = bytes[used++];
    if (c != '\n') {
      text_.push_back(c);
      if (text_.size() + extra_bytes_ > limits_.header_bytes) {
        refuse(too_large(431, "the chunk extensions or trailers are too large"));
        break;
      }
      continue;
    }
    if (text_.empty() || text_.back() != '\r') {
      refuse(bad_request(kBareLineFeed));
      break;
    }
    text_.pop_back();
    end_line();
    text_.clear();
    break;
  }
  return used;
}

void RequestParser::end_line() {
  if (part_ == Part::chunk_size) {
    end_chunk_size(text_);
    return;
  }
  if (part_ == Part::chunk_end) {
    if (!text_.empty()) {
      refuse(bad_request("a chunk is longer than its declared size"));
    }
    part_ = Part::chunk_size;
    return;
  }
  HOLDFAST_ASSERT(part_ == Part::trailer);
  if (text_.empty()) {
    state_ = State::done;
    return;
  }
  extra_bytes_ += text_.size();
  Header ignored;
  if (const Refused refused = read_field(text_, ignored)) {
    refuse(*refused);
  }
}

void RequestParser::end_chunk_size(std::string_view line) {
  std::size_t digits = 0;
  std::uint64_t size = 0;
  while (digits < line.size() && hex_value(line[digits]) >= 0 && digits <= kChunkDigits) {
    size = size * 16 + static_cast<std::uint64_t>(hex_value(line[digits]));
    ++digits;
  }
  const std::string_view extension = line.substr(digits);
  const bool extended = extension.starts_with(';') && is_value(extension);
  if (digits == 0 || digits > kChunkDigits || (!extension.empty() && !extended)) {
    refuse(bad_request("a chunk size is not valid"));
    return;
  }
  extra_bytes_ += extension.size();
  if (size > limits_.body_bytes - head_.request.body.size()) {
    refuse(too_large(413, "the body is too large"));
    return;
  }
  remaining_ = size;
  part_ = size > 0 ? Part::chunk_data : Part::trailer;
}

}  // namespace holdfast::net
