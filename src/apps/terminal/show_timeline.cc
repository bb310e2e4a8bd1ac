#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "apps/terminal/show.h"
#include "apps/terminal/terminal_text.h"
#include "runs/facts/activation.h"
#include "runs/view/view_words.h"

namespace holdfast {

namespace {

constexpr std::size_t kMaxItems = 40;

// What a bar shows at one place; what counts more comes later.
enum class Part : std::uint8_t { nothing, waits, sleeps, runs };

std::string_view block_of(Part part) {
  static constexpr std::array<std::string_view, 4> kBlocks{" ", "░", "▒", "█"};
  return kBlocks[static_cast<std::size_t>(part)];
}

Ink ink_of(Part part, std::string_view status) {
  switch (part) {
    case Part::nothing:
      return Ink::plain;
    case Part::waits:
      return Ink::dim;
    case Part::sleeps:
      return Ink::yellow;
    case Part::runs:
      break;
  }
  return ink_of_status(status);
}

using Cells = std::vector<Part>;

struct Row {
  std::string name;
  std::string status;
  Cells cells;
  TimeMs from = {};
  TimeMs to = {};
  std::string below = {};  // in place of a bar, in a line of its own
};

// From times to places on a line.
class Scale {
 public:
  Scale(TimeMs start, TimeMs end, std::size_t cells)
      : start_(start), length_(std::max<std::int64_t>(end.value - start.value, 1)), cells_(cells) {}

  // A part that lasted takes at least one cell.
  void fill(Cells& cells, Part part, TimeMs from, TimeMs to) const {
    const std::size_t first = std::min(place(from), cells_ - 1);
    const std::size_t last = std::max(place(to), first + 1);
    for (std::size_t i = first; i < std::min(last, cells_); ++i) {
      cells[i] = std::max(cells[i], part);
    }
  }

 private:
  [[nodiscard]] std::size_t place(TimeMs time) const {
    const std::int64_t offset = std::clamp<std::int64_t>(time.value - start_.value, 0, length_);
    const double share = static_cast<double>(offset) / static_cast<double>(length_);
    return static_cast<std::size_t>(share * static_cast<double>(cells_));
  }

  TimeMs start_;
  std::int64_t length_;
  std::size_t cells_;
};

class TimelineText {
 public:
  TimelineText(const Timeline& timeline, const Style& style)
      : timeline_(timeline), style_(style), end_(timeline.ended_at.value_or(timeline.now)) {
    for (const TimelineBar& bar : timeline.bars) {
      if (is_item(bar.step)) {
        items_[std::string(without_item(bar.step))].insert(bar.step);
      }
    }
    for (const TimelineBar& bar : timeline.bars) {
      name_width_ = std::max(name_width_, columns_of(harmless(name_of(bar))));
      status_width_ = std::max(status_width_, bar.status.size());
      duration_width_ = std::max(duration_width_, duration_of(bar).size());
      end_ = std::max(end_, bar.ended_at.value_or(end_));
    }
    duration_width_ = std::max(duration_width_, total().size());
    name_width_ = std::min(name_width_, style.width * 3 / 10);
    const std::size_t used = name_width_ + status_width_ + duration_width_ + 3 * kGap;
    constexpr std::size_t kMinBar = 10;
    bar_width_ = std::max(style.width - std::min(style.width, used), kMinBar);
  }

  std::string text() {
    std::string out = scale_line();
    for (const Row& row : rows()) {
      out += line_of(row);
    }
    return out + "\n" + legend();
  }

 private:
  [[nodiscard]] bool is_folded(const TimelineBar& bar) const {
    const auto items = is_item(bar.step) ? items_.find(without_item(bar.step)) : items_.end();
    return items != items_.end() && items->second.size() > kMaxItems;
  }

  [[nodiscard]] std::string name_of(const TimelineBar& bar) const {
    if (is_folded(bar)) {
      return std::string(without_item(bar.step)) + "[*]";
    }
    return bar.attempt > 1 ? fmt::format("{} (attempt {})", bar.step, bar.attempt) : bar.step;
  }

  [[nodiscard]] TimeMs end_of(const TimelineBar& bar) const { return bar.ended_at.value_or(end_); }
  // The duration since a worker began it or, before that, since it was scheduled.
  [[nodiscard]] static TimeMs begin_of(const TimelineBar& bar) {
    return bar.started_at.value_or(bar.scheduled_at);
  }
  [[nodiscard]] std::string duration_of(const TimelineBar& bar) const {
    return duration_text(std::max<std::int64_t>(end_of(bar).value - begin_of(bar).value, 0));
  }
  [[nodiscard]] std::string total() const {
    return duration_text(end_.value - timeline_.started_at.value);
  }

