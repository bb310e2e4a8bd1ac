#include "apps/terminal/live_progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "runs/facts/activation.h"
#include "runs/view/view_words.h"

namespace holdfast {

namespace {

constexpr std::size_t kBarCells = 20;

// When the step first did something, and when it last did.
struct Times {
  std::optional<TimeMs> from = std::nullopt;
  std::optional<TimeMs> to = std::nullopt;
  bool open = false;
};

std::map<std::string, Times> times_of(const std::vector<TimelineBar>& bars) {
  std::map<std::string, Times> times;
  for (const TimelineBar& bar : bars) {
    const Activation activation = parse_activation(bar.step);
    Times& step = times[activation.compensation ? bar.step : std::string(activation.step)];
    if (bar.started_at.has_value()) {
      step.from = std::min(step.from.value_or(*bar.started_at), *bar.started_at);
    }
    if (bar.ended_at.has_value()) {
      step.to = std::max(step.to.value_or(*bar.ended_at), *bar.ended_at);
    } else {
      step.open = true;
    }
  }
  return times;
}

std::string bar_of(const ItemCounts& items) {
  const std::uint64_t total = std::max<std::uint64_t>(items.total, 1);
  const auto done = static_cast<std::size_t>(std::min(items.done, total) * kBarCells / total);
  std::string bar = "[";
  for (std::size_t cell = 0; cell < kBarCells; ++cell) {
    bar += cell < done ? "#" : ".";
  }
  return fmt::format("{}] {}/{}", bar, items.done, items.total);
}

bool has_ended(const GraphNode& node) {
  return node.status == "completed" || node.status == "failed" || node.status == "withdrawn" ||
         node.status == "abandoned";
}

std::string elapsed_of(const Times& times, TimeMs now) {
  if (!times.from.has_value()) {
    return "";
  }
  const TimeMs end = times.open ? now : times.to.value_or(now);
  return duration_text(end.value - times.from->value);
}

std::string step_line(const GraphNode& node, const Times& times, const LivePicture& picture,
                      const Style& style, std::size_t name_width) {
  std::string details;
  const auto add = [&](const std::string& text) {
    details += (details.empty() || text.empty() ? "" : ", ") + text;
  };
  if (node.items.has_value()) {
    details = bar_of(*node.items);
    if (node.items->failed > 0) {
      add(fmt::format("{} failed", node.items->failed));
    }
  } else if (node.attempts > 1) {
    add(fmt::format("attempt {}", node.attempts));
  }
  if (node.visits > 1) {
    add(fmt::format("visit {}", node.visits));
  }
  add(elapsed_of(times, picture.why.now));
  if (!node.error.empty() && node.status != "completed") {
    add(error_text(node.error));
  }
  constexpr std::size_t kStatusWidth = 10;
  const std::size_t used = 2 + name_width + 2 + kStatusWidth + 2;
  const std::size_t left = style.width > used ? style.width - used : 1;
  return fmt::format("  {}  {}  {}", padded(node.id, name_width),
                     style.paint(ink_of_status(node.status), padded(node.status, kStatusWidth)),
                     columns_of(details) > left ? padded(details, left) : details);
}

// What is waited for, when there is something to do about it or to wait for.
std::vector<std::string> waiting_lines(const LivePicture& picture, const Style& style) {
  std::vector<std::string> lines;
  const Explanation& why = picture.why;
  if (why.terminal || why.reason == Reason::attempt_claimed) {
    return lines;
  }
  const std::string text = one_line(why.summary, 1000);
  lines.push_back(
      style.paint(Ink::yellow, columns_of(text) > style.width ? padded(text, style.width) : text));
  const auto offer = [&](const std::vector<NextAction>& actions) {
    for (const NextAction& next : actions) {
      // The reader of this text runs an engine process already; a handler needs another program.
      if (next.command.empty() && next.action == "wait_for_worker_claim") {
        lines.push_back("  " + one_line(next.summary));
      } else if (!next.command.empty() && !next.command.starts_with("holdfast work")) {
        lines.push_back("  " + next.command + style.command_suffix);
      }
    }
  };
  offer(why.next_actions);
  // Other steps may wait for an operator too.
  for (const Cause& cause : why.causes) {
    if (cause.reason == Reason::manual_intervention_required && cause.step != why.step) {
      offer(cause.next_actions);
    }
  }
  return lines;
}

}  // namespace

std::vector<std::string> live_lines(const LivePicture& picture, const Style& style,
                                    std::size_t height) {
  const auto times = times_of(picture.bars);
  std::vector<std::string> below = waiting_lines(picture, style);
  constexpr std::size_t kMaxBelow = 6;
  below.resize(std::min(below.size(), kMaxBelow));
  std::vector<const GraphNode*> nodes;
  std::size_t name_width = 4;
  for (const GraphNode& node : picture.graph.nodes) {
    nodes.push_back(&node);
    name_width = std::max(name_width, columns_of(node.id));
  }
  name_width = std::min(name_width, std::max<std::size_t>(style.width / 3, 8));
  const std::size_t max_rows = std::max<std::size_t>(height, below.size() + 3) - below.size() - 1;
  std::vector<std::string> lines;
  std::size_t folded = 0;
  if (nodes.size() > max_rows) {
    const std::size_t before = nodes.size();
    // Steps that have ended are omitted first, then those that have not begun.
    std::size_t too_many = nodes.size() - (max_rows - 1);
    for (const bool ended : {true, false}) {
      nodes.erase(std::remove_if(nodes.begin(), nodes.end(),
                                 [&](const GraphNode* node) {
                                   const bool left_out =
                                       too_many > 0 &&
                                       (ended ? has_ended(*node) : node->status == "waiting");
                                   too_many -= left_out ? 1 : 0;
                                   return left_out;
                                 }),
                  nodes.end());
    }
    nodes.resize(std::min(nodes.size(), max_rows - 1));
    folded = before - nodes.size();
  }
  if (folded > 0) {
    lines.push_back(style.paint(Ink::dim, fmt::format("  ({})", counted(folded, "more step"))));
  }
  for (const GraphNode* node : nodes) {
    const auto known = times.find(node->id);
    lines.push_back(step_line(*node, known == times.end() ? Times{} : known->second, picture, style,
                              name_width));
  }
  lines.insert(lines.end(), below.begin(), below.end());
  return lines;
}

}  // namespace holdfast
