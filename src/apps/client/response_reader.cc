#include "apps/client/response_reader.h"

#include <algorithm>
#include <charconv>

#include "base/text.h"

namespace holdfast::client {

namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

std::string lowered(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), lower);
  return out;
}

bool is_token(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (lower(c) >= 'a' && lower(c) <= 'z') || (c >= '0' && c <= '9') ||
           std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
  });
}

bool is_field_text(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    return c == '\t' || (static_cast<unsigned char>(c) >= 0x20U && c != '\x7f');
  });
}

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) {
    return {};
  }
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

}  // namespace

bool ResponseReader::refuse(std::string_view why) {
  fault_ = why;
  return false;
}

bool ResponseReader::feed(std::string_view bytes) {
  if (!fault_.empty()) {
    return false;
  }
  begun_ = begun_ || !bytes.empty();
  buffer_ += bytes;
  while (state_ != State::done) {
    const State before = state_;
    const std::size_t at = at_;
    if (!(state_ == State::head ? read_head() : read_body())) {
      return false;
    }
    if (state_ == before && at_ == at) {
      break;
    }
  }
  buffer_.erase(0, at_);
  at_ = 0;
  return true;
}

std::optional<std::string_view> ResponseReader::line() {
  const std::size_t end = buffer_.find('\n', at_);
  if (end == std::string::npos) {
    return std::nullopt;
  }
  const std::string_view text = std::string_view(buffer_).substr(at_, end - at_);
  at_ = end + 1;
  return text;
}

// Line by line, so that garbage is refused before much of it was kept.
bool ResponseReader::read_head() {
  while (const auto text = line()) {
    head_size_ += text->size() + 1;
    if (head_size_ > limits_.head_bytes) {
      return refuse("its headers are too large");
    }
    if (!text->ends_with('\r')) {
      return refuse("a line of its head ends without a carriage return");
    }
    const std::string_view content = text->substr(0, text->size() - 1);
    if (status_ == 0) {
      if (!read_status_line(content)) {
        return false;
      }
    } else if (content.empty()) {
      return begin_body();
    } else if (!read_header(content)) {
      return false;
    }
  }
  if (head_size_ + buffer_.size() - at_ > limits_.head_bytes) {
    return refuse("its headers are too large");
  }
  // What is no HTTP may never have a line.
  constexpr std::string_view kVersion = "HTTP/1.1 ";
  const std::string_view begin = std::string_view(buffer_).substr(at_, kVersion.size());
  if (status_ == 0 && !kVersion.starts_with(begin)) {
    return refuse("it is no HTTP/1.1");
  }
  return true;
}

bool ResponseReader::read_status_line(std::string_view line) {
  constexpr std::string_view kVersion = "HTTP/1.1 ";
  constexpr std::size_t kDigits = 3;
  if (!line.starts_with(kVersion)) {
    return refuse("it is no HTTP/1.1");
  }
  line.remove_prefix(kVersion.size());
  const auto code = parse_decimal(line.substr(0, kDigits));
  const bool ends = line.size() == kDigits || line.substr(kDigits).starts_with(' ');
  if (line.size() < kDigits || !code.has_value() || *code < 100 || *code > 599 || !ends ||
      !is_field_text(line)) {
    return refuse("its status is none");
  }
  status_ = static_cast<int>(*code);
  return true;
}

bool ResponseReader::read_header(std::string_view line) {
  const std::size_t colon = line.find(':');
  const std::string_view name = line.substr(0, colon);
  if (colon == std::string_view::npos || !is_token(name)) {
    return refuse("a header has no name");
  }
  const std::string_view value = trimmed(line.substr(colon + 1));
  if (!is_field_text(value)) {
    return refuse("a header has control characters");
  }
  headers_.emplace_back(lowered(name), value);
  return true;
}

std::string_view ResponseReader::header(std::string_view name) const {
  for (const auto& [key, value] : headers_) {
    if (key == name) {
      return value;
    }
  }
  return {};
}

