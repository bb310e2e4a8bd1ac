#include "apps/terminal/text_table.h"

#include <algorithm>
#include <utility>

#include "holdfast/assert.h"

namespace holdfast {

namespace {

std::size_t total(const std::vector<std::size_t>& widths) {
  std::size_t sum = 0;
  for (const std::size_t width : widths) {
    sum += width == 0 ? 0 : width + (sum == 0 ? 0 : kGap);
  }
  return sum;
}

}  // namespace

void Table::add(std::vector<Cell> cells) {
  HOLDFAST_ASSERT(cells.size() == columns_.size());
  rows_.push_back({std::move(cells)});
}

void Table::add_below(std::string line) { rows_.back().below.push_back(std::move(line)); }

// 0: the column is omitted.
std::vector<std::size_t> Table::widths(std::size_t available) const {
  std::vector<std::size_t> widths(columns_.size(), 0);
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    for (const Row& row : rows_) {
      widths[i] = std::max(widths[i], columns_of(row.cells[i].text));
    }
    widths[i] = widths[i] == 0 ? 0 : std::max(widths[i], columns_of(columns_[i].title));
  }
  for (std::size_t i = columns_.size(); i-- > 0;) {
    const std::size_t now = total(widths);
    if (now <= available) {
      break;
    }
    const Column& column = columns_[i];
    const std::size_t left = widths[i] - std::min(widths[i], now - available);
    if (column.at_least > 0 && left >= column.at_least) {
      widths[i] = left;
    } else if (column.may_go) {
      widths[i] = 0;
    } else if (column.at_least > 0) {
      widths[i] = std::min(widths[i], column.at_least);
    }
  }
  return widths;
}

std::string Table::line(const std::vector<Cell>& cells, const std::vector<std::size_t>& widths,
                        const Style& style) const {
  std::string out;
  std::size_t spaces = 0;  // that stand before the next text
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (widths[i] == 0) {
      continue;
    }
    const std::string text = cut(cells[i].text, widths[i]);
    const std::size_t rest = widths[i] - columns_of(text);
    const bool right = columns_[i].align == Column::Align::right;
    spaces += right ? rest : 0;
    if (!text.empty()) {
      out += std::string(spaces, ' ') + style.paint(cells[i].ink, text);
      spaces = 0;
    }
    spaces += (right ? 0 : rest) + kGap;
  }
  return out + "\n";
}

std::string Table::text(const Style& style, std::size_t indent) const {
  const std::string margin(indent, ' ');
  const auto columns = widths(style.width - std::min(style.width, indent));
  std::vector<Cell> titles;
  bool titled = false;
  for (const Column& column : columns_) {
    titles.push_back({column.title, Ink::dim});
    titled = titled || !column.title.empty();
  }
  std::string out = titled ? margin + line(titles, columns, style) : std::string();
  for (const Row& row : rows_) {
    out += margin + line(row.cells, columns, style);
    for (const std::string& below : row.below) {
      out += margin + below + "\n";
    }
  }
  return out;
}

}  // namespace holdfast
