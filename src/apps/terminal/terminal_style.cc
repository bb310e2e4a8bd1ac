#include "apps/terminal/terminal_style.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"

namespace holdfast {

namespace {

struct Range {
  std::uint32_t first;
  std::uint32_t last;
};

// Marks that stand on the character before them, and what is not drawn at all.
constexpr std::array kNoColumn = {
    Range{0x0300, 0x036f}, Range{0x1ab0, 0x1aff}, Range{0x1dc0, 0x1dff},
    Range{0x200b, 0x200f}, Range{0x2060, 0x2064}, Range{0x20d0, 0x20ff},
    Range{0xfe00, 0xfe0f}, Range{0xfe20, 0xfe2f}, Range{0xfeff, 0xfeff}};
constexpr std::array kTwoColumns = {
    Range{0x1100, 0x115f},   Range{0x2e80, 0x303e},   Range{0x3041, 0xa4cf},
    Range{0xa960, 0xa97f},   Range{0xac00, 0xd7a3},   Range{0xf900, 0xfaff},
    Range{0xfe30, 0xfe6f},   Range{0xff00, 0xff60},   Range{0xffe0, 0xffe6},
    Range{0x1f300, 0x1f64f}, Range{0x1f680, 0x1f6ff}, Range{0x1f900, 0x1f9ff},
    Range{0x20000, 0x3fffd}};

template <std::size_t Size>
bool is_in(const std::array<Range, Size>& ranges, std::uint32_t character) {
  return std::any_of(ranges.begin(), ranges.end(), [&](const Range& range) {
    return character >= range.first && character <= range.last;
  });
}

struct Character {
  std::size_t bytes;
  std::size_t columns;
};

// Invalid UTF-8 is counted byte by byte.
Character first_character(std::string_view text) {
  const std::size_t length = utf8_sequence_length(text);
  if (length <= 1) {
    return {1, 1};
  }
  const std::uint32_t value = code_point(text.substr(0, length));
  return {length, is_in(kNoColumn, value) ? 0U : is_in(kTwoColumns, value) ? 2U : 1U};
}

// The codes of ANSI, in the order of Ink.
constexpr std::array<std::string_view, 9> kInkCodes{"0",  "1",  "2",  "31", "32",
                                                    "33", "34", "35", "36"};

struct StatusInk {
  std::string_view status;
  Ink ink;
};
constexpr std::array kStatusInks = {
    StatusInk{"completed", Ink::green},   StatusInk{"ok", Ink::green},
    StatusInk{"failed", Ink::red},        StatusInk{"fault", Ink::red},
    StatusInk{"FAULT", Ink::red},         StatusInk{"expired", Ink::red},
    StatusInk{"overdue", Ink::red},       StatusInk{"escalated", Ink::red},
    StatusInk{"paused", Ink::yellow},     StatusInk{"retrying", Ink::yellow},
    StatusInk{"parked", Ink::red},        StatusInk{"retried", Ink::yellow},
    StatusInk{"due_soon", Ink::yellow},   StatusInk{"warning", Ink::yellow},
    StatusInk{"running", Ink::blue},      StatusInk{"started", Ink::blue},
    StatusInk{"new", Ink::blue},          StatusInk{"compensating", Ink::magenta},
    StatusInk{"cancelled", Ink::magenta}, StatusInk{"continued", Ink::cyan},
    StatusInk{"scheduled", Ink::cyan},    StatusInk{"deferred", Ink::cyan},
    StatusInk{"pending", Ink::cyan},      StatusInk{"ready", Ink::cyan},
    StatusInk{"planned", Ink::cyan},      StatusInk{"withdrawn", Ink::dim},
    StatusInk{"abandoned", Ink::dim},     StatusInk{"skipped", Ink::dim},
    StatusInk{"waiting", Ink::dim},       StatusInk{"idle", Ink::dim}};

}  // namespace

std::string Style::paint(Ink ink, std::string_view text) const {
  return colour && ink != Ink::plain && !text.empty()
             ? fmt::format("\x1b[{}m{}\x1b[0m", kInkCodes[static_cast<std::size_t>(ink)], text)
             : std::string(text);
}

Ink ink_of_status(std::string_view status) {
  const auto* const known =
      std::find_if(kStatusInks.begin(), kStatusInks.end(),
                   [&](const StatusInk& candidate) { return candidate.status == status; });
  return known == kStatusInks.end() ? Ink::plain : known->ink;
}

std::size_t columns_of(std::string_view text) {
  std::size_t columns = 0;
  while (!text.empty()) {
    const Character next = first_character(text);
    columns += next.columns;
    text.remove_prefix(next.bytes);
  }
  return columns;
}

std::size_t bytes_that_fit(std::string_view text, std::size_t width) {
  std::size_t bytes = 0;
  std::size_t columns = 0;
  while (bytes < text.size()) {
    const Character next = first_character(text.substr(bytes));
    if (columns + next.columns > width) {
      break;
    }
    bytes += next.bytes;
    columns += next.columns;
  }
  return bytes;
}

std::string cut(std::string_view text, std::size_t width) {
  if (bytes_that_fit(text, width) == text.size()) {
    return std::string(text);
  }
  return width < 2 ? std::string(width, '.')
                   : std::string(text.substr(0, bytes_that_fit(text, width - 2))) + "..";
}

std::string padded(std::string_view text, std::size_t width) {
  std::string out = cut(text, width);
  out.append(width - std::min(width, columns_of(out)), ' ');
  return out;
}

}  // namespace holdfast
