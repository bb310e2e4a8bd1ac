#include "runs/language/data/cron_expression.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/quote.h"
#include "base/text.h"
#include "holdfast/assert.h"
#include "runs/language/data/calendar.h"

namespace holdfast {

namespace {

constexpr int kHorizonYears = 8;  // the longest distance between leap days, around 1900, 2100, 2200
constexpr int kSunday = 7;        // as the end of a range; elsewhere it is 0

constexpr std::array<std::string_view, 12> kMonthNames{"jan", "feb", "mar", "apr", "may", "jun",
                                                       "jul", "aug", "sep", "oct", "nov", "dec"};
constexpr std::array<std::string_view, 7> kWeekdayNames{"sun", "mon", "tue", "wed",
                                                        "thu", "fri", "sat"};

struct FieldRule {
  std::string_view name;
  int low;
  int high;
  std::span<const std::string_view> names;  // of low, low + 1, ...
};
constexpr std::array<FieldRule, 5> kFields{{{"minute", 0, 59, {}},
                                            {"hour", 0, 23, {}},
                                            {"day of month", 1, 31, {}},
                                            {"month", 1, 12, kMonthNames},
                                            {"day of week", 0, kSunday, kWeekdayNames}}};

constexpr std::array<std::pair<std::string_view, std::string_view>, 7> kNicknames{
    {{"@hourly", "0 * * * *"},
     {"@daily", "0 0 * * *"},
     {"@midnight", "0 0 * * *"},
     {"@weekly", "0 0 * * 0"},
     {"@monthly", "0 0 1 * *"},
     {"@yearly", "0 0 1 1 *"},
     {"@annually", "0 0 1 1 *"}}};

struct Field {
  std::uint64_t values = 0;  // one bit each
  bool open = false;
};

std::vector<std::string_view> split(std::string_view text, std::string_view separators) {
  std::vector<std::string_view> parts;
  std::size_t begin = 0;
  for (std::size_t end = 0; end != std::string_view::npos; begin = end + 1) {
    end = text.find_first_of(separators, begin);
    parts.push_back(text.substr(begin, end - begin));
  }
  return parts;
}

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return out;
}

Error wrong(const FieldRule& rule, std::string_view item, std::string_view what) {
  return Error{ErrorCode::invalid_argument, fmt::format("{}: {} {}", rule.name, quote(item), what)}
      .with("field", rule.name);
}

// Decimal digits; a leading zero is how times of day are written.
std::optional<int> small_number(std::string_view text) {
  const bool padded = text.size() == 2 && text.front() == '0';
  const auto value = parse_decimal(padded ? text.substr(1) : text);
  constexpr std::uint64_t kMax = 1000;
  return value.has_value() && *value <= kMax ? std::optional(static_cast<int>(*value))
                                             : std::nullopt;
}

Result<int> parse_value(const FieldRule& rule, std::string_view item, std::string_view text) {
  const auto* const name = std::find(rule.names.begin(), rule.names.end(), lower(text)).base();
  if (const auto index = name - rule.names.data(); index < std::ssize(rule.names)) {
    return rule.low + static_cast<int>(index);
  }
  const auto number = small_number(text);
  if (!number.has_value() || *number < rule.low || *number > rule.high) {
    return wrong(rule, item,
                 fmt::format("must be {} to {}{}", rule.low, rule.high,
                             rule.names.empty() ? "" : ", or a three-letter name"));
  }
  return *number;
}

// One of *, */n, a, a-b, a-b/n.
Result<Field> parse_item(const FieldRule& rule, std::string_view item) {
  const std::size_t slash = item.find('/');
  const std::string_view range = item.substr(0, slash);
  const std::size_t dash = range.find('-');
  Field field;
  int first = rule.low;
  int last = rule.high;
  if (range == "*") {
    field.open = true;
    last = rule.high == kSunday ? kSunday - 1
                                : rule.high;  // otherwise Sunday would be a step of its own
  } else {
    HOLDFAST_TRY(first, parse_value(rule, item, range.substr(0, dash)));
    last = first;
  }
  if (dash != std::string_view::npos) {
    HOLDFAST_TRY(last, parse_value(rule, item, range.substr(dash + 1)));
    last = rule.high == kSunday && last == 0 && first > 0 ? kSunday : last;
    if (first > last) {
      return wrong(rule, item, "is a range that ends before it begins");
    }
  }
  int step = 1;
  if (slash != std::string_view::npos) {
    const auto number = small_number(item.substr(slash + 1));
    const int most = rule.high - rule.low + 1;
    if (!field.open && dash == std::string_view::npos) {
      return wrong(rule, item, "has a step without a range; write */n or a-b/n");
    }
    if (!number.has_value() || *number < 1 || *number > most) {
      return wrong(rule, item, fmt::format("must have a step of 1 to {}", most));
    }
    step = *number;
  }
  for (int value = first; value <= last; value += step) {
    const bool sunday = rule.high == kSunday && value == kSunday;
    field.values |= std::uint64_t{1} << static_cast<unsigned>(sunday ? 0 : value);
  }
  return field;
}

Result<Field> parse_field(const FieldRule& rule, std::string_view text) {
  Field field;
  for (const std::string_view item : split(text, ",")) {
    HOLDFAST_TRY(const Field part, parse_item(rule, item));
    field.values |= part.values;
    field.open = field.open || part.open;
  }
  return field;
}

template <std::size_t N>
std::optional<int> first_from(const std::bitset<N>& bits, int from) {
  for (auto i = static_cast<std::size_t>(from); i < N; ++i) {
    if (bits[i]) {
      return static_cast<int>(i);
    }
  }
  return std::nullopt;
}

template <std::size_t N>
std::optional<int> last_until(const std::bitset<N>& bits, int until) {
  for (int i = until; i >= 0; --i) {
    if (bits[static_cast<std::size_t>(i)]) {
      return i;
    }
  }
  return std::nullopt;
}

bool is_minute(const CivilMinute& at) {
  constexpr int kMaxYear = 1'000'000;
  return at.year >= -kMaxYear && at.year <= kMaxYear && at.month >= 1 && at.month <= 12 &&
         at.day >= 1 && at.day <= days_in_month(at.year, at.month) && at.hour >= 0 &&
         at.hour <= 23 && at.minute >= 0 && at.minute <= 59;
}

CivilMinute years_from(CivilMinute at, int years) {
  at.year += years;
  return at;
}

}  // namespace

