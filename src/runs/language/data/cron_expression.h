// CronExpression: the five fields of cron: minute, hour, day of month, month, day of week.
//
// Each field: * or a list of values, ranges a-b and steps */n, a-b/n. Months and days of the week
// also by their English three-letter names, in any case; 7 is Sunday too, and a range may end with
// Sunday (SAT-SUN). A field with a * in it, also */n, is open, any other is restricted. When day of
// month and day of week are both restricted, a day must match one of them, otherwise both: as in
// Vixie cron. @hourly @daily @midnight @weekly @monthly @yearly @annually stand for the usual
// expressions. Pure: it knows nothing of time zones (cron/cron.h does).
#pragma once

#include <bitset>
#include <compare>
#include <optional>
#include <string_view>

#include "holdfast/result.h"

namespace holdfast {

// A minute of a calendar, without a time zone.
struct CivilMinute {
  int year = 1970;
  int month = 1;  // 1..12
  int day = 1;    // 1..31
  int hour = 0;
  int minute = 0;

  friend auto operator<=>(const CivilMinute&, const CivilMinute&) = default;
};

class CronExpression {
 public:
  // invalid_argument names the field and what is wrong with it. An expression that never matches
  // a date ("0 0 31 2 *") is refused too.
  static Result<CronExpression> parse(std::string_view text);

  [[nodiscard]] bool matches(const CivilMinute& minute) const;
  // The first match after `minute`; empty when there is none within eight years.
  [[nodiscard]] std::optional<CivilMinute> next(const CivilMinute& minute) const;
  // The last match before `minute`; empty when there is none within eight years.
  [[nodiscard]] std::optional<CivilMinute> previous(const CivilMinute& minute) const;
  // The hour field is *, or steps of it: such expressions mean elapsed time, not a time of day.
  [[nodiscard]] bool every_hour() const { return every_hour_; }
  // Both day fields exclude days, and a day must match both because one of them has */n. With a-b/n
  // in its place a day that matches either would do.
  [[nodiscard]] bool needs_both_days() const;

 private:
  [[nodiscard]] bool matches_day(int year, int month, int day) const;
  // Whether there is a date that matches, in any year.
  [[nodiscard]] bool ever_matches() const;

  std::bitset<60> minutes_;
  std::bitset<24> hours_;
  std::bitset<32> days_;
  std::bitset<13> months_;
  std::bitset<7> weekdays_;
  bool any_day_ = true;
  bool any_weekday_ = true;
  bool every_hour_ = false;
};

}  // namespace holdfast
