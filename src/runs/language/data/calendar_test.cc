#include "runs/language/data/calendar.h"

#include <gtest/gtest.h>

namespace holdfast::calendar_test {
namespace {

TEST(Calendar, every_day_of_eight_centuries_follows_the_one_before) {
  std::int64_t day = days_since_epoch(1600, 1, 1);
  int weekday = weekday_of(1600, 1, 1);
  for (int year = 1600; year < 2400; ++year) {
    for (int month = 1; month <= 12; ++month) {
      for (int date = 1; date <= days_in_month(year, month); ++date) {
        ASSERT_EQ(days_since_epoch(year, month, date), day++);
        ASSERT_EQ(weekday_of(year, month, date), weekday);
        weekday = (weekday + 1) % 7;
      }
    }
  }
}

TEST(Calendar, known_days_are_where_they_belong) {
  EXPECT_EQ(days_since_epoch(1970, 1, 1), 0);
  EXPECT_EQ(days_since_epoch(1969, 12, 31), -1);
  EXPECT_EQ(days_since_epoch(2000, 3, 1), 11'017);
  EXPECT_EQ(days_since_epoch(0, 3, 1), -719'468);
  EXPECT_EQ(days_since_epoch(-400, 3, 1), -719'468 - 146'097);
  EXPECT_EQ(weekday_of(2026, 11, 16), 1);
  EXPECT_EQ(weekday_of(2000, 2, 29), 2);
  EXPECT_EQ(weekday_of(1600, 1, 1), 6);
}

TEST(Calendar, leap_years_are_every_fourth_but_for_most_centuries) {
  EXPECT_EQ(days_in_month(2028, 2), 29);
  EXPECT_EQ(days_in_month(2026, 2), 28);
  EXPECT_EQ(days_in_month(2000, 2), 29);
  EXPECT_EQ(days_in_month(2100, 2), 28);
  EXPECT_EQ(days_in_month(2026, 4), 30);
  EXPECT_EQ(days_in_month(2026, 12), 31);
}

}  // namespace
}  // namespace holdfast::calendar_test
