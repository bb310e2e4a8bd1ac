#include <fmt/format.h>

#include <algorithm>

#include "apps/terminal/show.h"
#include "apps/terminal/terminal_text.h"

namespace holdfast {

namespace {

constexpr std::size_t kOffsetWidth = 12;  // "+59 min 59 s"
constexpr std::size_t kStepWidth = 20;

Ink ink_of(const TimelineEvent& event) {
  if (event.type == "attempt_failed") {
    return Ink::red;
  }
  if (event.type == "attempt_completed") {
    return Ink::green;
  }
  if (event.type == "manual_step_paused" || event.type == "step_parked" ||
      event.type == "event_wait_opened") {
    return Ink::yellow;
  }
  return event.type == "run_started" || event.type == "run_terminal" ? Ink::bold : Ink::plain;
}

// The step stands in a column of its own.
std::string_view without_step(const TimelineEvent& event) {
  std::string_view text = event.summary;
  const std::string prefix = event.step + ": ";
  if (!event.step.empty() && text.starts_with(prefix)) {
    text.remove_prefix(prefix.size());
  }
  return text;
}

}  // namespace

std::string show_event(const TimelineEvent& event, TimeMs started_at, const Style& style) {
  constexpr std::size_t kTimeAt = 11;  // of "2026-01-31T23:59:59.123Z"
  constexpr std::size_t kTimeWidth = 12;
  const std::string offset = offset_text(event.at, started_at);
  const std::string gap(kGap, ' ');
  std::string out(kOffsetWidth - std::min(kOffsetWidth, offset.size()), ' ');
  out += offset + gap;
  out += style.paint(Ink::dim, format_time(event.at).substr(kTimeAt, kTimeWidth)) + gap;
  const std::size_t step_width = std::min(kStepWidth, style.width / 5);
  out += padded(harmless(event.step), step_width) + gap;
  const std::string margin(kOffsetWidth + kTimeWidth + step_width + 3 * kGap, ' ');
  // The columns before the text stand where its margin would.
  return out + paragraph(without_step(event), {margin, margin}, ink_of(event), style)
                   .substr(margin.size());
}

}  // namespace holdfast
