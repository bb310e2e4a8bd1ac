// Runs twice: with the zone files of the system, and with files of zic -b slim (CMakeLists.txt).
#include "runs/language/cron/cron.h"

#include <gtest/gtest.h>

#include <limits>
#include <ostream>
#include <string>
#include <vector>

#include "runs/language/data/iso8601.h"

namespace holdfast::cron_test {
namespace {

CronClock clock_of(std::string_view expression, std::string_view timezone) {
  auto created = CronClock::create(expression, timezone);
  EXPECT_TRUE(created.ok()) << expression << " " << timezone;
  return std::move(created).value();
}

TimeMs at(std::string_view text) {
  const auto time = parse_iso8601(text);
  EXPECT_TRUE(time.has_value()) << text;
  return time.value_or(TimeMs{0});
}

std::string shown(const std::optional<TimeMs>& time) {
  return time.has_value() ? iso8601_time(*time).substr(0, 16) : "never";
}

struct Case {
  std::string timezone;
  std::string expression;
  std::string after;              // UTC
  std::vector<std::string> dues;  // UTC, one after the other

  friend std::ostream& operator<<(std::ostream& out, const Case& self) {
    return out << self.expression << " in " << self.timezone << " after " << self.after;
  }
};

// Requests one due time after the other, and then backwards.
void expect_dues(const Case& expected) {
  SCOPED_TRACE(testing::PrintToString(expected));
  const CronClock clock = clock_of(expected.expression, expected.timezone);
  TimeMs now = at(expected.after);
  std::optional<TimeMs> before;
  for (const std::string& due : expected.dues) {
    const auto next = clock.next(now);
    ASSERT_EQ(shown(next), due);
    EXPECT_EQ(clock.previous(*next), next);
    EXPECT_EQ(clock.next(TimeMs{next->value - 1}), next);
    if (before.has_value()) {
      EXPECT_EQ(clock.previous(TimeMs{next->value - 1}), before);
    }
    before = next;
    now = *next;
  }
}

// Long after the last change that zone files list. Fat files list changes up to 2037, slim ones
// only up to the last change of the rules.
std::vector<Case> rule_cases() {
  return {
      // Summer and winter, north and south.
      {"Europe/Berlin", "0 9 1 7 *", "2050-01-01T00:00:00Z", {"2050-07-01T07:00"}},
      {"Europe/Berlin", "0 9 15 1 *", "2050-01-01T00:00:00Z", {"2050-01-15T08:00"}},
      {"America/New_York", "0 9 1 7 *", "2050-01-01T00:00:00Z", {"2050-07-01T13:00"}},
      {"America/New_York", "0 9 15 1 *", "2050-01-01T00:00:00Z", {"2050-01-15T14:00"}},
      {"Australia/Sydney", "0 9 1 7 *", "2050-01-01T00:00:00Z", {"2050-06-30T23:00"}},
      {"Australia/Sydney", "0 9 15 1 *", "2050-01-01T00:00:00Z", {"2050-01-14T22:00"}},
      // An hour that is left out.
      {"Europe/Berlin",
       "30 2 * * *",
       "2050-03-26T12:00:00Z",
       {"2050-03-27T01:00", "2050-03-28T00:30"}},
      {"America/New_York",
       "30 2 * * *",
       "2050-03-12T12:00:00Z",
       {"2050-03-13T07:00", "2050-03-14T06:30"}},
      {"Australia/Sydney",
       "30 2 * * *",
       "2050-10-01T00:00:00Z",
       {"2050-10-01T16:00", "2050-10-02T15:30"}},
      // An hour that comes twice.
      {"Europe/Berlin",
       "30 2 * * *",
       "2050-10-29T12:00:00Z",
       {"2050-10-30T00:30", "2050-10-31T01:30"}},
      {"America/New_York",
       "30 1 * * *",
       "2050-11-05T12:00:00Z",
       {"2050-11-06T05:30", "2050-11-07T06:30"}},
      {"Australia/Sydney",
       "30 2 * * *",
       "2050-04-02T00:00:00Z",
       {"2050-04-02T15:30", "2050-04-03T16:30"}},
      // Elapsed time across both changes.
      {"Europe/Berlin",
       "0 */2 * * *",
       "2050-03-26T22:30:00Z",
       {"2050-03-26T23:00", "2050-03-27T02:00", "2050-03-27T04:00"}},
      {"Europe/Berlin",
       "0 */2 * * *",
       "2050-10-29T21:30:00Z",
       {"2050-10-29T22:00", "2050-10-30T00:00", "2050-10-30T01:00", "2050-10-30T03:00"}},
      {"Australia/Sydney",
       "0 * 1 7 *",
       "2050-01-01T00:00:00Z",
       {"2050-06-30T14:00", "2050-06-30T15:00"}},
  };
}

TEST(CronClock, without_changes_of_the_clocks_local_time_is_what_counts) {
  expect_dues(
      {"UTC", "30 2 * * *", "2026-03-28T12:00:00Z", {"2026-03-29T02:30", "2026-03-30T02:30"}});
  expect_dues({"Asia/Kolkata",
               "0 9 * * *",
               "2026-03-28T12:00:00Z",
               {"2026-03-29T03:30", "2026-03-30T03:30"}});
  expect_dues({"Asia/Kolkata",
               "0 * * * *",
               "2026-03-28T12:00:00Z",
               {"2026-03-28T12:30", "2026-03-28T13:30"}});
  expect_dues({"Asia/Kolkata",
               "0 0 * * MON",
               "2026-03-28T12:00:00Z",
               {"2026-03-29T18:30", "2026-04-05T18:30"}});
}

// Berlin: on 2026-03-29 at 01:00 UTC, 02:00 becomes 03:00.
TEST(CronClock, a_time_of_day_that_is_left_out_is_due_right_after_the_gap) {
  expect_dues({"Europe/Berlin",
               "30 2 * * *",
               "2026-03-28T00:00:00Z",
               {"2026-03-28T01:30", "2026-03-29T01:00", "2026-03-30T00:30"}});
  expect_dues({"Europe/Berlin",
               "0 2 * * *",
               "2026-03-28T12:00:00Z",
               {"2026-03-29T01:00", "2026-03-30T00:00"}});
  expect_dues({"Europe/Berlin",
               "59 1 * * *",
               "2026-03-28T12:00:00Z",
               {"2026-03-29T00:59", "2026-03-29T23:59"}});
  expect_dues({"Europe/Berlin",
               "0 3 * * *",
               "2026-03-28T12:00:00Z",
               {"2026-03-29T01:00", "2026-03-30T01:00"}});
}

TEST(CronClock, several_times_of_day_left_out_by_one_gap_are_due_once) {
  expect_dues({"Europe/Berlin",
               "*/20 2 * * *",
               "2026-03-29T00:00:00Z",
               {"2026-03-29T01:00", "2026-03-30T00:00", "2026-03-30T00:20", "2026-03-30T00:40"}});
  expect_dues({"Europe/Berlin",
               "0,30 1-3 * * *",
               "2026-03-29T00:00:00Z",
               {"2026-03-29T00:30", "2026-03-29T01:00", "2026-03-29T01:30", "2026-03-29T23:00"}});
}

// Berlin: on 2026-10-25 at 01:00 UTC, 03:00 becomes 02:00.
TEST(CronClock, a_time_of_day_that_comes_twice_is_due_the_first_time) {
  expect_dues({"Europe/Berlin",
               "30 2 * * *",
               "2026-10-24T12:00:00Z",
               {"2026-10-25T00:30", "2026-10-26T01:30"}});
  expect_dues({"Europe/Berlin",
               "0 2 * * *",
               "2026-10-24T12:00:00Z",
               {"2026-10-25T00:00", "2026-10-26T01:00"}});
  expect_dues({"Europe/Berlin",
               "0,30 2,3 * * *",
               "2026-10-24T12:00:00Z",
               {"2026-10-25T00:00", "2026-10-25T00:30", "2026-10-25T02:00", "2026-10-25T02:30",
                "2026-10-26T01:00"}});
}

TEST(CronClock, during_the_second_pass_the_first_pass_has_ended) {
  const CronClock clock = clock_of("*/15 2 * * *", "Europe/Berlin");
  EXPECT_EQ(shown(clock.next(at("2026-10-25T01:10:00Z"))), "2026-10-26T01:00");
  EXPECT_EQ(shown(clock.previous(at("2026-10-25T01:10:00Z"))), "2026-10-25T00:45");
  EXPECT_EQ(shown(clock.previous(at("2026-10-25T00:44:59Z"))), "2026-10-25T00:30");
}

TEST(CronClock, every_hour_follows_elapsed_time) {
  expect_dues({"Europe/Berlin",
               "30 * * * *",
               "2026-03-29T00:00:00Z",
               {"2026-03-29T00:30", "2026-03-29T01:30", "2026-03-29T02:30"}});
  expect_dues({"Europe/Berlin",
               "30 * * * *",
               "2026-10-25T00:00:00Z",
               {"2026-10-25T00:30", "2026-10-25T01:30", "2026-10-25T02:30"}});
  expect_dues({"Europe/Berlin",
               "@hourly",
               "2026-10-24T23:00:00Z",
               {"2026-10-25T00:00", "2026-10-25T01:00", "2026-10-25T02:00"}});
  expect_dues({"Europe/Berlin",
               "* * * * *",
               "2026-03-29T00:58:00Z",
               {"2026-03-29T00:59", "2026-03-29T01:00", "2026-03-29T01:01"}});
}

TEST(CronClock, steps_of_hours_skip_a_gap_and_repeat_in_a_fold) {
  // Local: 00:00, 04:00 (02:00 is left out), 06:00.
  expect_dues({"Europe/Berlin",
               "0 */2 * * *",
               "2026-03-28T22:30:00Z",
               {"2026-03-28T23:00", "2026-03-29T02:00", "2026-03-29T04:00"}});
  // Local: 00:00, 02:00, 02:00 again, 04:00.
  expect_dues({"Europe/Berlin",
               "0 */2 * * *",
               "2026-10-24T21:30:00Z",
               {"2026-10-24T22:00", "2026-10-25T00:00", "2026-10-25T01:00", "2026-10-25T03:00"}});
}

// New York: 2026-03-08 at 07:00 UTC forward, 2026-11-01 at 06:00 UTC back.
TEST(CronClock, new_york_changes_on_other_days_than_berlin) {
  expect_dues({"America/New_York",
               "30 2 * * *",
               "2026-03-07T12:00:00Z",
               {"2026-03-08T07:00", "2026-03-09T06:30"}});
  expect_dues({"America/New_York",
               "30 1 * * *",
               "2026-10-31T12:00:00Z",
               {"2026-11-01T05:30", "2026-11-02T06:30"}});
  expect_dues({"America/New_York",
               "*/30 * * * *",
               "2026-11-01T05:00:00Z",
               {"2026-11-01T05:30", "2026-11-01T06:00", "2026-11-01T06:30", "2026-11-01T07:00"}});
}

// Lord Howe moves by half an hour: 2026-04-04 at 15:00 UTC back (02:00 becomes 01:30),
// 2026-10-03 at 15:30 UTC forward (02:00 becomes 02:30).
TEST(CronClock, lord_howe_changes_by_half_an_hour) {
  expect_dues({"Australia/Lord_Howe",
               "15 2 * * *",
               "2026-10-03T00:00:00Z",
               {"2026-10-03T15:30", "2026-10-04T15:15"}});
  expect_dues({"Australia/Lord_Howe",
               "45 2 * * *",
               "2026-10-03T00:00:00Z",
               {"2026-10-03T15:45", "2026-10-04T15:45"}});
  expect_dues({"Australia/Lord_Howe",
               "45 1 * * *",
               "2026-04-04T00:00:00Z",
               {"2026-04-04T14:45", "2026-04-05T15:15"}});
  expect_dues({"Australia/Lord_Howe",
               "15 1 * * *",
               "2026-04-04T00:00:00Z",
               {"2026-04-04T14:15", "2026-04-05T14:45"}});
  expect_dues({"Australia/Lord_Howe",
               "45 * * * *",
               "2026-04-04T14:00:00Z",
               {"2026-04-04T14:45", "2026-04-04T15:15", "2026-04-04T16:15"}});
}

// Samoa left out 2011-12-30 altogether: the day ended at 10:00 UTC before it began.
TEST(CronClock, a_day_that_is_left_out_is_due_when_the_next_begins) {
  expect_dues({"Pacific/Apia",
               "0 12 * * *",
               "2011-12-29T12:00:00Z",
               {"2011-12-29T22:00", "2011-12-30T10:00", "2011-12-30T22:00"}});
}

TEST(CronClock, leap_days_are_years_apart) {
  expect_dues(
      {"UTC", "0 0 29 2 *", "2026-01-01T00:00:00Z", {"2028-02-29T00:00", "2032-02-29T00:00"}});
  expect_dues(
      {"UTC", "0 0 29 2 *", "2095-01-01T00:00:00Z", {"2096-02-29T00:00", "2104-02-29T00:00"}});
  EXPECT_EQ(shown(clock_of("0 0 29 2 *", "UTC").previous(at("2104-02-28T23:59:59Z"))),
            "2096-02-29T00:00");
}

TEST(CronClock, either_day_of_month_or_day_of_week_is_enough) {
  // 2026-11-13 is a Friday.
  expect_dues({"Europe/Berlin",
               "0 12 13 * FRI",
               "2026-11-01T00:00:00Z",
               {"2026-11-06T11:00", "2026-11-13T11:00", "2026-11-20T11:00", "2026-11-27T11:00",
                "2026-12-04T11:00", "2026-12-11T11:00", "2026-12-13T11:00"}});
}

TEST(CronClock, next_is_later_and_previous_may_be_now) {
  const CronClock clock = clock_of("* * * * *", "UTC");
  EXPECT_EQ(clock.next(TimeMs{0}), TimeMs{60'000});
  EXPECT_EQ(clock.next(TimeMs{59'999}), TimeMs{60'000});
  EXPECT_EQ(clock.next(TimeMs{-1}), TimeMs{0});
  EXPECT_EQ(clock.next(TimeMs{-60'001}), TimeMs{-60'000});
  EXPECT_EQ(clock.previous(TimeMs{0}), TimeMs{0});
  EXPECT_EQ(clock.previous(TimeMs{59'999}), TimeMs{0});
  EXPECT_EQ(clock.previous(TimeMs{-1}), TimeMs{-60'000});
}

TEST(CronClock, times_far_outside_the_calendar_are_never) {
  const CronClock clock = clock_of("0 0 * * *", "Europe/Berlin");
  const std::vector<std::int64_t> far{std::numeric_limits<std::int64_t>::min(),
                                      std::numeric_limits<std::int64_t>::max(),
                                      253'402'300'800'000};
  for (const std::int64_t time : far) {
    EXPECT_EQ(clock.next(TimeMs{time}), std::nullopt);
    EXPECT_EQ(clock.previous(TimeMs{time}), std::nullopt);
  }
  EXPECT_EQ(shown(clock.previous(at("9999-12-31T12:00:00Z"))), "9999-12-30T23:00");
}

TEST(CronClock, follows_the_rule_of_a_zone_after_the_last_listed_change) {
  for (const Case& expected : rule_cases()) {
    expect_dues(expected);
  }
}

TEST(CronClock, rules_hold_for_all_years) {
  // 2400 years are six cycles of the calendar.
  expect_dues({"Europe/Berlin",
               "30 2 * * *",
               "4450-03-26T12:00:00Z",
               {"4450-03-27T01:00", "4450-03-28T00:30"}});
  expect_dues({"Europe/Berlin",
               "0 */2 * * *",
               "4450-10-29T21:30:00Z",
               {"4450-10-29T22:00", "4450-10-30T00:00", "4450-10-30T01:00", "4450-10-30T03:00"}});
  expect_dues({"Europe/Berlin",
               "0 * 1 7 *",
               "4450-01-01T00:00:00Z",
               {"4450-06-30T22:00", "4450-06-30T23:00"}});
}

TEST(CronClock, refuses_invalid_expressions_and_time_zones) {
  for (const auto& [expression, timezone] :
       std::vector<std::pair<std::string, std::string>>{{"0 0 * *", "UTC"},
                                                        {"0 0 31 2 *", "UTC"},
                                                        {"0 0 * * *", "Europe/Bonn"},
                                                        {"0 0 * * *", ""}}) {
    const auto created = CronClock::create(expression, timezone);
    ASSERT_FALSE(created.ok()) << expression << " " << timezone;
    EXPECT_EQ(created.error().code(), ErrorCode::invalid_argument);
  }
}

TEST(Timezones, are_known_by_their_names_and_by_older_ones) {
  for (const std::string_view name :
       {"UTC", "Etc/UTC", "Europe/Berlin", "Asia/Kolkata", "Asia/Calcutta", "US/Eastern",
        "America/Argentina/Buenos_Aires"}) {
    EXPECT_TRUE(is_timezone(name)) << name;
  }
  for (const std::string_view name : {"",
                                      "Europe",
                                      "Europe/",
                                      "europe/berlin",
                                      "Europe/Bonn",
                                      "../../etc/passwd",
                                      "/usr/share/zoneinfo/UTC",
                                      "zone.tab",
                                      "tzdata.zi",
                                      "Europe/Berlin ",
                                      "localtime",
                                      "UTC0",
                                      "posixrules",
                                      "posix/Europe/Berlin",
                                      "right/Europe/Berlin",
                                      "leapseconds",
                                      "Europe//Berlin",
                                      "./UTC",
                                      "Europe/../UTC",
                                      "Fixed/UTC+01:00:00",
                                      "file:Europe/Berlin"}) {
    EXPECT_FALSE(is_timezone(name)) << name;
  }
}

}  // namespace
}  // namespace holdfast::cron_test
