// Style: how text for people looks where it is shown.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace holdfast {

// Between columns.
inline constexpr std::size_t kGap = 2;

enum class Ink : std::uint8_t { plain, bold, dim, red, green, yellow, blue, magenta, cyan };

struct Style {
  bool colour = false;
  std::size_t width = 100;  // columns
  // Stands behind every command that is shown, so that it can be typed as it is: " --store …".
  std::string command_suffix = {};

  [[nodiscard]] std::string paint(Ink ink, std::string_view text) const;
};

// What a word for a status looks like everywhere.
Ink ink_of_status(std::string_view status);
// How many columns a text takes; the same text cut off with ".." when it takes more than a width;
// and also with spaces behind it up to that width. Colours and control characters must not be in
// it yet.
std::size_t columns_of(std::string_view text);
std::string cut(std::string_view text, std::size_t width);
std::string padded(std::string_view text, std::size_t width);
// How many bytes at the start of a text take no more columns than that.
std::size_t bytes_that_fit(std::string_view text, std::size_t width);

}  // namespace holdfast
