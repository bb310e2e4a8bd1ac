// Cron expressions: three lines, the expression, a time zone and milliseconds. Due times are
// compared with a second, slow evaluation of the same fields.
#include <algorithm>
#include <charconv>

#include "fuzz/target.h"
#include "runs/language/cron/cron.h"
#include "runs/language/data/calendar.h"
#include "runs/language/data/cron_expression.h"

namespace holdfast::fuzz::cron_fuzz {
namespace {

constexpr std::int64_t kMinuteMs = 60'000;
constexpr std::int64_t kDayMs = 24 * 60 * kMinuteMs;
constexpr std::int64_t kYear9000Ms = 221'845'392'000'000;

int number_of(std::string_view text) {
  int value = -1;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

// Whether a field of digits and signs names the value.
bool field_has(std::string_view field, int low, int high, int value) {
  while (!field.empty()) {
    const std::size_t comma = std::min(field.find(','), field.size());
    std::string_view item = field.substr(0, comma);
    field.remove_prefix(std::min(comma + 1, field.size()));
    const std::size_t slash = std::min(item.find('/'), item.size());
    const int step = slash < item.size() ? number_of(item.substr(slash + 1)) : 1;
    item = item.substr(0, slash);
    const std::size_t dash = item.find('-');
    const int first = item == "*" ? low : number_of(item);
    const int last = item == "*"                      ? high
                     : dash == std::string_view::npos ? first
                                                      : number_of(item.substr(dash + 1));
    if (value >= first && value <= last && (value - first) % step == 0) {
      return true;
    }
  }
  return false;
}

struct PlainFields {
  std::vector<std::string_view> texts;

  // Only expressions that the slow evaluation supports: no names, no Sunday as 7 or as the end of
  // a range.
  static PlainFields of(std::string_view text) {
    PlainFields fields;
    if (text.find_first_not_of("0123456789*,-/ ") != std::string_view::npos) {
      return {};
    }
    while (!text.empty()) {
      const std::size_t space = std::min(text.find(' '), text.size());
      if (space > 0) {
        fields.texts.push_back(text.substr(0, space));
      }
      text.remove_prefix(std::min(space + 1, text.size()));
    }
    const bool plain =
        fields.texts.size() == 5 && fields.texts[4].find_first_of("7-") == std::string_view::npos;
    return plain ? fields : PlainFields{};
  }

  [[nodiscard]] bool match(const CivilMinute& at) const {
    const bool any_day = texts[2].find('*') != std::string_view::npos;
    const bool any_weekday = texts[4].find('*') != std::string_view::npos;
    const bool day = field_has(texts[2], 1, 31, at.day);
    const bool weekday = field_has(texts[4], 0, 6, weekday_of(at.year, at.month, at.day));
    return field_has(texts[0], 0, 59, at.minute) && field_has(texts[1], 0, 23, at.hour) &&
           field_has(texts[3], 1, 12, at.month) &&
           (!any_day && !any_weekday ? day || weekday : day && weekday);
  }
};

CivilMinute minute_after(CivilMinute at) {
  const auto carry = [](int& value, int limit, int& next, int first) {
    if (value > limit) {
      value = first;
      ++next;
    }
  };
  ++at.minute;
  carry(at.minute, 59, at.hour, 0);
  carry(at.hour, 23, at.day, 0);
  carry(at.day, days_in_month(at.year, at.month), at.month, 1);
  carry(at.month, 12, at.year, 1);
  return at;
}

CivilMinute civil_of(std::int64_t ms) {
  const std::int64_t days = ms / kDayMs;
  const auto minutes = static_cast<int>(ms % kDayMs / kMinuteMs);
  CivilMinute at{1970, 1, 1, minutes / 60, minutes % 60};
  at.year += static_cast<int>(days / 366);  // never too far
  while (days_since_epoch(at.year + 1, 1, 1) <= days) {
    ++at.year;
  }
  while (at.month < 12 && days_since_epoch(at.year, at.month + 1, 1) <= days) {
    ++at.month;
  }
  at.day = 1 + static_cast<int>(days - days_since_epoch(at.year, at.month, 1));
  return at;
}

void check_calendar(const CronExpression& expression, std::string_view text, std::int64_t ms) {
  const CivilMinute from = civil_of(ms);
  const auto next = expression.next(from);
  const PlainFields plain = PlainFields::of(text);
  if (next.has_value()) {
    require(*next > from && expression.matches(*next), "the next time is later and matches");
    const auto back = expression.previous(*next);
    require(!back.has_value() || *back <= from, "no match was skipped");
    require(plain.texts.empty() || plain.match(*next), "the next time matches the fields");
  }
  constexpr int kMinutes = 1500;  // more than a day
  CivilMinute at = from;
  for (int i = 0; i < kMinutes; ++i) {
    at = minute_after(at);
    require(plain.texts.empty() || plain.match(at) == expression.matches(at),
            "both readings of the fields agree");
    require(!next.has_value() || at >= *next || !expression.matches(at), "the first match is next");
  }
}

// Years 2 to 9998: at the ends of the calendar, neighbouring times may be outside of it.
bool is_inside(TimeMs time) {
  return time.value > -62'104'060'800'000 && time.value < 253'370'764'800'000;
}

void check_clock(const CronClock& clock, TimeMs after) {
  const auto next = clock.next(after);
  if (next.has_value()) {
    require(*next > after, "the next time is later");
    require(!is_inside(*next) || clock.previous(*next) == next, "a due time is due");
    const auto before = clock.previous(TimeMs{next->value - 1});
    require(!before.has_value() || *before <= after, "no due time was skipped");
  }
  const auto previous = clock.previous(after);
  if (previous.has_value()) {
    require(*previous <= after, "the last time is not later");
    require(!is_inside(*previous) || clock.next(TimeMs{previous->value - 1}) == previous,
            "what was due was due then");
  }
}

void check(std::string_view input) {
  const std::string_view text = fuzz::take_line(input);
  const std::string_view zone = fuzz::take_line(input);
  std::int64_t ms = 0;
  std::from_chars(input.data(), input.data() + input.size(), ms);
  const auto expression = CronExpression::parse(text);
  const auto clock = CronClock::create(text, zone);
  require(expression.ok() || !clock.ok(), "a clock needs an expression");
  require(!expression.ok() || clock.ok() == is_timezone(zone), "a clock needs a time zone");
  if (!expression.ok()) {
    require(expression.error().code() == ErrorCode::invalid_argument, "no expression is refused");
    return;
  }
  check_calendar(expression.value(), text, ms < 0 || ms > kYear9000Ms ? 0 : ms);
  if (clock.ok()) {
    check_clock(clock.value(), TimeMs{ms});
  }
}

}  // namespace

HOLDFAST_FUZZ_TARGET(cron, check)

}  // namespace holdfast::fuzz::cron_fuzz
