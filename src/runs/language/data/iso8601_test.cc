#include "runs/language/data/iso8601.h"

#include <gtest/gtest.h>

namespace holdfast::iso8601_test {
namespace {

std::string again(std::string_view text) {
  const auto time = parse_iso8601(text);
  return time.has_value() ? iso8601_time(*time) : "no time";
}

TEST(Iso8601, times_and_days_are_in_utc) {
  EXPECT_EQ(iso8601_time(TimeMs{0}), "1970-01-01T00:00:00.000Z");
  EXPECT_EQ(iso8601_time(TimeMs{1'794'817'800'123}), "2026-11-16T08:30:00.123Z");
  EXPECT_EQ(iso8601_day(TimeMs{1'794'817'800'123}), "2026-11-16");
  EXPECT_EQ(iso8601_day(TimeMs{-1}), "1969-12-31");
}

TEST(Iso8601, reads_the_common_spellings_of_times) {
  EXPECT_EQ(again("2026-11-16T08:30:00Z"), "2026-11-16T08:30:00.000Z");
  EXPECT_EQ(again("2026-11-16T08:30:00.5Z"), "2026-11-16T08:30:00.500Z");
  EXPECT_EQ(again("2026-11-16T08:30:00.123456789Z"), "2026-11-16T08:30:00.123Z");
  EXPECT_EQ(again("2026-11-16T08:30:00.000Z"), "2026-11-16T08:30:00.000Z");
  EXPECT_EQ(again("2026-11-16T08:30:00+01:00"), "2026-11-16T07:30:00.000Z");
  EXPECT_EQ(again("2026-12-31T20:30:00-03:30"), "2027-01-01T00:00:00.000Z");
  EXPECT_EQ(again("2026-11-16T08:30:00-00:00"), "2026-11-16T08:30:00.000Z");
  EXPECT_EQ(again("2026-11-16"), "2026-11-16T00:00:00.000Z");
  EXPECT_EQ(again("2028-02-29"), "2028-02-29T00:00:00.000Z");
  EXPECT_EQ(again("0001-01-01"), "0001-01-01T00:00:00.000Z");
  EXPECT_EQ(again("0000-02-29"), "0000-02-29T00:00:00.000Z");
  EXPECT_EQ(again("9999-12-31T23:59:59.999Z"), "9999-12-31T23:59:59.999Z");
}

TEST(Iso8601, refuses_texts_that_are_not_times) {
  for (const std::string_view text : {"",
                                      "2026",
                                      "2026-11",
                                      "2026-11-1",
                                      "2026-1-16",
                                      "26-11-16",
                                      "2026/11/16",
                                      "20261116",
                                      "2026-00-01",
                                      "2026-13-01",
                                      "2026-11-00",
                                      "2026-11-31",
                                      "2026-02-29",
                                      "2100-02-29",
                                      "2026-11-16T",
                                      "2026-11-16T08",
                                      "2026-11-16T08:30",
                                      "2026-11-16T08:30Z",
                                      "2026-11-16T08:30:00",
                                      "2026-11-16 08:30:00Z",
                                      "2026-11-16T24:00:00Z",
                                      "2026-11-16T08:60:00Z",
                                      "2026-11-16T08:30:60Z",
                                      "2026-11-16T08:30:00.Z",
                                      "2026-11-16T08:30:00,5Z",
                                      "2026-11-16T08:30:00+0100",
                                      "2026-11-16T08:30:00+1:00",
                                      "2026-11-16T08:30:00+24:00",
                                      "2026-11-16T08:30:00+01:60",
                                      "2026-11-16T08:30:00Zx",
                                      "2026-11-16T08:30:00ZZ",
                                      " 2026-11-16",
                                      "2026-11-16 ",
                                      "-2026-11-16",
                                      "+2026-11-16",
                                      "2026-11-16t08:30:00z",
                                      "2026-11-16T-8:30:00Z"}) {
    EXPECT_EQ(again(text), "no time") << text;
  }
}

}  // namespace
}  // namespace holdfast::iso8601_test
