// SourceText: the text of a file and where in it a byte stands, as editors count.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "holdfast/result.h"

namespace holdfast {

// From 1. A column is a character, not a byte.
struct SourceLocation {
  std::size_t line = 1;
  std::size_t column = 1;

  friend auto operator<=>(const SourceLocation&, const SourceLocation&) = default;
};

inline constexpr std::size_t kMaxSourceBytes = std::size_t{1} << 20U;

// The error of a text that cannot be read: invalid_definition, the location in the message and in
// the fields "line" and "column", and in the field "reason" the words alone.
Error source_error(SourceLocation location, std::string_view reason);

class SourceText {
 public:
  // Takes away a byte order mark. The error (source_error) of a text that is over kMaxSourceBytes,
  // not UTF-8, or has control characters.
  static Result<SourceText> create(std::string_view text);

  // What a reader of YAML gets. The same as the text, but that pairs of surrogates in the strings
  // of a JSON text are one escape (\ud83d\ude00 is \U0001f600): YAML does not know such pairs.
  [[nodiscard]] const std::string& readable() const { return readable_; }
  // The location of a byte of `readable`; behind the end: the end.
  [[nodiscard]] SourceLocation location(std::size_t offset) const;

 private:
  SourceText() = default;

  std::string readable_;
  std::vector<std::size_t> lines_;   // where in `readable` each line begins
  std::vector<std::size_t> joined_;  // where in `readable` pairs became shorter
};

}  // namespace holdfast
