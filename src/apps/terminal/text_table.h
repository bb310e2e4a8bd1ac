// Table: rows under titles, as wide as what stands in them and no wider than the style.
#pragma once

#include <string>
#include <vector>

#include "apps/terminal/terminal_style.h"

namespace holdfast {

class Table {
 public:
  struct Column {
    enum class Align : std::uint8_t { left, right };
    std::string title;
    Align align = Align::left;
    // When the rows are too wide, the column may shrink to this width (0: it never shrinks) and
    // may be omitted if that is not enough. The last such column shrinks first.
    std::size_t at_least = 0;
    bool may_go = false;
  };
  struct Cell {
    std::string text;
    Ink ink = Ink::plain;
  };

  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // One cell for each column, without control characters.
  void add(std::vector<Cell> cells);
  // A line of its own under the newest row, as it is.
  void add_below(std::string line);

  // Empty columns are omitted.
  [[nodiscard]] std::string text(const Style& style, std::size_t indent = 0) const;

 private:
  struct Row {
    std::vector<Cell> cells;
    std::vector<std::string> below = {};
  };
  [[nodiscard]] std::vector<std::size_t> widths(std::size_t available) const;
  [[nodiscard]] std::string line(const std::vector<Cell>& cells,
                                 const std::vector<std::size_t>& widths, const Style& style) const;

  std::vector<Column> columns_;
  std::vector<Row> rows_;
};

}  // namespace holdfast
