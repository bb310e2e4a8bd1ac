#include "apps/terminal/next_actions.h"

#include <fmt/format.h>

#include <algorithm>

#include "apps/terminal/terminal_text.h"

namespace holdfast {

namespace {

constexpr std::size_t kMaxActions = 10;

void add(std::vector<NextAction>& all, const std::vector<NextAction>& actions) {
  for (const NextAction& action : actions) {
    const bool known = std::any_of(all.begin(), all.end(), [&](const NextAction& other) {
      return other.summary == action.summary && other.command == action.command;
    });
    if (!known) {
      all.push_back(action);
    }
  }
}

void add(std::vector<NextAction>& all, const std::vector<Cause>& causes) {
  for (const Cause& cause : causes) {
    add(all, cause.next_actions);
    add(all, cause.causes);
  }
}

}  // namespace

std::vector<NextAction> all_next_actions(const Explanation& why) {
  std::vector<NextAction> all;
  add(all, why.next_actions);
  add(all, why.causes);
  return all;
}

std::string show_next_actions(const std::vector<NextAction>& actions, TimeMs now,
                              const Style& style, std::string_view without) {
  std::string out;
  std::size_t shown = 0;
  std::size_t left_out = 0;
  for (const NextAction& action : actions) {
    if (!without.empty() && action.command == without) {
      continue;
    }
    if (shown == kMaxActions) {
      ++left_out;
      continue;
    }
    ++shown;
    const std::string when =
        action.at.has_value() ? fmt::format(" ({})", from_now(*action.at, now)) : "";
    out += paragraph(action.summary + when, {"  ", "    "}, Ink::plain, style);
    out += action.command.empty() ? "" : command_line(action.command, 6, style);
  }
  if (left_out > 0) {
    out += fmt::format("  (and {} more)\n", left_out);
  }
  return out.empty() ? out : style.paint(Ink::bold, "What to do next:") + "\n" + out;
}

}  // namespace holdfast
