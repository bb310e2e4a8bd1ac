// Moment: the point of a journal that a query reads: now, or an earlier one.
#pragma once

#include <optional>
#include <string_view>

#include "base/clock.h"
#include "base/json_writer.h"
#include "runs/facts/ids.h"
#include "storage/journal/journal.h"

namespace holdfast {

// The point as the caller specifies it.
struct At {
  enum class Kind : std::uint8_t { now, position, time, ago, run_revision };
  Kind kind = Kind::now;
  std::uint64_t number = 0;  // a position, a revision, or milliseconds
  TimeMs time = {};

  // 123 (position), r5 (revision of the run), 2026-11-16T14:02:00Z, 2026-11-16, 10m (ago).
  // Empty: now. invalid_argument.
  static Result<At> parse(std::string_view text);
};

// The point in the journal: everything up to the position, as of that time.
struct Moment {
  Position position;
  TimeMs now;
};
// A member of that name: {"position":7,"time":1763280000000}
void write_moment(JsonWriter& json, std::string_view name, const Moment& moment);

// run: the one whose revision is meant. invalid_argument when there is no such point.
Result<Moment> find_moment(Journal& journal, const At& at, TimeMs now,
                           const std::optional<RunId>& run = std::nullopt);

}  // namespace holdfast
