#include "base/utf8_cut.h"

#include "base/text.h"

namespace holdfast {
namespace {

constexpr std::size_t kLongestTail = 3;  // of a character: the bytes after its first

bool continues_character(char byte) { return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U; }

}  // namespace

std::string_view utf8_prefix(std::string_view text, std::size_t max_bytes) {
  if (text.size() <= max_bytes) {
    return text;
  }
  std::size_t end = max_bytes;
  for (std::size_t back = 0; back < kLongestTail && end > 0; ++back) {
    if (!continues_character(text[end])) {
      return text.substr(0, end);
    }
    --end;
  }
  return text.substr(0, continues_character(text[end]) ? max_bytes : end);
}

std::string_view utf8_suffix(std::string_view text, std::size_t max_bytes) {
  if (text.size() <= max_bytes) {
    return text;
  }
  text.remove_prefix(text.size() - max_bytes);
  for (std::size_t i = 0; i < kLongestTail && !text.empty(); ++i) {
    if (!continues_character(text.front())) {
      break;
    }
    text.remove_prefix(1);
  }
  return text;
}

std::string valid_utf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = utf8_sequence_length(text);
    if (length == 0) {
      out += "\xEF\xBF\xBD";
      text.remove_prefix(1);
    } else {
      out += text.substr(0, length);
      text.remove_prefix(length);
    }
  }
  return out;
}

}  // namespace holdfast
