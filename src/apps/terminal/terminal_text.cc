#include "apps/terminal/terminal_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "runs/run/redact.h"

namespace holdfast {

namespace {

constexpr std::size_t kMaxBytesPerColumn = 16;

}  // namespace

std::string short_text(std::string_view text, std::size_t columns) {
  // A payload may be long, and only its beginning is looked at.
  return cut(harmless(text.substr(0, (columns + 1) * kMaxBytesPerColumn)), columns);
}

std::string short_json(const Payload& payload, std::size_t columns) {
  return payload.empty() ? std::string() : short_text(redact(payload).view(), columns);
}

std::string short_error(const Payload& error, std::size_t columns) {
  return error.empty() ? std::string() : short_text(error_text(redact(error)), columns);
}

std::string sentence(std::string_view text) {
  return text.ends_with('.') || text.ends_with('!') || text.ends_with('?')
             ? std::string(text)
             : std::string(text) + ".";
}

std::string from_now(TimeMs time, TimeMs now) {
  const std::int64_t ms = time.value - now.value;
  if (ms == 0) {
    return "now";
  }
  return ms > 0 ? "in " + duration_text(ms) : duration_text(-ms) + " ago";
}

std::string offset_text(TimeMs time, TimeMs start) {
  const std::int64_t ms = time.value - start.value;
  return ms < 0 ? duration_text(ms) : "+" + duration_text(ms);
}

namespace {

// What stays together: "12 s", "3 min", "(in 12 s".
bool belongs_to(std::string_view word, std::string_view next) {
  if (word == "(in" || word == "(for") {
    return true;
  }
  const bool number = !word.empty() && word.back() >= '0' && word.back() <= '9';
  next = next.substr(0, next.find_first_of(".,;:)"));
  return number && (next == "ms" || next == "s" || next == "min" || next == "h" || next == "d");
}

std::string_view next_word(std::string_view text) { return text.substr(0, text.find(' ')); }

}  // namespace

std::vector<std::string> wrapped(std::string_view text, std::size_t width) {
  width = std::max<std::size_t>(width, 1);
  std::vector<std::string> lines(1);
  std::size_t used = 0;
  const auto add = [&](std::string_view word) {
    const std::size_t columns = columns_of(word);
    if (used > 0 && used + 1 + columns > width) {
      lines.emplace_back();
      used = 0;
    }
    lines.back() += (used > 0 ? " " : "") + std::string(word);
    used += (used > 0 ? 1 : 0) + columns;
  };
  while (!text.empty()) {
    std::size_t end = next_word(text).size();
    for (std::size_t from = 0; end < text.size();) {
      const std::string_view next = next_word(text.substr(end + 1));
      if (!belongs_to(text.substr(from, end - from), next)) {
        break;
      }
      from = end + 1;
      end = from + next.size();
    }
    std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    while (columns_of(word) > width) {
      const std::size_t bytes = std::max<std::size_t>(bytes_that_fit(word, width), 1);
      add(word.substr(0, bytes));
      word.remove_prefix(bytes);
    }
    if (!word.empty()) {
      add(word);
    }
  }
  return lines;
}

std::string paragraph(std::string_view text, const Margins& margins, Ink ink, const Style& style) {
  const std::size_t margin = std::max(columns_of(margins.first), columns_of(margins.rest));
  std::string out;
  for (const std::string& line :
       wrapped(harmless(text), style.width - std::min(style.width, margin))) {
    out += (out.empty() ? margins.first : margins.rest) + style.paint(ink, line) + "\n";
  }
  return out;
}

std::string command_line(std::string_view command, std::size_t indent, const Style& style) {
  return std::string(indent, ' ') +
         style.paint(Ink::cyan, harmless(command) + style.command_suffix) + "\n";
}

std::string title_line(const Title& title, const Style& style) {
  std::string out =
      style.paint(Ink::bold, title.workflow.empty() ? "(no workflow)"
                                                    : short_text(title.workflow, style.width / 2));
  if (!title.version.empty()) {
    out += " version " + short_text(title.version, style.width / 4);
  }
  if (!title.status.empty()) {
    out += "  " + style.paint(ink_of_status(title.status), title.status);
  }
  return out + "\n";
}

}  // namespace holdfast
