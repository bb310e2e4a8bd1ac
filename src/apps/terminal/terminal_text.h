// Pieces that the texts of several views are made of.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "apps/terminal/terminal_style.h"
#include "base/clock.h"
#include "base/shared_text.h"
#include "runs/view/view_words.h"

namespace holdfast {

// A text of a user, made harmless (view_words.h) and cut off at so many columns.
std::string short_text(std::string_view text, std::size_t columns);
// JSON without secrets; and what an error says, without them.
std::string short_json(const Payload& payload, std::size_t columns);
std::string short_error(const Payload& error, std::size_t columns);

// Ends with a full stop, whatever it ended with.
std::string sentence(std::string_view text);
// "in 12 s", "3 min ago", "now"
std::string from_now(TimeMs time, TimeMs now);
// "+2.3 s"
std::string offset_text(TimeMs time, TimeMs start);

// A text in as many lines as it needs: broken between words, not between a number and its unit; a
// word that is too long for a line is broken where the line ends.
std::vector<std::string> wrapped(std::string_view text, std::size_t width);
// The same with something before the first line and before each other one. `ink` is for the text.
struct Margins {
  std::string first = {};
  std::string rest = {};
};
std::string paragraph(std::string_view text, const Margins& margins, Ink ink, const Style& style);

// A command to type, under what it is good for: never cut, never broken.
std::string command_line(std::string_view command, std::size_t indent, const Style& style);

// The first line of what is about one run: "order version 3  running".
struct Title {
  std::string workflow;
  std::string version = {};
  std::string status = {};
};
std::string title_line(const Title& title, const Style& style);

}  // namespace holdfast
