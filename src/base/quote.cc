#include "base/quote.h"

#include <fmt/format.h>

#include "base/text.h"

namespace holdfast {

namespace {

bool is_between(std::uint32_t point, std::uint32_t first, std::uint32_t last) {
  return point >= first && point <= last;
}

bool is_unsafe(std::uint32_t point) {
  return point < 0x20 || is_between(point, 0x7F, 0x9F) ||  // control characters
         is_between(point, 0x2028, 0x202E) ||              // line separators, direction
         is_between(point, 0x2066, 0x2069) ||              // direction
         is_between(point, 0x200E, 0x200F) || point == 0xFEFF;
}

void append_unsafe(std::string& out, std::uint32_t point) {
  switch (point) {
    case '\n':
      out += "\\n";
      return;
    case '\t':
      out += "\\t";
      return;
    case '\r':
      out += "\\r";
      return;
    default:
      out += point < 0x80 ? fmt::format("\\x{:02x}", point) : fmt::format("\\u{{{:04x}}}", point);
  }
}

std::string shown(std::string_view text, std::size_t max_bytes, std::string_view escaped) {
  std::string out;
  std::size_t bytes = 0;
  while (bytes < text.size()) {
    const std::size_t length = utf8_sequence_length(text.substr(bytes));
    const std::string_view sequence = text.substr(bytes, length == 0 ? 1 : length);
    if (bytes + sequence.size() > max_bytes) {
      out += "...";
      break;
    }
    bytes += sequence.size();
    const std::uint32_t point = code_point(sequence);
    if (length == 0) {
      out += fmt::format("\\x{:02x}", point);
    } else if (is_unsafe(point)) {
      append_unsafe(out, point);
    } else {
      out += escaped.find(sequence) != std::string_view::npos ? "\\" : "";
      out += sequence;
    }
  }
  return out;
}

}  // namespace

std::string printable(std::string_view text, std::size_t max_bytes) {
  return shown(text, max_bytes, "");
}

std::string quote(std::string_view text) {
  return "\"" + shown(text, kMaxShownBytes, "\"\\") + "\"";
}

}  // namespace holdfast
