// CronClock: when a cron expression is due in a time zone.
//
// Times of day (the hour field is restricted, "30 2 * * *"): every local minute that matches is due
// once. One that a change of the clocks leaves out is due at the first moment after the gap, and
// several left out by the same gap are due there together, once; one that comes twice is due the
// first time only.
//
// Every hour (CronExpression::every_hour, "*/15 * * * *"): elapsed time counts. Every minute at
// which the local clock shows a match is due: what a change of the clocks leaves out is not made up
// for, and what comes twice is due twice.
//
// The rules of time zones are those of the system's time zone database, in the files of
// /usr/share/zoneinfo or of the folder that the environment variable TZDIR names. The rule at the
// end of a file holds for all years after the last change that the file lists.
#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "base/clock.h"
#include "holdfast/result.h"
#include "runs/language/data/cron_expression.h"

namespace holdfast {

class CronZone;  // cron.cc

// Whether the time zone database has this name.
bool is_timezone(std::string_view name);

// Immutable; any thread may call it.
class CronClock {
 public:
  // invalid_argument: the expression or the time zone.
  static Result<CronClock> create(std::string_view expression, std::string_view timezone);

  // The first time that is later than this; whole minutes of the local clock. Empty: not within
  // eight years, or outside the years 1 to 9999.
  [[nodiscard]] std::optional<TimeMs> next(TimeMs after) const;
  // The last time that is not later than this, at most eight years back.
  [[nodiscard]] std::optional<TimeMs> previous(TimeMs not_after) const;

 private:
  CronClock(const CronExpression& expression, std::shared_ptr<const CronZone> zone)
      : expression_(expression), zone_(std::move(zone)) {}

  CronExpression expression_;
  std::shared_ptr<const CronZone> zone_;
};

}  // namespace holdfast
