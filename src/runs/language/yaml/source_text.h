// SourceText: the text of a file, and the line and column of each byte as editors count them.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "holdfast/result.h"

namespace holdfast {

// Both from 1. A column counts characters, not bytes.
struct SourceLocation {
  std::size_t line = 1;
  std::size_t column = 1;

  friend auto operator<=>(const SourceLocation&, const SourceLocation&) = default;
};

inline constexpr std::size_t kMaxSourceBytes = std::size_t{1} << 20U;

// The error of a text that cannot be read: invalid_definition, the location in the message and in
// the fields "line" and "column", and the message alone in the field "reason".
Error source_error(SourceLocation location, std::string_view reason);

class SourceText {
 public:
  // Removes a byte order mark. A source_error when the text is larger than kMaxSourceBytes, is not
  // UTF-8, or contains control characters.
  static Result<SourceText> create(std::string_view text);

  // The text for the YAML parser: the same, except that surrogate pairs in the strings of a JSON
  // text are one escape (\ud83d\ude00 is \U0001f600), because YAML has no such pairs.
  [[nodiscard]] const std::string& readable() const { return readable_; }
  // The location of a byte of `readable`; past the end: the end.
  [[nodiscard]] SourceLocation location(std::size_t offset) const;

 private:
  SourceText() = default;

  std::string readable_;
  std::vector<std::size_t> lines_;   // where in `readable` each line begins
  std::vector<std::size_t> joined_;  // where in `readable` pairs became shorter
};

}  // namespace holdfast
