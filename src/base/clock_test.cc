#include "base/clock.h"

#include <gtest/gtest.h>

namespace holdfast::clock_test {
namespace {

TEST(FormatTime, is_utc_with_milliseconds) {
  EXPECT_EQ(format_time(TimeMs{0}), "1970-01-01T00:00:00.000Z");
  EXPECT_EQ(format_time(TimeMs{1'709'210'096'007}), "2024-02-29T12:34:56.007Z");
  EXPECT_EQ(format_time(TimeMs{253'402'300'799'999}), "9999-12-31T23:59:59.999Z");
}

TEST(FormatTime, times_before_1970_are_correct) {
  EXPECT_EQ(format_time(TimeMs{-1}), "1969-12-31T23:59:59.999Z");
  EXPECT_EQ(format_time(TimeMs{-86'400'000}), "1969-12-31T00:00:00.000Z");
}

TEST(ManualClock, does_not_advance_by_itself) {
  ManualClock clock(TimeMs{1000});
  EXPECT_EQ(clock.now(), TimeMs{1000});
  EXPECT_EQ(clock.now(), TimeMs{1000});
  clock.advance_ms(250);
  EXPECT_EQ(clock.now(), TimeMs{1250});
}

TEST(SystemClock, shows_the_time_of_this_century) {
  SystemClock clock;
  EXPECT_GT(clock.now(), TimeMs{1'700'000'000'000});
  EXPECT_LT(clock.now(), TimeMs{4'102'444'800'000});
}

}  // namespace
}  // namespace holdfast::clock_test