Result<CronExpression> CronExpression::parse(std::string_view text) {
  const auto* const nickname = std::find_if(kNicknames.begin(), kNicknames.end(),
                                            [&](const auto& known) { return known.first == text; });
  std::vector<std::string_view> texts =
      split(nickname != kNicknames.end() ? nickname->second : text, " \t");
  std::erase_if(texts, [](std::string_view part) { return part.empty(); });
  if (texts.size() != kFields.size()) {
    return Error{ErrorCode::invalid_argument,
                 fmt::format("a cron expression has five fields (minute, hour, day of month, "
                             "month, day of week), not {}",
                             texts.size())};
  }
  std::array<Field, kFields.size()> fields;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    HOLDFAST_TRY(fields[i], parse_field(kFields[i], texts[i]));
  }
  CronExpression expression;
  expression.minutes_ = fields[0].values;
  expression.hours_ = fields[1].values;
  expression.days_ = fields[2].values;
  expression.months_ = fields[3].values;
  expression.weekdays_ = fields[4].values;
  expression.every_hour_ = fields[1].open;
  expression.any_day_ = fields[2].open;
  expression.any_weekday_ = fields[4].open;
  if (!expression.ever_matches()) {
    return wrong(kFields[2], texts[2],
                 fmt::format("is not a day of month {}, so it would never run", quote(texts[3])));
  }
  return expression;
}

