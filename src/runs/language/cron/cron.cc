#include "runs/language/cron/cron.h"

#include <absl/time/civil_time.h>
#include <absl/time/time.h>

#include <string>
#include <utility>

#include "runs/language/cron/zone_names.h"

namespace holdfast {

// Reads the rules of one zone. Abseil keeps every zone that was loaded until the process ends.
class CronZone {
 public:
  explicit CronZone(absl::TimeZone rules) : rules_(rules) {
    const auto last = previous_change(absl::InfiniteFuture());
    if (last.has_value() && absl::ToCivilYear(*last, absl::UTCTimeZone()) >= kRuleYear) {
      cycle_end_ = last;
    }
  }

  [[nodiscard]] absl::CivilSecond local(absl::Time at) const { return rules_.At(at).cs; }
  [[nodiscard]] absl::TimeZone::TimeInfo at(absl::CivilSecond local) const {
    return rules_.At(local);
  }

  // The time without clock changes around `at`: [begin, end).
  struct Stretch {
    absl::Time begin;
    absl::Time end;
  };
  [[nodiscard]] Stretch stretch(absl::Time at) const {
    const absl::Duration shift = cycles_past_the_table(at);
    const absl::Time known = at - shift;
    absl::TimeZone::CivilTransition change;
    const absl::Time end =
        rules_.NextTransition(known, &change) ? rules_.At(change.to).trans : absl::InfiniteFuture();
    const absl::Time begin =
        previous_change(known + absl::Seconds(1)).value_or(absl::InfinitePast());
    return {begin + shift, end + shift};
  }

