#include <fmt/format.h>

#include <algorithm>

#include "apps/terminal/show.h"
#include "apps/terminal/terminal_text.h"
#include "apps/terminal/text_table.h"
#include "runs/view/view_words.h"

namespace holdfast {

namespace {

constexpr std::size_t kMaxNote = 200;

// "14:02:03" of today, "11-15 14:02" of this year, "2025-11-15" of another.
std::string short_time(TimeMs time, TimeMs now) {
  const std::string text = format_time(time);
  const std::string today = format_time(now);
  const auto same = [&](std::size_t characters) {
    return text.substr(0, characters) == today.substr(0, characters);
  };
  constexpr std::size_t kYear = 4;
  constexpr std::size_t kDate = 10;
  if (!same(kYear)) {
    return text.substr(0, kDate);
  }
  return same(kDate) ? text.substr(kDate + 1, 8)
                     : text.substr(kYear + 1, 5) + " " + text.substr(kDate + 1, 5);
}

// On narrower terminals a note has a line of its own, below its row.
constexpr std::size_t kWidthWithNotes = 100;

Table::Cell note_of(const RunRow& row) {
  std::string note;
  Ink ink = Ink::plain;
  if (!row.error.empty()) {
    note = row.error;
    ink = Ink::red;
  } else if (!row.waits_at.empty()) {
    note = "waits at " + row.waits_at;
    ink = Ink::yellow;
  }
  if (row.archived) {
    note += note.empty() ? "archived" : ", archived";
  }
  if (row.anomalies > 0) {
    note += (note.empty() ? "" : ", ") + counted(row.anomalies, "anomaly", "anomalies");
  }
  return {short_text(note, kMaxNote), ink};
}

}  // namespace

std::string show_list(const RunRows& page, TimeMs now, const Style& style) {
  std::string out;
  if (page.rows.empty()) {
    out = page.next.empty() ? "No runs. This starts one:\n" : "No runs on this page.\n";
    out += page.next.empty() ? command_line("holdfast run FILE.yaml", 2, style) : "";
  } else {
    using Align = Table::Column::Align;
    Table table({{"RUN"},
                 {"WORKFLOW", Align::left, 8},
                 {"STATUS"},
                 {"STARTED"},
                 {"TOOK", Align::right, 0, true},
                 {"NOTE", Align::left, 8, true}});
    for (const RunRow& row : page.rows) {
      const TimeMs began = row.started_at.value_or(row.listed_at);
      const Table::Cell note = note_of(row);
      const bool beside = style.width >= kWidthWithNotes;
      table.add({{row.run_id},
                 {short_text(row.workflow, style.width)},
                 {row.status, ink_of_status(row.status)},
                 {short_time(began, now)},
                 {duration_text(row.ended_at.value_or(now).value - began.value)},
                 beside ? note : Table::Cell{}});
      if (!beside && !note.text.empty()) {
        constexpr std::size_t kNoteIndent = 2;
        const std::size_t available = style.width - std::min(style.width, kNoteIndent);
        table.add_below(std::string(kNoteIndent, ' ') +
                        style.paint(note.ink, cut(note.text, available)));
      }
    }
    out = table.text(style);
  }
  return out + (page.next.empty() ? "" : fmt::format("more: --cursor {}\n", harmless(page.next)));
}

}  // namespace holdfast
