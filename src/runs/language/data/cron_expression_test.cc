#include "runs/language/data/cron_expression.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "runs/language/data/calendar.h"

namespace holdfast::cron_expression_test {
namespace {

CronExpression cron(std::string_view text) {
  auto parsed = CronExpression::parse(text);
  EXPECT_TRUE(parsed.ok()) << text << ": " << parsed.error().text();
  return std::move(parsed).value();
}

std::string shown(const std::optional<CivilMinute>& at) {
  return at.has_value() ? fmt::format("{:04}-{:02}-{:02} {:02}:{:02}", at->year, at->month, at->day,
                                      at->hour, at->minute)
                        : "never";
}

// The minutes of one hour, the hours of one day and so on that match, as text.
std::string minutes_of(std::string_view field) {
  const CronExpression parsed = cron(fmt::format("{} * * * *", field));
  std::string out;
  for (int minute = 0; minute < 60; ++minute) {
    if (parsed.matches({2026, 11, 16, 8, minute})) {
      out += fmt::format("{} ", minute);
    }
  }
  return out;
}

std::string weekdays_of(std::string_view field) {
  const CronExpression parsed = cron(fmt::format("0 0 * * {}", field));
  std::string out;
  for (int day = 15; day < 22; ++day) {  // 2026-11-15 is a Sunday
    if (parsed.matches({2026, 11, day, 0, 0})) {
      out += fmt::format("{} ", day - 15);
    }
  }
  return out;
}

TEST(CronExpression, a_field_is_a_list_of_values_ranges_and_steps) {
  EXPECT_EQ(minutes_of("5"), "5 ");
  EXPECT_EQ(minutes_of("05"), "5 ");
  EXPECT_EQ(minutes_of("0,59,7"), "0 7 59 ");
  EXPECT_EQ(minutes_of("7,7,5-8"), "5 6 7 8 ");
  EXPECT_EQ(minutes_of("*/20"), "0 20 40 ");
  EXPECT_EQ(minutes_of("10-30/10"), "10 20 30 ");
  EXPECT_EQ(minutes_of("10-29/10"), "10 20 ");
  EXPECT_EQ(minutes_of("*/45,3-3"), "0 3 45 ");
  EXPECT_EQ(minutes_of("*/60"), "0 ");
}

TEST(CronExpression, days_of_the_week_and_months_have_names) {
  EXPECT_EQ(weekdays_of("MON-FRI"), "1 2 3 4 5 ");
  EXPECT_EQ(weekdays_of("mon,Wed,sUn"), "0 1 3 ");
  EXPECT_EQ(weekdays_of("0"), "0 ");
  EXPECT_EQ(weekdays_of("7"), "0 ");
  EXPECT_EQ(weekdays_of("5-7"), "0 5 6 ");
  EXPECT_EQ(weekdays_of("SAT-SUN"), "0 6 ");
  EXPECT_EQ(weekdays_of("0-7"), "0 1 2 3 4 5 6 ");
  EXPECT_EQ(weekdays_of("*"), "0 1 2 3 4 5 6 ");
  EXPECT_EQ(weekdays_of("*/2"), "0 2 4 6 ");
  EXPECT_EQ(weekdays_of("*/7"), "0 ");
  EXPECT_EQ(shown(cron("0 0 1 JAN,dec *").next({2026, 2, 1, 0, 0})), "2026-12-01 00:00");
  EXPECT_EQ(shown(cron("0 0 1 feb-apr/2 *").next({2026, 3, 1, 0, 0})), "2026-04-01 00:00");
}

TEST(CronExpression, nicknames_stand_for_expressions) {
  const CivilMinute from{2026, 11, 16, 8, 30};
  EXPECT_EQ(shown(cron("@hourly").next(from)), "2026-11-16 09:00");
  EXPECT_EQ(shown(cron("@daily").next(from)), "2026-11-17 00:00");
  EXPECT_EQ(shown(cron("@midnight").next(from)), "2026-11-17 00:00");
  EXPECT_EQ(shown(cron("@weekly").next(from)), "2026-11-22 00:00");
  EXPECT_EQ(shown(cron("@monthly").next(from)), "2026-12-01 00:00");
  EXPECT_EQ(shown(cron("@yearly").next(from)), "2027-01-01 00:00");
  EXPECT_EQ(shown(cron("@annually").next(from)), "2027-01-01 00:00");
}

TEST(CronExpression, fields_may_stand_far_apart) {
  EXPECT_TRUE(cron("  0\t0  1 1   * ").matches({2026, 1, 1, 0, 0}));
}

TEST(CronExpression, a_day_that_matches_either_restricted_field_counts) {
  const CronExpression either = cron("0 0 13 * FRI");
  EXPECT_TRUE(either.matches({2026, 10, 13, 0, 0}));  // a Tuesday
  EXPECT_TRUE(either.matches({2026, 11, 20, 0, 0}));  // a Friday
  EXPECT_FALSE(either.matches({2026, 11, 19, 0, 0}));
  const CronExpression friday = cron("0 0 * * FRI");
  EXPECT_FALSE(friday.matches({2026, 10, 13, 0, 0}));
  const CronExpression thirteenth = cron("0 0 13 * *");
  EXPECT_FALSE(thirteenth.matches({2026, 11, 20, 0, 0}));
}

TEST(CronExpression, a_step_of_all_days_is_open_and_both_must_match) {
  const CronExpression odd_mondays = cron("0 0 */2 * MON");
  EXPECT_TRUE(odd_mondays.matches({2026, 11, 9, 0, 0}));
  EXPECT_FALSE(odd_mondays.matches({2026, 11, 16, 0, 0}));
  EXPECT_FALSE(odd_mondays.matches({2026, 11, 11, 0, 0}));
}

TEST(CronExpression, every_hour_is_a_star_in_the_hours) {
  EXPECT_TRUE(cron("0 * * * *").every_hour());
  EXPECT_TRUE(cron("0 */2 * * *").every_hour());
  EXPECT_TRUE(cron("@hourly").every_hour());
  EXPECT_FALSE(cron("0 0-23 * * *").every_hour());
  EXPECT_FALSE(cron("* 5 * * *").every_hour());
  EXPECT_FALSE(cron("0 0-22/2 * * *").every_hour());
}

TEST(CronExpression, next_skips_times_that_do_not_match) {
  EXPECT_EQ(shown(cron("* * * * *").next({2026, 12, 31, 23, 59})), "2027-01-01 00:00");
  EXPECT_EQ(shown(cron("30 8 * * *").next({2026, 11, 16, 8, 29})), "2026-11-16 08:30");
  EXPECT_EQ(shown(cron("30 8 * * *").next({2026, 11, 16, 8, 30})), "2026-11-17 08:30");
  EXPECT_EQ(shown(cron("15,45 8,10 * * *").next({2026, 11, 16, 8, 45})), "2026-11-16 10:15");
  EXPECT_EQ(shown(cron("15,45 8,10 * * *").next({2026, 11, 16, 9, 50})), "2026-11-16 10:15");
  EXPECT_EQ(shown(cron("0 0 31 * *").next({2026, 3, 31, 0, 0})), "2026-05-31 00:00");
  EXPECT_EQ(shown(cron("0 0 1 1 *").next({2026, 1, 1, 0, 0})), "2027-01-01 00:00");
  EXPECT_EQ(shown(cron("0 0 29 2 *").next({2026, 11, 16, 0, 0})), "2028-02-29 00:00");
  EXPECT_EQ(shown(cron("0 0 29 2 *").next({2096, 2, 29, 0, 0})), "2104-02-29 00:00");
  EXPECT_EQ(shown(cron("0 0 28-31 2 WED").next({2026, 2, 25, 0, 0})), "2026-02-28 00:00");
}

TEST(CronExpression, previous_skips_them_backwards) {
  EXPECT_EQ(shown(cron("* * * * *").previous({2027, 1, 1, 0, 0})), "2026-12-31 23:59");
  EXPECT_EQ(shown(cron("30 8 * * *").previous({2026, 11, 16, 8, 31})), "2026-11-16 08:30");
  EXPECT_EQ(shown(cron("30 8 * * *").previous({2026, 11, 16, 8, 30})), "2026-11-15 08:30");
  EXPECT_EQ(shown(cron("15,45 8,10 * * *").previous({2026, 11, 16, 10, 15})), "2026-11-16 08:45");
  EXPECT_EQ(shown(cron("0 0 31 * *").previous({2026, 5, 31, 0, 0})), "2026-03-31 00:00");
  EXPECT_EQ(shown(cron("0 0 29 2 *").previous({2104, 2, 29, 0, 0})), "2096-02-29 00:00");
}

TEST(CronExpression, looks_eight_years_ahead_and_back) {
  // Leap days that are a Sunday: 2004, 2032, 2060.
  const CronExpression sunday = cron("0 0 29 2 */7");
  EXPECT_EQ(shown(sunday.next({2026, 1, 1, 0, 0})), "2032-02-29 00:00");
  EXPECT_EQ(shown(sunday.next({2032, 2, 29, 0, 0})), "never");
  EXPECT_EQ(shown(sunday.previous({2040, 2, 29, 0, 0})), "2032-02-29 00:00");
  EXPECT_EQ(shown(sunday.previous({2032, 2, 29, 0, 0})), "never");
}

TEST(CronExpression, next_and_previous_find_exactly_the_minutes_that_match) {
  for (const std::string_view text :
       {"*/7 */5 * * *", "0 3 */3 * *", "59 23 31 * *", "1 2 3-9 */2 TUE", "0 12 13 * FRI"}) {
    const CronExpression parsed = cron(text);
    CivilMinute next{2027, 12, 20, 0, 0};
    std::optional<CivilMinute> before;
    for (int month : {12, 1, 2, 3}) {
      const int year = month == 12 ? 2027 : 2028;
      for (int minute = 0; minute < days_in_month(year, month) * 1440; ++minute) {
        const CivilMinute at{year, month, minute / 1440 + 1, minute / 60 % 24, minute % 60};
        if (at <= next || !parsed.matches(at)) {
          continue;
        }
        ASSERT_EQ(shown(parsed.next(next)), shown(at)) << text;
        if (before.has_value()) {
          ASSERT_EQ(shown(parsed.previous(at)), shown(before)) << text;
        }
        before = next = at;
      }
    }
    EXPECT_TRUE(before.has_value()) << text;
  }
}

TEST(CronExpression, an_invalid_minute_does_not_match) {
  const CronExpression always = cron("* * * * *");
  for (const CivilMinute& at : {CivilMinute{2026, 0, 1, 0, 0}, CivilMinute{2026, 13, 1, 0, 0},
                                CivilMinute{2026, 2, 29, 0, 0}, CivilMinute{2026, 1, 0, 0, 0},
                                CivilMinute{2026, 1, 1, 24, 0}, CivilMinute{2026, 1, 1, 0, 60},
                                CivilMinute{2026, 1, 1, -1, 0}}) {
    EXPECT_FALSE(always.matches(at)) << shown(at);
  }
}

TEST(CronExpression, faults_name_the_field) {
  const std::vector<std::pair<std::string, std::string>> table{
      {"", ""},
      {"* * * *", ""},
      {"* * * * * *", ""},
      {"@reboot", ""},
      {"@Daily", ""},
      {"60 * * * *", "minute"},
      {"-1 * * * *", "minute"},
      {"a * * * *", "minute"},
      {"1,,2 * * * *", "minute"},
      {", * * * *", "minute"},
      {"5-1 * * * *", "minute"},
      {"1-2-3 * * * *", "minute"},
      {"5/10 * * * *", "minute"},
      {"*/0 * * * *", "minute"},
      {"*/61 * * * *", "minute"},
      {"*/x * * * *", "minute"},
      {"*/ * * * *", "minute"},
      {"*/5/5 * * * *", "minute"},
      {"** * * * *", "minute"},
      {"*-5 * * * *", "minute"},
      {"007 * * * *", "minute"},
      {"99999999999999999999 * * * *", "minute"},
      {"0 24 * * *", "hour"},
      {"0 MON * * *", "hour"},
      {"0 0 0 * *", "day of month"},
      {"0 0 32 * *", "day of month"},
      {"0 0 ? * *", "day of month"},
      {"0 0 L * *", "day of month"},
      {"0 0 * 0 *", "month"},
      {"0 0 * 13 *", "month"},
      {"0 0 * january *", "month"},
      {"0 0 * MON *", "month"},
      {"0 0 * * 8", "day of week"},
      {"0 0 * * FRI-MON", "day of week"},
      {"0 0 * * 5#2", "day of week"},
  };
  for (const auto& [text, field] : table) {
    const auto parsed = CronExpression::parse(text);
    ASSERT_FALSE(parsed.ok()) << text;
    EXPECT_EQ(parsed.error().code(), ErrorCode::invalid_argument);
    EXPECT_EQ(parsed.error().field("field"), field) << text;
  }
}

TEST(CronExpression, refuses_dates_that_never_occur) {
  for (const std::string_view text :
       {"0 0 30 2 *", "0 0 31 2 *", "0 0 31 4,6,9,11 *", "0 0 30,31 FEB */2"}) {
    EXPECT_FALSE(CronExpression::parse(text).ok()) << text;
  }
  for (const std::string_view text :
       {"0 0 29 2 *", "0 0 31 2,3 *", "0 0 31 2 MON", "0 0 1,31 2 *"}) {
    EXPECT_TRUE(CronExpression::parse(text).ok()) << text;
  }
}

}  // namespace
}  // namespace holdfast::cron_expression_test
