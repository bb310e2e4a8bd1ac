#include "base/json_slice.h"

#include "base/json_value.h"
#include "base/text.h"

namespace holdfast {

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Each skip_ function moves `at` past what it names; false if that is not there.
bool skip_hex4(std::string_view text, std::size_t& at) {
  for (int i = 0; i < 4; ++i, ++at) {
    const char c = at < text.size() ? text[at] : ' ';
    if (!is_digit(c) && !(c >= 'a' && c <= 'f') && !(c >= 'A' && c <= 'F')) {
      return false;
    }
  }
  return true;
}

bool skip_escape(std::string_view text, std::size_t& at) {
  const char c = at < text.size() ? text[at++] : ' ';
  return c == 'u' ? skip_hex4(text, at)
                  : std::string_view(R"("\/bfnrt)").find(c) != std::string_view::npos;
}

bool skip_string(std::string_view text, std::size_t& at) {
  ++at;
  while (at < text.size()) {
    const auto c = static_cast<unsigned char>(text[at]);
    if (c == '"') {
      ++at;
      return true;
    }
    if (c == '\\') {
      ++at;
      if (!skip_escape(text, at)) {
        return false;
      }
    } else if (c >= 0x80U) {
      const std::size_t length = utf8_sequence_length(text.substr(at));
      if (length == 0) {
        return false;
      }
      at += length;
    } else if (c < 0x20U) {
      return false;
    } else {
      ++at;
    }
  }
  return false;
}

bool skip_digits(std::string_view text, std::size_t& at) {
  const std::size_t begin = at;
  while (at < text.size() && is_digit(text[at])) {
    ++at;
  }
  return at > begin;
}

bool skip_number(std::string_view text, std::size_t& at) {
  at += text[at] == '-' ? 1U : 0U;
  const bool zero = text.substr(at, 1) == "0";
  if (zero) {
    ++at;
  } else if (!skip_digits(text, at)) {
    return false;
  }
  if (text.substr(at, 1) == "." && !skip_digits(text, ++at)) {
    return false;
  }
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    ++at;
    at += at < text.size() && (text[at] == '+' || text[at] == '-') ? 1U : 0U;
    return skip_digits(text, at);
  }
  return true;
}

bool skip_literal(std::string_view text, std::size_t& at, std::string_view literal) {
  if (text.substr(at, literal.size()) != literal) {
    return false;
  }
  at += literal.size();
  return true;
}

bool skip_value(std::string_view text, std::size_t& at, std::size_t depth);

bool skip_name(std::string_view text, std::size_t& at) {
  return text.substr(at, 1) == "\"" && skip_string(text, at) && skip_literal(text, at, ":");
}

bool skip_container(std::string_view text, std::size_t& at, std::size_t depth) {
  const bool object = text[at++] == '{';
  const char close = object ? '}' : ']';
  if (depth >= kMaxJsonDepth) {
    return false;
  }
  if (at < text.size() && text[at] == close) {
    ++at;
    return true;
  }
  while ((!object || skip_name(text, at)) && skip_value(text, at, depth + 1) && at < text.size()) {
    const char c = text[at++];
    if (c == close) {
      return true;
    }
    if (c != ',') {
      return false;
    }
  }
  return false;
}

bool skip_value(std::string_view text, std::size_t& at, std::size_t depth) {
  switch (at < text.size() ? text[at] : ' ') {
    case '"':
      return skip_string(text, at);
    case '{':
    case '[':
      return skip_container(text, at, depth);
    case 't':
      return skip_literal(text, at, "true");
    case 'f':
      return skip_literal(text, at, "false");
    case 'n':
      return skip_literal(text, at, "null");
    default:
      return at < text.size() && skip_number(text, at);
  }
}

}  // namespace

bool is_compact_json(std::string_view text) {
  std::size_t at = 0;
  return skip_value(text, at, 0) && at == text.size();
}

std::optional<JsonMember> JsonSlicer::next() {
  if (state_ == State::done || state_ == State::broken) {
    return std::nullopt;
  }
  const bool object = text_.starts_with('{');
  if (!object && !text_.starts_with('[')) {
    return broken();
  }
  const char close = object ? '}' : ']';
  const bool first = state_ == State::before;
  at_ = first ? 1 : at_;
  if (at_ < text_.size() && text_[at_] == close) {
    state_ = at_ + 1 == text_.size() ? State::done : State::broken;
    return std::nullopt;
  }
  if (!first && !skip_literal(text_, at_, ",")) {
    return broken();
  }
  state_ = State::inside;
  JsonMember member;
  const std::size_t name = at_;
  if (object) {
    if (!skip_name(text_, at_)) {
      return broken();
    }
    member.name = text_.substr(name + 1, at_ - name - 3);
  }
  const std::size_t value = at_;
  if (!skip_value(text_, at_, 1)) {
    return broken();
  }
  member.value = text_.substr(value, at_ - value);
  return member;
}

std::optional<std::string> json_string_value(std::string_view slice) {
  if (slice.size() < 2 || slice.front() != '"') {
    return std::nullopt;
  }
  const std::string_view inner = slice.substr(1, slice.size() - 2);
  if (inner.find('\\') == std::string_view::npos) {
    return std::string(inner);
  }
  const auto parsed = Json::parse(slice);
  const auto text = parsed.ok() ? parsed.value().string() : std::nullopt;
  return text.has_value() ? std::optional(std::string(*text)) : std::nullopt;
}

}  // namespace holdfast
