#include "runs/language/data/calendar.h"

#include <array>

#include "holdfast/assert.h"

namespace holdfast {

namespace {

bool is_leap(int year) { return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0); }

}  // namespace

int days_in_month(int year, int month) {
  constexpr std::array<int, 12> kDays{31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  HOLDFAST_ASSERT(month >= 1 && month <= 12);
  return month == 2 && is_leap(year) ? 29 : kDays[static_cast<std::size_t>(month - 1)];
}

std::int64_t days_since_epoch(int year, int month, int day) {
  HOLDFAST_ASSERT(month >= 1 && month <= 12);
  // Years begin in March here, so that the leap day is the last day of its year.
  const std::int64_t march_year = std::int64_t{year} - (month <= 2 ? 1 : 0);
  const std::int64_t era = (march_year >= 0 ? march_year : march_year - 399) / 400;
  const std::int64_t year_of_era = march_year - era * 400;
  const std::int64_t march_month = (month + 9) % 12;
  const std::int64_t day_of_year = (153 * march_month + 2) / 5 + day - 1;
  const std::int64_t day_of_era =
      year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
  constexpr std::int64_t kDaysPerEra = 146'097;
  constexpr std::int64_t kEpoch = 719'468;  // days from 0000-03-01 to 1970-01-01
  return era * kDaysPerEra + day_of_era - kEpoch;
}

int weekday_of(int year, int month, int day) {
  constexpr int kThursday = 4;  // 1970-01-01
  const auto weekday = (days_since_epoch(year, month, day) + kThursday) % 7;
  return static_cast<int>(weekday >= 0 ? weekday : weekday + 7);
}

}  // namespace holdfast
