#include "cron/cron.h"

#include <date/tz.h>
#include <fmt/format.h>

#include <exception>
#include <string>
#include <utility>

namespace holdfast {

namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

using Instant = date::sys_seconds;
using LocalTime = date::local_seconds;
using LocalMinute = date::local_time<minutes>;

constexpr date::days kHorizon{8 * 366};
constexpr Instant kFirst{date::sys_days{date::year{1} / 1 / 1}};
constexpr Instant kEnd{date::sys_days{date::year{10000} / 1 / 1}};

// Due times are whole seconds, so nothing is lost by asking at one.
std::optional<Instant> instant_of(TimeMs time) {
  const auto at = date::floor<seconds>(std::chrono::milliseconds(time.value));
  const bool usable = at >= kFirst.time_since_epoch() && at < kEnd.time_since_epoch();
  return usable ? std::optional(Instant(at)) : std::nullopt;
}

TimeMs time_of(Instant at) {
  return TimeMs{std::chrono::milliseconds(at.time_since_epoch()).count()};
}

LocalTime local_at(Instant at, seconds offset) { return LocalTime(at.time_since_epoch() + offset); }
Instant instant_at(LocalTime local, seconds offset) {
  return Instant(local.time_since_epoch() - offset);
}

CivilMinute civil(LocalMinute at) {
  const auto day = date::floor<date::days>(at);
  const date::year_month_day ymd(day);
  const date::hh_mm_ss<minutes> clock(at - day);
  return CivilMinute{
      static_cast<int>(ymd.year()), static_cast<int>(static_cast<unsigned>(ymd.month())),
      static_cast<int>(static_cast<unsigned>(ymd.day())), static_cast<int>(clock.hours().count()),
      static_cast<int>(clock.minutes().count())};
}

LocalTime local_of(const CivilMinute& at) {
  const auto day = date::local_days{date::year{at.year} / at.month / at.day};
  return day + hours{at.hour} + minutes{at.minute};
}

// When a time of day is due.
Instant due_at(const date::time_zone& zone, const CivilMinute& at) {
  const LocalTime local = local_of(at);
  const date::local_info info = zone.get_info(local);
  return info.result == date::local_info::nonexistent ? info.first.end
                                                      : instant_at(local, info.first.offset);
}

// Local minutes up to the one that the clock shows are due by now at the latest, so the search
// begins behind it. What it finds may still be past: when the clock shows the same hour again.
std::optional<Instant> next_time_of_day(const CronExpression& expression,
                                        const date::time_zone& zone, Instant after) {
  const LocalTime local = local_at(after, zone.get_info(after).offset);
  auto at = expression.next(civil(date::floor<minutes>(local)));
  while (at.has_value() && due_at(zone, *at) <= after) {
    at = expression.next(*at);
  }
  return at.has_value() ? std::optional(due_at(zone, *at)) : std::nullopt;
}

std::optional<Instant> previous_time_of_day(const CronExpression& expression,
                                            const date::time_zone& zone, Instant not_after) {
  const LocalTime local = local_at(not_after, zone.get_info(not_after).offset);
  const date::local_info info = zone.get_info(local);
  // In an hour that comes twice, later minutes than the clock shows may have been there already.
  const LocalTime behind = info.result == date::local_info::ambiguous
                               ? local_at(info.first.end, info.first.offset)
                               : local + minutes{1};
  auto at = expression.previous(civil(date::ceil<minutes>(behind)));
  while (at.has_value() && due_at(zone, *at) > not_after) {
    at = expression.previous(*at);
  }
  return at.has_value() ? std::optional(due_at(zone, *at)) : std::nullopt;
}

// Between two changes of the clocks local and elapsed time run alike, so these look at one such
// stretch after the other.
std::optional<Instant> next_every_hour(const CronExpression& expression,
                                       const date::time_zone& zone, Instant after) {
  for (Instant from = after + seconds{1}; from <= after + kHorizon;) {
    const date::sys_info stretch = zone.get_info(from);
    const LocalMinute first = date::ceil<minutes>(local_at(from, stretch.offset));
    const auto at = expression.next(civil(first - minutes{1}));
    if (!at.has_value()) {
      return std::nullopt;
    }
    const Instant due = instant_at(local_of(*at), stretch.offset);
    if (due < stretch.end) {
      return due;
    }
    from = stretch.end;
  }
  return std::nullopt;
}

std::optional<Instant> previous_every_hour(const CronExpression& expression,
                                           const date::time_zone& zone, Instant not_after) {
  for (Instant until = not_after; until >= not_after - kHorizon;) {
    const date::sys_info stretch = zone.get_info(until);
    const LocalMinute last = date::floor<minutes>(local_at(until, stretch.offset));
    const auto at = expression.previous(civil(last + minutes{1}));
    if (!at.has_value()) {
      return std::nullopt;
    }
    const Instant due = instant_at(local_of(*at), stretch.offset);
    if (due >= stretch.begin) {
      return due;
    }
    until = stretch.begin - seconds{1};
  }
  return std::nullopt;
}

// The library reads the rules of a zone when they are first asked for, and throws when it cannot.
Result<const date::time_zone*> load_zone(std::string_view name) {
  try {
    const date::time_zone* zone = date::locate_zone(std::string(name));
    static_cast<void>(zone->get_info(Instant{}));
    return zone;
  } catch (const std::exception& failure) {
    return Error{ErrorCode::invalid_argument,
                 fmt::format("\"{}\" is not a time zone: {}", name, failure.what())}
        .with("timezone", name);
  }
}

}  // namespace

bool is_timezone(std::string_view name) { return load_zone(name).ok(); }

Result<CronClock> CronClock::create(std::string_view expression, std::string_view timezone) {
  HOLDFAST_TRY(const CronExpression parsed, CronExpression::parse(expression));
  HOLDFAST_TRY(const date::time_zone* zone, load_zone(timezone));
  return CronClock(parsed, zone);
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
