#include <fmt/format.h>

#include <algorithm>

#include "apps/terminal/show.h"
#include "apps/terminal/terminal_text.h"

namespace holdfast {

namespace {

struct Look {
  std::string_view sign;
  Ink ink;
};

Look look_of(JsonChange::Kind kind) {
  switch (kind) {
    case JsonChange::Kind::added:
      return {"+", Ink::green};
    case JsonChange::Kind::removed:
      return {"-", Ink::red};
    case JsonChange::Kind::changed:
      break;
  }
  return {"~", Ink::yellow};
}

constexpr std::string_view kArrow = " -> ";

// Both values share the columns: a short value leaves its unused columns to the other.
std::string before_and_after(const JsonChange& change, std::size_t columns) {
  columns -= std::min(columns, kArrow.size());
  const std::string before = short_text(change.before, columns);
  const std::string after = short_text(change.after, columns);
  const std::size_t left = columns_of(before);
  const std::size_t right = columns_of(after);
  const std::size_t half = columns / 2;
  const std::size_t for_left = right < columns - half ? columns - right : half;
  const std::size_t for_right = left < half ? columns - left : columns - half;
  return left + right <= columns
             ? before + std::string(kArrow) + after
             : cut(before, for_left) + std::string(kArrow) + cut(after, for_right);
}

}  // namespace

std::string show_changes(const std::vector<JsonChange>& changes, const Style& style) {
  if (changes.empty()) {
    return "No differences.\n";
  }
  std::string out;
  for (const JsonChange& change : changes) {
    const Look look = look_of(change.kind);
    const std::string path = short_text(change.path, style.width / 2);
    const std::size_t used = columns_of(path) + 4;  // "~ " and ": "
    const std::size_t columns = style.width - std::min(style.width, used);
    const std::string values =
        change.kind == JsonChange::Kind::changed
            ? before_and_after(change, columns)
            : short_text(change.kind == JsonChange::Kind::added ? change.after : change.before,
                         columns);
    out += style.paint(look.ink, fmt::format("{} {}", look.sign, path)) + ": " + values + "\n";
  }
  return out;
}

}  // namespace holdfast