  // Before it is due it sleeps; until a worker begins, it waits for a worker. Work that no worker
  // does is a wait for an operator, an event or a time.
  void draw(Cells& cells, const TimelineBar& bar) const {
    const Scale scale(timeline_.started_at, end_, bar_width_);
    const TimeMs end = end_of(bar);
    const TimeMs due = std::min(bar.visible_at, end);
    if (bar.scheduled_at < due) {
      scale.fill(cells, Part::sleeps, bar.scheduled_at, due);
    }
    const TimeMs begun = std::min(bar.started_at.value_or(end), end);
    if (due < begun || (!bar.started_at.has_value() && bar.scheduled_at >= due)) {
      scale.fill(cells, Part::waits, due, begun);
    }
    if (bar.started_at.has_value()) {
      scale.fill(cells, bar.owner.empty() ? Part::sleeps : Part::runs, begun, end);
    }
  }

  [[nodiscard]] std::vector<Row> rows() const {
    std::vector<Row> rows;
    std::set<std::string, std::less<>> folded;
    for (const TimelineBar& bar : timeline_.bars) {
      if (!is_folded(bar)) {
        Row row{name_of(bar), bar.status, Cells(bar_width_, Part::nothing), begin_of(bar),
                end_of(bar)};
        draw(row.cells, bar);
        rows.push_back(std::move(row));
      } else if (folded.insert(std::string(without_item(bar.step))).second) {
        rows.push_back(folded_row(without_item(bar.step)));
      }
    }
    return rows;
  }

  // All items of one visit of a step.
  [[nodiscard]] Row folded_row(std::string_view visit) const {
    Row row{std::string(visit) + "[*]", "completed", Cells(bar_width_, Part::nothing), end_,
            timeline_.started_at};
    std::map<std::string, const TimelineBar*> newest;
    for (const TimelineBar& bar : timeline_.bars) {
      if (is_item(bar.step) && without_item(bar.step) == visit) {
        draw(row.cells, bar);
        row.from = std::min(row.from, begin_of(bar));
        row.to = std::max(row.to, end_of(bar));
        newest[bar.step] = &bar;
      }
    }
    std::map<std::string, std::size_t> counts;
    for (const auto& [step, bar] : newest) {
      ++counts[bar->status];
      row.status = !bar->ended_at.has_value()  ? std::string("running")
                   : row.status == "completed" ? bar->status
                                               : row.status;
    }
    row.below = counted(newest.size(), "item") + ":";
    std::string_view joint = " ";
    for (const auto& [status, number] : counts) {
      row.below += fmt::format("{}{} {}", joint, number, status);
      joint = ", ";
    }
    return row;
  }

  [[nodiscard]] std::string line_of(const Row& row) const {
    std::string out = padded(harmless(row.name), name_width_) + std::string(kGap, ' ');
    for (std::size_t i = 0; i < row.cells.size();) {
      const Part part = row.cells[i];
      std::string blocks;
      for (; i < row.cells.size() && row.cells[i] == part; ++i) {
        blocks += block_of(part);
      }
      out += style_.paint(ink_of(part, row.status), blocks);
    }
    const std::string duration =
        duration_text(std::max<std::int64_t>(row.to.value - row.from.value, 0));
    out += std::string(kGap, ' ') + style_.paint(ink_of_status(row.status), row.status);
    out += std::string(status_width_ - std::min(status_width_, row.status.size()) + kGap, ' ');
    out += std::string(duration_width_ - std::min(duration_width_, duration.size()), ' ');
    out += duration + "\n";
    if (!row.below.empty()) {
      out += std::string(name_width_ + kGap, ' ') + row.below + "\n";
    }
    return out;
  }

  [[nodiscard]] std::string scale_line() const {
    const std::string left = "0 s";
    const std::string right = total();
    const std::size_t used = left.size() + right.size();
    return std::string(name_width_ + kGap, ' ') +
           style_.paint(Ink::dim,
                        left + std::string(bar_width_ - std::min(bar_width_, used), ' ') + right) +
           "\n";
  }

  [[nodiscard]] std::string legend() const {
    return paragraph(
        fmt::format("{} claimed by a worker, {} waiting for a worker, {} sleeping or "
                    "waiting for something else",
                    block_of(Part::runs), block_of(Part::waits), block_of(Part::sleeps)),
        {}, Ink::plain, style_);
  }

  const Timeline& timeline_;
  const Style& style_;
  TimeMs end_;
  // The items of each visit of a step.
  std::map<std::string, std::set<std::string>, std::less<>> items_;
  std::size_t name_width_ = 4;
  std::size_t status_width_ = 0;
  std::size_t duration_width_ = 0;
  std::size_t bar_width_ = 0;
};

}  // namespace

std::string show_timeline(const Timeline& timeline, const Style& style) {
  const TimeMs end = timeline.ended_at.value_or(timeline.now);
  std::string out = title_line({timeline.workflow, "", timeline.status}, style);
  out +=
      fmt::format("run {}\nstarted {}, {} {}\n\n", timeline.run_id,
                  format_time(timeline.started_at), timeline.ended_at.has_value() ? "took" : "for",
                  duration_text(end.value - timeline.started_at.value));
  return out +
         (timeline.bars.empty() ? "No step has started.\n" : TimelineText(timeline, style).text());
}

}  // namespace holdfast
