// The Gregorian calendar, as arithmetic: valid for every year of four digits and far beyond.
#pragma once

#include <cstdint>

namespace holdfast {

// `month` is 1..12.
int days_in_month(int year, int month);
// Days since 1970-01-01; negative before.
std::int64_t days_since_epoch(int year, int month, int day);
// 0 is Sunday.
int weekday_of(int year, int month, int day);

}  // namespace holdfast