bool ResponseReader::begin_body() {
  constexpr int kNoContent = 204;
  constexpr int kNotModified = 304;
  if (status_ < 200) {
    if (status_ == 101) {
      return refuse("it changes the protocol");
    }
    status_ = 0;  // the real one follows
    headers_.clear();
    return true;
  }
  std::optional<std::uint64_t> length;
  bool chunked = false;
  for (const auto& [name, value] : headers_) {
    if (name == "content-length") {
      const auto number = parse_decimal(value);
      if (!number.has_value() || (length.has_value() && length != number)) {
        return refuse("its length is none");
      }
      length = number;
    } else if (name == "transfer-encoding") {
      if (chunked || lowered(value) != "chunked") {
        return refuse("its encoding is not known");
      }
      chunked = true;
    } else if (name == "connection" && lowered(value).find("close") != std::string::npos) {
      keep_alive_ = false;
    } else if (name == "content-encoding" && lowered(value) != "identity") {
      return refuse("its body is compressed");
    }
  }
  if (chunked && length.has_value()) {
    return refuse("it has two lengths");
  }
  if (status_ == kNoContent || status_ == kNotModified) {
    state_ = State::done;
  } else if (chunked) {
    state_ = State::chunk_size;
  } else if (!length.has_value()) {
    return refuse("it does not say where it ends");
  } else if (*length > limits_.body_bytes) {
    return refuse("it is too large");
  } else {
    left_ = *length;
    state_ = left_ == 0 ? State::done : State::length;
  }
  return true;
}

// As much of the body or the chunk as is there.
bool ResponseReader::take(State next) {
  const std::size_t count =
      static_cast<std::size_t>(std::min<std::uint64_t>(left_, buffer_.size() - at_));
  if (body_.size() + count > limits_.body_bytes) {
    return refuse("it is too large");
  }
  body_.append(buffer_, at_, count);
  at_ += count;
  left_ -= count;
  state_ = left_ == 0 ? next : state_;
  return true;
}

bool ResponseReader::read_chunk_size() {
  const auto text = line();
  if (!text.has_value()) {
    return buffer_.size() - at_ <= limits_.head_bytes || refuse("a chunk has too long a head");
  }
  const std::size_t digits = std::min(text->find_first_of(";\r"), text->size());
  constexpr std::size_t kMostDigits = 8;
  std::uint64_t size = 0;
  const char* const end = text->data() + digits;
  const auto read = std::from_chars(text->data(), end, size, 16);
  if (digits == 0 || digits > kMostDigits || read.ec != std::errc() || read.ptr != end ||
      !text->ends_with('\r') || !is_field_text(text->substr(0, text->size() - 1))) {
    return refuse("the size of a chunk is none");
  }
  left_ = size;
  state_ = size == 0 ? State::trailers : State::chunk;
  return true;
}

bool ResponseReader::read_trailers() {
  while (const auto text = line()) {
    head_size_ += text->size() + 1;
    if (!text->ends_with('\r') || head_size_ > limits_.head_bytes) {
      return refuse("what follows its last chunk is malformed or too large");
    }
    if (*text == "\r") {
      state_ = State::done;
      return true;
    }
  }
  return head_size_ + buffer_.size() - at_ <= limits_.head_bytes ||
         refuse("what follows its last chunk is malformed or too large");
}

bool ResponseReader::read_body() {
  switch (state_) {
    case State::length:
      return take(State::done);
    case State::chunk_size:
      return read_chunk_size();
    case State::chunk:
      return take(State::chunk_end);
    case State::chunk_end: {
      const std::string_view rest = std::string_view(buffer_).substr(at_, 2);
      if (!std::string_view("\r\n").starts_with(rest)) {
        return refuse("a chunk is longer than it says");
      }
      if (rest.size() == 2) {
        at_ += 2;
        state_ = State::chunk_size;
      }
      return true;
    }
    case State::trailers:
      return read_trailers();
    case State::head:
    case State::done:
      break;
  }
  return true;
}

}  // namespace holdfast::client
