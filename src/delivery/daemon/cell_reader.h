// CellReader: takes the cells of a row in the order of its columns.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/fields.h"
#include "delivery/broker/sql_session.h"
#include "holdfast/assert.h"

namespace holdfast::delivery {

class CellReader {
 public:
  explicit CellReader(const std::vector<SqlCell>& cells) : cells_(cells) {}

  const SqlCell& next() { return cells_.at(at_++); }
  std::string text() { return next().bytes; }
  std::uint64_t number() { return static_cast<std::uint64_t>(next().integer); }
  bool flag() { return next().integer != 0; }
  TimeMs time() { return TimeMs{next().integer}; }
  std::optional<TimeMs> maybe_time() {
    const SqlCell& cell = next();
    return cell.null ? std::nullopt : std::optional(TimeMs{cell.integer});
  }
  // The column is checked to hold one of the words.
  template <typename E>
  E word() {
    const auto known = enum_from<E>(next().bytes);
    HOLDFAST_ASSERT(known.has_value());
    return *known;
  }
  [[nodiscard]] bool at_end() const { return at_ == cells_.size(); }

 private:
  const std::vector<SqlCell>& cells_;
  std::size_t at_ = 0;
};

}  // namespace holdfast::delivery
