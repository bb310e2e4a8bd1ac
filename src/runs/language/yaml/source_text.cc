#include "runs/language/yaml/source_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json_value.h"
#include "base/text.h"

namespace holdfast {

namespace {

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
constexpr std::size_t kEscapeBytes = 6;               // \ud83d
constexpr std::size_t kPairBytes = 2 * kEscapeBytes;  // \ud83d\ude00
constexpr std::size_t kJoinedBytes = 10;              // \U0001f600
constexpr std::size_t kSaved = kPairBytes - kJoinedBytes;

bool is_control(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte < 0x20U && c != '\t' && c != '\n' && c != '\r';
}

bool begins_character(char c) { return (static_cast<unsigned char>(c) & 0xc0U) != 0x80U; }

std::vector<std::size_t> line_starts(std::string_view text) {
  std::vector<std::size_t> lines{0};
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\n') {
      lines.push_back(i + 1);
    }
  }
  return lines;
}

// The position of the first invalid byte, and the reason.
struct BadByte {
  std::size_t offset;
  std::string reason;
};
std::optional<BadByte> find_bad_byte(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    if (is_control(text[at])) {
      return BadByte{
          at, fmt::format("control character 0x{:02x}", static_cast<unsigned char>(text[at]))};
    }
    const std::size_t length = utf8_sequence_length(text.substr(at));
    if (length == 0) {
      return BadByte{at, "the text is not valid UTF-8"};
    }
    at += length;
  }
  return std::nullopt;
}

// The four hex digits of \uXXXX at the start of a valid JSON escape; 0 when it is another escape.
unsigned long unicode_escape(std::string_view text) {
  constexpr int kHex = 16;
  return text.starts_with("\\u")
             ? std::stoul(std::string(text.substr(2, kEscapeBytes - 2)), nullptr, kHex)
             : 0;
}

// `json` must be valid: then backslashes occur only in strings, and surrogates only in pairs.
std::string join_surrogates(std::string_view json, std::vector<std::size_t>& joined) {
  std::string out;
  out.reserve(json.size());
  for (std::size_t at = 0; at < json.size();) {
    if (json[at] != '\\') {
      out += json[at++];
      continue;
    }
    const unsigned long high = unicode_escape(json.substr(at));
    if (high < 0xd800 || high > 0xdbff) {
      out += json.substr(at, 2);
      at += 2;
      continue;
    }
    const unsigned long low = unicode_escape(json.substr(at + kEscapeBytes));
    out += fmt::format("\\U{:08x}", 0x10000 + ((high - 0xd800) << 10U) + (low - 0xdc00));
    joined.push_back(out.size());
    at += kPairBytes;
  }
  return out;
}

bool may_have_surrogates(std::string_view text) {
  return text.find("\\ud") != std::string_view::npos || text.find("\\uD") != std::string_view::npos;
}

}  // namespace

Error source_error(SourceLocation location, std::string_view reason) {
  return Error{ErrorCode::invalid_definition,
               fmt::format("line {}, column {}: {}", location.line, location.column, reason)}
      .with("line", std::uint64_t{location.line})
      .with("column", std::uint64_t{location.column})
      .with("reason", reason);
}

Result<SourceText> SourceText::create(std::string_view text) {
  if (text.size() > kMaxSourceBytes) {
    return source_error({}, "the text is longer than 1 MiB, the limit for a workflow");
  }
  if (text.starts_with(kByteOrderMark)) {
    text.remove_prefix(kByteOrderMark.size());
  }
  SourceText source;
  source.readable_ = text;
  source.lines_ = line_starts(text);
  if (const auto bad = find_bad_byte(text)) {
    return source_error(source.location(bad->offset), bad->reason);
  }
  if (may_have_surrogates(text) && JsonText::parse(text).ok()) {
    source.readable_ = join_surrogates(text, source.joined_);
    source.lines_ = line_starts(source.readable_);
  }
  return source;
}

SourceLocation SourceText::location(std::size_t offset) const {
  offset = std::min(offset, readable_.size());
  const auto next = std::upper_bound(lines_.begin(), lines_.end(), offset);
  const std::size_t start = *(next - 1);
  const auto before = readable_.begin();
  const auto characters =
      std::count_if(before + static_cast<std::ptrdiff_t>(start),
                    before + static_cast<std::ptrdiff_t>(offset), begins_character);
  const auto pairs = std::upper_bound(joined_.begin(), joined_.end(), offset) -
                     std::upper_bound(joined_.begin(), joined_.end(), start);
  return {static_cast<std::size_t>(next - lines_.begin()),
          1 + static_cast<std::size_t>(characters) + static_cast<std::size_t>(pairs) * kSaved};
}

}  // namespace holdfast