 private:
  // Abseil lists changes for 400 years after the last one of the file when the rule at its end
  // has any. No file lists changes that late.
  static constexpr absl::CivilYear kRuleYear{2300};
  // The calendar repeats after 400 years, weekdays included.
  static constexpr absl::Duration kCycle = absl::Hours(24 * 146'097);

  [[nodiscard]] std::optional<absl::Time> previous_change(absl::Time before) const {
    absl::TimeZone::CivilTransition change;
    return rules_.PrevTransition(before, &change) ? std::optional(rules_.At(change.to).trans)
                                                  : std::nullopt;
  }

  [[nodiscard]] absl::Duration cycles_past_the_table(absl::Time at) const {
    if (!cycle_end_.has_value() || at < *cycle_end_) {
      return absl::ZeroDuration();
    }
    return kCycle * ((at - *cycle_end_) / kCycle + 1);
  }

  absl::TimeZone rules_;
  std::optional<absl::Time> cycle_end_;
};

namespace {

constexpr absl::Duration kHorizon = absl::Hours(24 * 8 * 366);

// Due times are whole seconds, so rounding down loses nothing.
std::optional<absl::Time> instant_of(TimeMs time) {
  static const absl::Time first = absl::FromCivil(absl::CivilDay(1), absl::UTCTimeZone());
  static const absl::Time end = absl::FromCivil(absl::CivilDay(10000), absl::UTCTimeZone());
  const std::int64_t seconds = time.value / 1000 - (time.value % 1000 < 0 ? 1 : 0);
  const absl::Time at = absl::FromUnixSeconds(seconds);
  return at >= first && at < end ? std::optional(at) : std::nullopt;
}

TimeMs time_of(absl::Time at) { return TimeMs{absl::ToUnixMillis(at)}; }

CivilMinute civil(absl::CivilMinute at) {
  return CivilMinute{static_cast<int>(at.year()), at.month(), at.day(), at.hour(), at.minute()};
}

absl::CivilMinute local_of(const CivilMinute& at) {
  return absl::CivilMinute(at.year, at.month, at.day, at.hour, at.minute);
}

absl::CivilMinute rounded_up(absl::CivilSecond at) {
  return absl::CivilMinute(at) + (at.second() > 0 ? 1 : 0);
}

// When a time of day is due.
absl::Time due_at(const CronZone& zone, const CivilMinute& at) {
  const auto info = zone.at(absl::CivilSecond(local_of(at)));
  return info.kind == absl::TimeZone::TimeInfo::SKIPPED ? info.trans : info.pre;
}

// Local minutes up to the one that the clock shows are due by now at the latest, so the search
// starts after it. The result may still be in the past, when the clock shows the same hour again.
std::optional<absl::Time> next_time_of_day(const CronExpression& expression, const CronZone& zone,
                                           absl::Time after) {
  auto at = expression.next(civil(absl::CivilMinute(zone.local(after))));
  while (at.has_value() && due_at(zone, *at) <= after) {
    at = expression.next(*at);
  }
  return at.has_value() ? std::optional(due_at(zone, *at)) : std::nullopt;
}

std::optional<absl::Time> previous_time_of_day(const CronExpression& expression,
                                               const CronZone& zone, absl::Time not_after) {
  const absl::CivilSecond local = zone.local(not_after);
  const auto info = zone.at(local);
  // In an hour that occurs twice, later minutes than the clock shows may already have occurred.
  const absl::CivilSecond behind = info.kind == absl::TimeZone::TimeInfo::REPEATED
                                       ? zone.local(info.trans - absl::Seconds(1)) + 1
                                       : local + 60;
  auto at = expression.previous(civil(rounded_up(behind)));
  while (at.has_value() && due_at(zone, *at) > not_after) {
    at = expression.previous(*at);
  }
  return at.has_value() ? std::optional(due_at(zone, *at)) : std::nullopt;
}

// Between two clock changes, local and elapsed time advance together, so these functions search one
// such interval after the other.
std::optional<absl::Time> next_every_hour(const CronExpression& expression, const CronZone& zone,
                                          absl::Time after) {
  for (absl::Time from = after + absl::Seconds(1); from <= after + kHorizon;) {
    const absl::CivilSecond local = zone.local(from);
    const auto at = expression.next(civil(rounded_up(local) - 1));
    if (!at.has_value()) {
      return std::nullopt;
    }
    const absl::Time due = from + absl::Seconds(absl::CivilSecond(local_of(*at)) - local);
    const absl::Time end = zone.stretch(from).end;
    if (due < end) {
      return due;
    }
    from = end;
  }
  return std::nullopt;
}

std::optional<absl::Time> previous_every_hour(const CronExpression& expression,
                                              const CronZone& zone, absl::Time not_after) {
  for (absl::Time until = not_after; until >= not_after - kHorizon;) {
    const absl::CivilSecond local = zone.local(until);
    const auto at = expression.previous(civil(absl::CivilMinute(local) + 1));
    if (!at.has_value()) {
      return std::nullopt;
    }
    const absl::Time due = until - absl::Seconds(local - absl::CivilSecond(local_of(*at)));
    const absl::Time begin = zone.stretch(until).begin;
    if (due >= begin) {
      return due;
    }
    until = begin - absl::Seconds(1);
  }
  return std::nullopt;
}

// Abseil also remembers names that it could not load, so it only gets names that have a file.
std::optional<absl::TimeZone> find_zone(std::string_view name) {
  absl::TimeZone zone;
  return has_zone_file(name) && absl::LoadTimeZone(std::string(name), &zone) ? std::optional(zone)
                                                                             : std::nullopt;
}

}  // namespace

bool is_timezone(std::string_view name) { return find_zone(name).has_value(); }

Result<CronClock> CronClock::create(std::string_view expression, std::string_view timezone) {
  HOLDFAST_TRY(const CronExpression parsed, CronExpression::parse(expression));
  const auto zone = find_zone(timezone);
  if (!zone.has_value()) {
    return unknown_timezone(timezone);
  }
  return CronClock(parsed, std::make_shared<const CronZone>(*zone));
}

std::optional<TimeMs> CronClock::next(TimeMs after) const {
  const auto at = instant_of(after);
  if (!at.has_value()) {
    return std::nullopt;
  }
  const auto due = expression_.every_hour() ? next_every_hour(expression_, *zone_, *at)
                                            : next_time_of_day(expression_, *zone_, *at);
  return due.has_value() ? std::optional(time_of(*due)) : std::nullopt;
}

std::optional<TimeMs> CronClock::previous(TimeMs not_after) const {
  const auto at = instant_of(not_after);
  if (!at.has_value()) {
    return std::nullopt;
  }
  const auto due = expression_.every_hour() ? previous_every_hour(expression_, *zone_, *at)
                                            : previous_time_of_day(expression_, *zone_, *at);
  return due.has_value() ? std::optional(time_of(*due)) : std::nullopt;
}

}  // namespace holdfast
