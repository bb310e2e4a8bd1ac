// Laws of cron clocks at random times in zones with all kinds of changes, compared with the
// simplest reading of the rules: every minute of some days.
#include <absl/time/civil_time.h>
#include <absl/time/time.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <set>
#include <string>
#include <vector>

#include "runs/language/cron/cron.h"

namespace holdfast::cron_prop_test {
namespace {

constexpr std::int64_t kMinuteMs = 60'000;
constexpr std::int64_t kDayMs = 86'400'000;

const std::vector<std::string> kZones{
    "UTC",          "Europe/Berlin",     "America/New_York", "Australia/Lord_Howe",
    "Asia/Kolkata", "Africa/Casablanca", "America/St_Johns", "Pacific/Chatham"};
const std::vector<std::string> kExpressions{
    "* * * * *",    "*/15 * * * *", "30 * * * *",   "0 */2 * * *",  "30 2 * * *",
    "*/20 2 * * *", "0 0 * * *",    "15 1,2 * * *", "45 0-3 * * *", "0 12 13 * FRI",
    "0 3 * * SUN",  "0 0 1 * *",    "5 4 */2 * *",  "0 0 29 2 *",   "30 1-3 * MAR,APR,OCT,NOV SUN"};

std::string any_zone() { return *rc::gen::elementOf(kZones); }
std::string any_expression() { return *rc::gen::elementOf(kExpressions); }

absl::TimeZone zone_of(const std::string& name) {
  absl::TimeZone zone;
  RC_ASSERT(absl::LoadTimeZone(name, &zone));
  return zone;
}

// Near a clock change half of the time; also long after the changes that the files list.
TimeMs any_time(const std::string& name) {
  const std::int64_t days = *rc::gen::inRange<std::int64_t>(365, 600 * 365);
  const std::int64_t within = *rc::gen::inRange<std::int64_t>(0, kDayMs);
  if (*rc::gen::arbitrary<bool>()) {
    return TimeMs{days * kDayMs + within};
  }
  const absl::TimeZone zone = zone_of(name);
  absl::TimeZone::CivilTransition change;
  std::int64_t near = days * kDayMs;
  if (zone.PrevTransition(absl::FromUnixMillis(near), &change)) {
    near = absl::ToUnixMillis(zone.At(change.to).trans);
  }
  return TimeMs{(near > 0 ? near : days * kDayMs) - kDayMs / 4 + within / 2};
}

CivilMinute civil(absl::CivilSecond at) {
  return CivilMinute{static_cast<int>(at.year()), at.month(), at.day(), at.hour(), at.minute()};
}

// Every due time of some days, minute by minute. Elapsed time walks over instants, times of day
// over local minutes, of which some have no instant and some have two.
std::set<std::int64_t> dues_by_looking(const CronExpression& expression, const std::string& name,
                                       TimeMs from, int days) {
  const absl::TimeZone zone = zone_of(name);
  std::set<std::int64_t> dues;
  const absl::Time begin = absl::FromUnixSeconds(from.value / kMinuteMs * 60);
  for (int minute = 0; minute < days * 24 * 60; ++minute) {
    const absl::Time at = begin + absl::Minutes(minute);
    if (expression.every_hour()) {
      if (expression.matches(civil(zone.At(at).cs))) {
        dues.insert(absl::ToUnixMillis(at));
      }
      continue;
    }
    const absl::CivilSecond local = absl::ToCivilSecond(at, absl::UTCTimeZone());
    if (expression.matches(civil(local))) {
      const auto found = zone.At(local);
      const bool skipped = found.kind == absl::TimeZone::TimeInfo::SKIPPED;
      dues.insert(absl::ToUnixMillis(skipped ? found.trans : found.pre));
    }
  }
  return dues;
}

TEST(CronLaws, agree_with_a_search_of_every_minute) {
  EXPECT_TRUE(rc::check([] {
    const std::string zone = any_zone();
    const std::string expression = any_expression();
    const TimeMs time = any_time(zone);
    const CronClock clock = CronClock::create(expression, zone).value();
    const CronExpression parsed = CronExpression::parse(expression).value();
    const auto dues = dues_by_looking(parsed, zone, TimeMs{time.value - 3 * kDayMs}, 6);
    // Zones are less than a day off, so the day around the time is complete.
    const auto after = dues.upper_bound(time.value);
    if (after != dues.end() && *after < time.value + kDayMs) {
      RC_ASSERT(clock.next(time) == std::optional(TimeMs{*after}));
    } else {
      const auto next = clock.next(time);
      // Evaluated before RC_ASSERT sees it: || does not short-circuit inside.
      const bool later = !next.has_value() || next->value >= time.value + kDayMs;
      RC_ASSERT(later);
    }
    const auto before = dues.upper_bound(time.value);
    if (before != dues.begin() && *std::prev(before) > time.value - kDayMs) {
      RC_ASSERT(clock.previous(time) == std::optional(TimeMs{*std::prev(before)}));
    } else {
      const auto previous = clock.previous(time);
      const bool earlier = !previous.has_value() || previous->value <= time.value - kDayMs;
      RC_ASSERT(earlier);
    }
  }));
}

TEST(CronLaws, next_and_previous_are_each_others_reverse) {
  EXPECT_TRUE(rc::check([] {
    const std::string zone = any_zone();
    const TimeMs time = any_time(zone);
    const CronClock clock = CronClock::create(any_expression(), zone).value();
    const auto next = clock.next(time);
    const auto previous = clock.previous(time);
    RC_ASSERT(next.has_value() && previous.has_value());
    RC_ASSERT(*previous <= time && time < *next);
    RC_ASSERT(clock.previous(*next) == next);
    RC_ASSERT(clock.previous(TimeMs{next->value - 1}) == previous);
    RC_ASSERT(clock.next(*previous) == next);
    RC_ASSERT(clock.next(TimeMs{previous->value - 1}) == previous);
  }));
}

}  // namespace
}  // namespace holdfast::cron_prop_test