bool CronExpression::ever_matches() const {
  if (!any_day_ && !any_weekday_) {
    return true;  // the day of week alone is enough, and every month has all of them
  }
  // Each day of a month falls on each day of the week in some year, the leap day too.
  constexpr int kLeapYear = 2000;
  for (int month = 1; month <= 12; ++month) {
    const auto day = first_from(days_, 1);
    if (months_[static_cast<std::size_t>(month)] && day.has_value() &&
        *day <= days_in_month(kLeapYear, month)) {
      return true;
    }
  }
  return false;
}

bool CronExpression::needs_both_days() const {
  constexpr std::size_t kDaysOfMonth = 31;
  return (any_day_ || any_weekday_) && days_.count() < kDaysOfMonth && !weekdays_.all();
}

bool CronExpression::matches_day(int year, int month, int day) const {
  if (!months_[static_cast<std::size_t>(month)]) {
    return false;
  }
  const bool fits_day = days_[static_cast<std::size_t>(day)];
  const bool fits_weekday = weekdays_[static_cast<std::size_t>(weekday_of(year, month, day))];
  return !any_day_ && !any_weekday_ ? fits_day || fits_weekday : fits_day && fits_weekday;
}

bool CronExpression::matches(const CivilMinute& minute) const {
  return is_minute(minute) && minutes_[static_cast<std::size_t>(minute.minute)] &&
         hours_[static_cast<std::size_t>(minute.hour)] &&
         matches_day(minute.year, minute.month, minute.day);
}

std::optional<CivilMinute> CronExpression::next(const CivilMinute& minute) const {
  HOLDFAST_ASSERT(is_minute(minute));
  CivilMinute at = minute;
  if (matches_day(at.year, at.month, at.day)) {
    const auto rest_of_hour = hours_[static_cast<std::size_t>(at.hour)]
                                  ? first_from(minutes_, at.minute + 1)
                                  : std::nullopt;
    const auto hour = rest_of_hour.has_value() ? at.hour : first_from(hours_, at.hour + 1);
    if (hour.has_value()) {
      at.hour = *hour;
      at.minute = rest_of_hour.has_value() ? *rest_of_hour : *first_from(minutes_, 0);
      return at;
    }
  }
  const CivilMinute limit = years_from(minute, kHorizonYears);
  at.hour = *first_from(hours_, 0);
  at.minute = *first_from(minutes_, 0);
  for (++at.day; at <= limit;) {
    if (!months_[static_cast<std::size_t>(at.month)] || at.day > days_in_month(at.year, at.month)) {
      at.year += at.month == 12 ? 1 : 0;
      at.month = at.month == 12 ? 1 : at.month + 1;
      at.day = 1;
    } else if (matches_day(at.year, at.month, at.day)) {
      return at;
    } else {
      ++at.day;
    }
  }
  return std::nullopt;
}

std::optional<CivilMinute> CronExpression::previous(const CivilMinute& minute) const {
  HOLDFAST_ASSERT(is_minute(minute));
  CivilMinute at = minute;
  if (matches_day(at.year, at.month, at.day)) {
    const auto start_of_hour = hours_[static_cast<std::size_t>(at.hour)]
                                   ? last_until(minutes_, at.minute - 1)
                                   : std::nullopt;
    const auto hour = start_of_hour.has_value() ? at.hour : last_until(hours_, at.hour - 1);
    if (hour.has_value()) {
      at.hour = *hour;
      at.minute = start_of_hour.has_value() ? *start_of_hour : *last_until(minutes_, 59);
      return at;
    }
  }
  const CivilMinute limit = years_from(minute, -kHorizonYears);
  at.hour = *last_until(hours_, 23);
  at.minute = *last_until(minutes_, 59);
  for (--at.day; at >= limit;) {
    if (!months_[static_cast<std::size_t>(at.month)] || at.day < 1) {
      at.year -= at.month == 1 ? 1 : 0;
      at.month = at.month == 1 ? 12 : at.month - 1;
      at.day = days_in_month(at.year, at.month);
    } else if (matches_day(at.year, at.month, at.day)) {
      return at;
    } else {
      --at.day;
    }
  }
  return std::nullopt;
}

}  // namespace holdfast
